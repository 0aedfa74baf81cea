/* pod_token.h - the token that proves a pod's service account to the API. */
#ifndef MUSTER_AGENT_POD_TOKEN_H
#define MUSTER_AGENT_POD_TOKEN_H

#include "agent/agent_internal.h"

/* The account whose token the pod wants, or NULL: it neither names nor mounts one. */
const char *pod_token_account(const struct json *pod);
/* Whether it names an account: then it gets the token even if it does not mount it. */
bool pod_token_is_own(const struct json *pod);
/* True when w->token is available, or none is wanted. Otherwise requests it and later calls one of
 * the functions, with err NULL on success. */
bool pod_token_have(struct pod_work *w, const struct json *pod,
                    void (*then)(struct pod_work *w, const struct err *err));
void pod_token_drop(struct pod_work *w);
/* For a running pod: renews the token in its files when due, and schedules the next renewal. */
void pod_token_keep(struct pod_work *w, const struct json *pod);
/* When to renew a token issued now with this lifetime. By our clock: the server's, in which its
 * expiry is given, may differ. */
int64_t pod_token_due_ms(int64_t now_ms, int64_t seconds);

#endif
