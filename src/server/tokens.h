/*
 * tokens.h - service account tokens: signed texts naming the account, optionally a pod, and an
 * expiry time. They are not stored: one is valid as long as its signature, time, account and pod
 * are.
 */
#ifndef MUSTER_SERVER_TOKENS_H
#define MUSTER_SERVER_TOKENS_H

#include "server/caller.h"
#include "server/internal.h"

/* Tokens are signed with a key derived from secret; those of another secret are invalid here. */
void tokens_set_secret(struct server *s, const char *secret);
/* The account, in the arena. NULL: not one of ours, expired, for another audience, or its account
 * or pod is gone. */
const struct caller *token_caller(struct server *s, struct arena *a, const char *token) must_check;
/* The same for reviewing a token presented to someone else, including the owner's: it must be for
 * one of these audiences, or without any for this API. *ret_for is those it is for. */
const struct caller *token_caller_for(struct server *s, struct arena *a, const char *token,
                                      const struct json *audiences,
                                      const struct json **ret_for) must_check;
/* The contents of a valid token without the signature, safe to store. */
const char *token_name(struct arena *a, const char *token) must_check;
/* The caller of such contents, like token_caller. */
const struct caller *token_caller_named(struct server *s, struct arena *a,
                                        const char *name) must_check;
/* Whether an account that presented its token earlier would still be accepted with it. */
bool token_is_still_good(struct server *s, struct arena *a, const struct caller *account);

/* A signature of text with the server's key, in characters allowed in a cookie. NULL when out of
 * memory. */
const char *token_sign(struct server *s, struct arena *a, const char *text) must_check;

/* A digest of a text that requires the server's key; different for each purpose. */
bool token_digest(struct server *s, const char *purpose, const char *text, size_t len,
                  unsigned char out[SHA256_BYTES]) must_check;

#endif
