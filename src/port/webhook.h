/*
 * webhook.h - posting a small body to a user's address: net/webhook.h, or a test's own. The address
 * is untrusted, so the implementation decides which destinations are allowed, and returns nothing
 * of the answer but its code.
 */
#ifndef MUSTER_PORT_WEBHOOK_H
#define MUSTER_PORT_WEBHOOK_H

#include "base/base.h"

struct webhook;
struct webhook_post;

struct webhook_request {
    const char *url, *id; /* id: the event's, so that the receiver can recognize a repeat */
    const char *body;     /* JSON */
    size_t body_len;
};

struct webhook_result {
    int code;        /* HTTP status; 0: no answer */
    const char *why; /* why there was no answer; does not reveal the address */
    bool for_good;   /* permanent: retrying would not help, as the address is not allowed */
};

/* Called once, never from inside post. */
typedef void webhook_fn(void *arg, const struct webhook_result *result);

struct webhook_ops {
    /* NULL when out of memory, or when webhooks are impossible here, which is logged. */
    struct webhook_post *(*post)(struct webhook *w, const struct webhook_request *request,
                                 webhook_fn *fn, void *arg);
    void (*cancel)(struct webhook_post *p); /* only before it has ended */
};

struct webhook {
    const struct webhook_ops *ops;
};

#endif
