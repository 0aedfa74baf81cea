/*
 * tokens.h - service account tokens: signed texts that say which account, and which pod, and until
 * when. Nothing is kept of them: one is good as long as its signature, its time, its account and
 * its pod are.
 */
#ifndef MUSTER_SERVER_TOKENS_H
#define MUSTER_SERVER_TOKENS_H

#include "server/caller.h"
#include "server/internal.h"

/* Tokens are signed with a key made of secret; one of another secret is worth nothing here. */
void tokens_set_secret(struct server *s, const char *secret);
/* The account, in the arena. NULL: not one of ours, too old, issued for another audience,
 * or its account or pod is gone. */
const struct caller *token_caller(struct server *s, struct arena *a, const char *token) must_check;
/* The same for a caller that reviews a token presented to it, the owner's too: it is good when it
 * is for one of these audiences, or without any for this API. *ret_for is those it is for. */
const struct caller *token_caller_for(struct server *s, struct arena *a, const char *token,
                                      const struct json *audiences,
                                      const struct json **ret_for) must_check;
/* Of a good token what it says, without the signature that makes it one: fit to be kept. */
const char *token_name(struct arena *a, const char *token) must_check;
/* Who that was, as token_caller. */
const struct caller *token_caller_named(struct server *s, struct arena *a,
                                        const char *name) must_check;
/* Whether an account that showed its token earlier would be known with it now. */
bool token_is_still_good(struct server *s, struct arena *a, const struct caller *account);

/* A signature of text with the server's key, in letters a cookie may hold. NULL without memory. */
const char *token_sign(struct server *s, struct arena *a, const char *text) must_check;

/* What nobody can know of a text without the server's key; another for each purpose. */
bool token_digest(struct server *s, const char *purpose, const char *text, size_t len,
                  unsigned char out[SHA256_BYTES]) must_check;

#endif
