/*
 * request.h - one request inside the server: the front's input, what the core derives from it, and
 * its one answer.
 */
#ifndef MUSTER_SERVER_REQUEST_H
#define MUSTER_SERVER_REQUEST_H

#include "api/kind.h"
#include "base/blob.h"
#include "loop/random.h"
#include "net/httpd.h"
#include "port/stream.h"
#include "server/media.h"
#include "store/store.h"

#define JSON_TYPE "application/json"
#define MANAGER_LENGTH_LIMIT 128u
#define WARNINGS_LIMIT 32 /* per answer */

struct server;
struct server_request;
struct caller;
struct webhook_calls;
struct request_metrics;

struct warning {
    struct warning *next;
    const char *text;
};

struct server_reply {
    int code;
    const char *content_type;
    struct blob *body; /* the front takes its own reference; may be NULL */
    const struct warning *warnings;
    int retry_after_s; /* 0: not set */
};

/* Called once, with the request's answer; the request then belongs to the front again, which frees
 * it. */
struct server_front {
    void (*reply)(struct server_request *r, const struct server_reply *reply);
    void (*stream)(struct server_request *r, const char *content_type, struct stream *stream);
    /* NULL if the connection cannot be upgraded: */
    void (*upgrade)(struct server_request *r, const struct httpd_header *headers, size_t count,
                    httpd_upgrade_fn *fn, void *arg);
    /* All values of a header, joined by ", "; "" without any, NULL when too long. Only before the
     * answer, within server_handle. */
    const char *(*header)(struct server_request *r, const char *name);
    /* Calls fn if the client disconnects before the answer, which is still owed; fn NULL: no more.
     * NULL if clients cannot; first within server_handle. */
    void (*on_gone)(struct server_request *r, void (*fn)(void *arg), void *arg);
};

struct param {
    struct param *next;
    const char *name, *value;
};

/* The parsed path. */
struct route {
    const struct kind *kind;
    const char *ns;          /* "" for cluster kinds and for all namespaces */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* or "" */
};

struct server_request {
    /* From the front, which owns the strings and the arena until the answer: */
    const struct server_front *front;
    const char *method, *path, *query; /* path and query still escaped */
    const char *accept, *content_type; /* NULL when not given */
    const char *agent;                 /* the client's program; NULL when not given */
    const char *body;
    size_t body_len;
    bool too_large; /* the body was dropped */
    bool bare;      /* answers leave out metadata.managedFields */
    struct arena *arena;
    uint64_t login;              /* the browser session it belongs to; 0: none */
    const struct caller *caller; /* (caller.h); required */

    /* From the core, for the request: */
    struct server *server;
    struct webhook_calls *asked;     /* webhook_call.c */
    struct arena_mark begin;         /* of what is made anew in each run */
    int64_t begun_ms;                /* request_now_ms */
    struct request_metrics *metrics; /* request_metrics.h, until the answer */
    double begun_s;
    char uid[RANDOM_UID_SIZE];       /* of a new object, and */
    char suffix[RANDOM_SUFFIX_SIZE]; /* of its name; "": not chosen yet */

    /* For this run: */
    struct route route;
    struct param *params;
    struct format_choice media; /* what the client accepts */
    bool media_chosen;
    struct warning *warnings, *last_warning;
    unsigned warning_count;
};

/* The whole core: answers r, now or later. Called again when the webhooks that were asked have
 * answered: nothing has been written before, and everything that a webhook sees of a request must
 * be the same in each run. */
void server_handle(struct server *s, struct server_request *r);
/* When the request arrived. */
int64_t request_now_ms(struct server_request *r);

/* A verb answers the request, now or later, and returns 0; or returns a negative errno with err
 * set, without answering. */
typedef int verb_fn(struct server_request *r, struct err *err);

/* --- query ----------------------------------------------------------------------------- */

int query_parse(struct server_request *r, struct err *err) must_check;
const char *query_get(const struct server_request *r, const char *name); /* NULL when absent */
bool query_is_true(const struct server_request *r, const char *name); /* "true", "1", "" present */
/* A parameter that is an integer >= 0, `otherwise` when absent; anything else is an error. */
int query_int(const struct server_request *r, const char *name, int64_t otherwise, int64_t *ret,
              struct err *err) must_check;
/* Refuses an option of a request (of CreateOptions, ListOptions, ...), with a cause of this
 * type. */
int option_invalid(const struct server_request *r, const char *type, const char *option,
                   const char *problem, struct err *err);
/* dryRun=All in the query or the deletion options; other values are refused. */
int query_dry_run(const struct server_request *r, bool *ret, struct err *err) must_check;

/* --- answers --------------------------------------------------------------------------- */

/* 406 when no accepted type is supported. Without this call an answer is JSON, or another accepted
 * type. */
int request_choose_media(struct server_request *r, enum media_purpose purpose,
                         struct err *err) must_check;
/* The bytes are JSON. */
void reply_blob(struct server_request *r, int code, struct blob *body);
/* In the client's encoding; for an object only its metadata, if requested. */
void reply_json(struct server_request *r, int code, const struct json *body);
/* Whether that differs from the object's JSON. */
bool reply_is_converted(struct server_request *r);
struct json *partial_of(struct arena *a, const struct json *object);
/* Takes the contents of body. */
void reply_buf(struct server_request *r, int code, const char *content_type, struct buf *body);
void reply_err(struct server_request *r, const struct err *err);
/* From a node: an unreachable one will not be back in a second, so no Retry-After. */
void reply_node_err(struct server_request *r, const struct err *err);
void reply_stream(struct server_request *r, const char *content_type, struct stream *stream);
void request_warn(void *request, const char *text); /* a warning_fn */
/* The Status of a success without an object: a deletion, a binding. */
struct json *success_status(const struct server_request *r, const char *uid);
int out_of_memory(struct err *err); /* 503 */
/* 404 `pods "x" not found` */
int not_found(struct err *err, const struct kind *k, const char *name);
/* How messages name a resource: "pods", "pytorchtrainingjobs.batch.tensorstack.dev" */
const char *resource_name(struct arena *a, const struct kind *k);

#endif
