/*
 * webhook.h - posting a small body to a user's address: net/webhook.h, or a test's own.
 * The address is a stranger's word, so who implements it decides where it may lead, and nothing of
 * the answer comes back but its code.
 */
#ifndef MUSTER_PORT_WEBHOOK_H
#define MUSTER_PORT_WEBHOOK_H

#include "base/base.h"

struct webhook;
struct webhook_post;

struct webhook_request {
    const char *url, *id; /* id: of the event, for the receiver to know it again */
    const char *body;     /* JSON */
    size_t body_len;
};

struct webhook_result {
    int code;        /* HTTP; 0: there was no answer */
    const char *why; /* there was none; says nothing of the address */
    bool for_good;   /* trying again would not help: the address is not allowed */
};

/* Called once, never from inside post. */
typedef void webhook_fn(void *arg, const struct webhook_result *result);

struct webhook_ops {
    /* NULL: out of memory, or it cannot be done at all, for which there is a line in the log. */
    struct webhook_post *(*post)(struct webhook *w, const struct webhook_request *request,
                                 webhook_fn *fn, void *arg);
    void (*cancel)(struct webhook_post *p); /* of one that has not ended */
};

struct webhook {
    const struct webhook_ops *ops;
};

#endif
