/*
 * caller.h - who makes a request. Every request has one; a request that has none, or one of unknown
 * kind, is refused wherever it came from.
 */
#ifndef MUSTER_SERVER_CALLER_H
#define MUSTER_SERVER_CALLER_H

#include "base/json.h"

enum caller_kind {
    CALLER_UNKNOWN,      /* nobody said: refused */
    CALLER_ANONYMOUS,    /* showed nothing: only what is open to everybody */
    CALLER_OWNER,        /* whose data folder this is: may do everything */
    CALLER_COMPONENT,    /* a part of the daemon, in its own process: may do everything */
    CALLER_ACCOUNT,      /* a service account, by its token (tokens.h) */
    CALLER_IMPERSONATED, /* a user another caller acts as (impersonate.h) */
};

struct caller {
    enum caller_kind kind;
    const char *user, *uid;
    const char *const *groups; /* ends with NULL */
    const char *ns, *name;     /* of a service account; "" for others */
    const char *pod, *pod_uid; /* CALLER_ACCOUNT: the pod its token is bound to; "" for none */
    int64_t until_ms;          /* CALLER_ACCOUNT: its token's end */
    const struct json *extra;  /* {"key": ["value", ...]}, or NULL */
};

extern const struct caller caller_anonymous, caller_owner, caller_component;

bool caller_is_known(const struct caller *who); /* NULL is not */
bool caller_has_group(const struct caller *who, const char *group);
/* Nothing is looked up for these: the owner, the daemon's parts, and the group system:masters. */
bool caller_may_everything(const struct caller *who);

/* Whose part he takes of what has a ceiling (base/share.h): "" for the owner's. */
const char *caller_share(const struct caller *who);

/* A service account's groups, NULL when out of memory. */
const char *const *caller_account_groups(struct arena *a, const char *ns) must_check;
/* Sets ns and name of one whose user is "system:serviceaccount:NS:NAME", of others to "". */
void caller_split_account(struct arena *a, struct caller *who);
/* NULL when out of memory. */
const struct caller *caller_clone(struct arena *a, const struct caller *who) must_check;

#endif
