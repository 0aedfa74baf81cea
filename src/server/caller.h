/*
 * caller.h - the identity behind a request. Every request has one; a request without, or with an
 * unknown kind, is refused wherever it came from.
 */
#ifndef MUSTER_SERVER_CALLER_H
#define MUSTER_SERVER_CALLER_H

#include "base/json.h"

enum caller_kind {
    CALLER_UNKNOWN,      /* unset: refused */
    CALLER_ANONYMOUS,    /* no credentials: only public paths */
    CALLER_OWNER,        /* owns the data folder: may do anything */
    CALLER_COMPONENT,    /* part of the daemon, in its own process: may do anything */
    CALLER_ACCOUNT,      /* a service account, by its token (tokens.h) */
    CALLER_CERTIFICATE,  /* a user, by a certificate that an authority for clients signed */
    CALLER_IMPERSONATED, /* a user that another caller impersonates (impersonate.h) */
};

struct caller {
    enum caller_kind kind;
    const char *user, *uid;
    const char *const *groups; /* NULL-terminated */
    const char *ns, *name;     /* of a service account; "" for others */
    const char *pod, *pod_uid; /* CALLER_ACCOUNT: the pod its token is bound to, or "" */
    int64_t until_ms;          /* CALLER_ACCOUNT: when its token expires */
    const struct json *extra;  /* {"key": ["value", ...]}, or NULL */
};

extern const struct caller caller_anonymous, caller_owner, caller_component;

bool caller_is_known(const struct caller *who); /* NULL is not */
bool caller_has_group(const struct caller *who, const char *group);
/* Exempt from authorization: the owner, the daemon's parts, and the group system:masters. */
bool caller_may_everything(const struct caller *who);

/* The account for shares of limited resources (base/share.h): "" for the owner. */
const char *caller_share(const struct caller *who);

/* A service account's groups, NULL when out of memory. */
const char *const *caller_account_groups(struct arena *a, const char *ns) must_check;
/* Sets ns and name if user is "system:serviceaccount:NS:NAME", otherwise to "". */
void caller_split_account(struct arena *a, struct caller *who);
/* A user by his certificate, of these organisations. NULL when out of memory. */
const struct caller *caller_of_certificate(struct arena *a, const char *user,
                                           const char *const *groups) must_check;
/* NULL when out of memory. */
const struct caller *caller_clone(struct arena *a, const struct caller *who) must_check;

#endif
