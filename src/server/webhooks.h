/*
 * webhooks.h - admission webhooks: programs that are asked, over HTTPS, before an object is
 * written. They may refuse the write (validating) or change the object (mutating).
 *
 * Verbs are synchronous, and a webhook answers later. So the first time a verb gets to a webhook
 * it only asks, and returns; when the answer is there, server_handle runs the request again from
 * the beginning and finds it. Nothing has been written before that point. Answers are kept by the
 * bytes of the question: what changed in between is asked about again.
 */
#ifndef MUSTER_SERVER_WEBHOOKS_H
#define MUSTER_SERVER_WEBHOOKS_H

#include "base/sha256.h"
#include "loop/random.h"
#include "net/http_client.h"
#include "server/admission.h"

/* --- configurations (webhook_sets.c) --------------------------------------------------- */

struct hook_set;

struct hook {
    struct hook_set *set;
    const struct json *config; /* of the configuration's list of webhooks */
    const char *name;
    struct http_client *client; /* created for the first call */
};

/* One configuration as it was at a revision. */
struct hook_set {
    struct hook_set *next; /* by name */
    unsigned refs;
    struct arena arena;
    const char *name;
    int64_t revision;
    size_t count;
    struct hook *hooks;
};

enum hook_type { HOOK_MUTATING, HOOK_VALIDATING, HOOK_TYPES };

/* What the server keeps about webhooks. */
struct webhooks {
    struct hook_set *sets[HOOK_TYPES];
    struct store_watch *watches[HOOK_TYPES];
    bool known[HOOK_TYPES]; /* sets are current */
    struct webhook_calls *asking;
    size_t question_bytes; /* of all calls under way */
};

/* The current ones; NULL in *ret: none. Valid until the next turn of the loop. */
int hook_sets_get(struct server *s, enum hook_type type, struct hook_set **ret,
                  struct err *err) must_check;
struct hook_set *hook_set_ref(struct hook_set *set);
void hook_set_unref(struct hook_set *set);
void hook_sets_free(struct webhooks *w);

/* --- calls (webhook_call.c) ------------------------------------------------------------ */

/* One question and its answer. */
struct webhook_call {
    struct webhook_call *prev, *next;
    struct webhook_calls *of;
    struct hook *hook; /* holds its set until the call is over */
    unsigned char hash[SHA256_BYTES];
    char uid[RANDOM_UID_SIZE];
    bool over;
    char *error;    /* NULL: there is an answer */
    char *question; /* until it is sent */
    size_t question_len;
    struct buf answer;
    struct http_exchange *exchange;
    struct pod_dial *dial;
    struct clock_timer *timer;
};

/* Asks unless it has been asked before. question: the members of the AdmissionReview's request
 * after uid, and its end. 0: *ret is over. -EINPROGRESS: it will be; without an error. */
int webhook_ask(struct server_request *r, struct hook *hook, const char *question, size_t len,
                const struct webhook_call **ret, struct err *err) must_check;
bool webhook_calls_wait(const struct webhook_calls *calls); /* NULL does not */
void webhook_calls_free(struct webhook_calls *calls);       /* NULL-safe; ends them */

/* --- answers (webhook_answer.c) --------------------------------------------------------- */

struct webhook_answer {
    bool allowed;
    const struct json *patch;    /* operations (api/patch.h), or NULL */
    const struct json *warnings; /* or NULL */
    const struct json *status;   /* of a refusal, or NULL */
};

/* In the arena. Negative: it does not answer the question with this uid; err says why. */
int webhook_answer_read(struct arena *a, const char *text, size_t len, const char *uid,
                        struct webhook_answer *ret, struct err *err) must_check;
/* The refusal as an error. Returns it as a negative errno. */
int webhook_answer_refuse(const struct webhook_answer *answer, const char *hook, struct err *err);

/* --- writes (webhooks.c; see also internal.h) -------------------------------------------- */

int webhooks_validate(struct admission *a) must_check;

#endif
