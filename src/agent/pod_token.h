/* pod_token.h - the token with which a pod proves to the API which service account it is. */
#ifndef MUSTER_AGENT_POD_TOKEN_H
#define MUSTER_AGENT_POD_TOKEN_H

#include "agent/agent_internal.h"

/* The account whose token the pod wants, or NULL: it names none and mounts none. */
const char *pod_token_account(const struct json *pod);
/* Whether it names an account: then the token is also where it does not mount it. */
bool pod_token_is_own(const struct json *pod);
/* True when w->token is there, or none is wanted. Otherwise asks for it; then calls one of both
 * later, with err NULL when the token came. */
bool pod_token_have(struct pod_work *w, const struct json *pod,
                    void (*then)(struct pod_work *w, const struct err *err));
void pod_token_drop(struct pod_work *w);
/* Of a pod that runs: has the token in its files renewed when it is due, and looks again then. */
void pod_token_keep(struct pod_work *w, const struct json *pod);
/* When a token that was given just now for so long is to be renewed. By our clock: that of the
 * server, of which its end is told, may be another. */
int64_t pod_token_due_ms(int64_t now_ms, int64_t seconds);

#endif
