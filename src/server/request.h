/*
 * request.h - one request inside the server: what a front hands over, what the core works out, and
 * the one answer it gets.
 */
#ifndef MUSTER_SERVER_REQUEST_H
#define MUSTER_SERVER_REQUEST_H

#include "api/kind.h"
#include "base/blob.h"
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

struct warning {
    struct warning *next;
    const char *text;
};

struct server_reply {
    int code;
    const char *content_type;
    struct blob *body; /* the front takes its own reference; may be NULL */
    const struct warning *warnings;
    int retry_after_s; /* 0: not said */
};

/* Called once, with the request's answer; the request is the front's again, and gone. */
struct server_front {
    void (*reply)(struct server_request *r, const struct server_reply *reply);
    void (*stream)(struct server_request *r, const char *content_type, struct stream *stream);
    /* NULL where there is no connection that could become another: */
    void (*upgrade)(struct server_request *r, const struct httpd_header *headers, size_t count,
                    httpd_upgrade_fn *fn, void *arg);
    /* All values of a header, with ", " between them; "" without any, NULL when too long. Only
     * before the answer, from within server_handle. */
    const char *(*header)(struct server_request *r, const char *name);
};

struct param {
    struct param *next;
    const char *name, *value;
};

/* What the path says. */
struct route {
    const struct kind *kind;
    const char *ns;          /* "" for cluster kinds and for all namespaces */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* "" without one */
};

struct server_request {
    /* from the front; it owns the strings and the arena until it was answered */
    const struct server_front *front;
    const char *method, *path, *query; /* path and query still escaped */
    const char *accept, *content_type; /* NULL when not given */
    const char *body;
    size_t body_len;
    bool too_large; /* the body was not kept */
    bool bare;      /* answers leave out metadata.managedFields */
    struct arena *arena;
    uint64_t login;              /* the session of a browser it is of; 0: none */
    const struct caller *caller; /* (caller.h); a request without one is refused */

    /* from the core */
    struct server *server;
    struct route route;
    struct param *params;
    struct format_choice media; /* what the client accepts */
    bool media_chosen;
    struct warning *warnings, *last_warning;
    unsigned warning_count;
};

/* The whole core: answers r, now or later. */
void server_handle(struct server *s, struct server_request *r);

/* A verb answers the request, now or later, and returns 0; or returns negative with err set, and
 * has not answered. */
typedef int verb_fn(struct server_request *r, struct err *err);

/* --- query ----------------------------------------------------------------------------- */

int query_parse(struct server_request *r, struct err *err) must_check;
const char *query_get(const struct server_request *r, const char *name); /* NULL when absent */
bool query_is_true(const struct server_request *r, const char *name); /* "true", "1", "" present */
/* Whole number >= 0 of a parameter, otherwise when it is absent; anything else is an error. */
int query_int(const struct server_request *r, const char *name, int64_t otherwise, int64_t *ret,
              struct err *err) must_check;
/* Refuses an option of a request (of a CreateOptions, a ListOptions, ...), with a cause of this
 * type. */
int option_invalid(const struct server_request *r, const char *type, const char *option,
                   const char *problem, struct err *err);
/* dryRun=All, here or in the options of a deletion; other values are refused. */
int query_dry_run(const struct server_request *r, bool *ret, struct err *err) must_check;

/* --- answers --------------------------------------------------------------------------- */

/* 406 where nothing the client accepts is spoken. Without it an answer is in JSON, or what else of
 * it is accepted. */
int request_choose_media(struct server_request *r, enum media_purpose purpose,
                         struct err *err) must_check;
/* The bytes are JSON. */
void reply_blob(struct server_request *r, int code, struct blob *body);
/* In the client's encoding; of an object its metadata only, when that was asked for. */
void reply_json(struct server_request *r, int code, const struct json *body);
/* Whether that is something else than the object's JSON. */
bool reply_is_converted(struct server_request *r);
struct json *partial_of(struct arena *a, const struct json *object);
/* Takes what is in body. */
void reply_buf(struct server_request *r, int code, const char *content_type, struct buf *body);
void reply_err(struct server_request *r, const struct err *err);
/* Of a node: one that is away is not back in a second, and the caller should learn of it. */
void reply_node_err(struct server_request *r, const struct err *err);
void reply_stream(struct server_request *r, const char *content_type, struct stream *stream);
void request_warn(void *request, const char *text); /* a warning_fn */
/* Status of a success that has no object to show: a deletion, a binding. */
struct json *success_status(const struct server_request *r, const char *uid);
int out_of_memory(struct err *err); /* 503 */
/* 404 `pods "x" not found` */
int not_found(struct err *err, const struct kind *k, const char *name);
/* "pods", "pytorchtrainingjobs.batch.tensorstack.dev": how messages name a resource */
const char *resource_name(struct arena *a, const struct kind *k);

#endif
