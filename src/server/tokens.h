/*
 * tokens.h - service account tokens: signed texts that say which account, and which pod, and until
 * when. Nothing is kept of them: one is good as long as its signature, its time, its account and
 * its pod are.
 */
#ifndef MUSTER_SERVER_TOKENS_H
#define MUSTER_SERVER_TOKENS_H

#include "server/internal.h"

/* Who asks, when it is not the owner. Everything is in the request's arena. */
struct identity {
    const char *ns, *name, *uid;    /* of the account */
    const char *pod_name, *pod_uid; /* "" when bound to none */
    const char *user;               /* "system:serviceaccount:NS:NAME" */
};

/* NULL when out of memory. */
const struct identity *identity_clone(struct arena *a, const struct identity *who) must_check;

/* Tokens are signed with a key made of secret; one of another secret is worth nothing here. */
void tokens_set_secret(struct server *s, const char *secret);
/* NULL: not one of ours, too old, or its account or pod is gone. */
const struct identity *token_identity(struct server *s, struct arena *a,
                                      const char *token) must_check;

/* A signature of text with the server's key, in letters a cookie may hold. NULL without memory. */
const char *token_sign(struct server *s, struct arena *a, const char *text) must_check;
/* Takes as long for a wrong text as for the right one. */
bool token_same(const char *a, const char *b);

#endif
