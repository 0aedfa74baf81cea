/*
 * sessions.h - who is signed in with a browser. A session is a random key that the page keeps and
 * shows with every request; no browser sends it by itself. Here is its hash and what it stands for:
 * who reads this memory, or the file, has no key. A session ends at sign-out, when it was not used
 * for a day, and after its lifetime.
 */
#ifndef MUSTER_NET_SESSIONS_H
#define MUSTER_NET_SESSIONS_H

#include "base/sha256.h"
#include "port/clock.h"

#define SESSIONS_LIMIT 256u          /* what one account has of them: base/share.h */
#define SESSION_USER_UNKNOWN "token" /* owner unknown: each token counts as another user */
#define SESSIONS_FULL                                                                              \
    "too many are signed in: sign out somewhere, or wait until a session has not been used for a " \
    "day"
#define SESSION_IDLE_MS ((int64_t)24 * 3600 * 1000)
#define SESSION_CODE_MS ((int64_t)10 * 60 * 1000)
#define SESSION_CODES 256u
#define SESSION_CODE_SIZE 40
#define SESSION_KEY_PREFIX "muster-session-" /* then 32 random bytes in hexadecimal */
#define SESSION_KEY_SIZE (sizeof(SESSION_KEY_PREFIX) + 64)

struct session_entry {
    uint64_t id; /* made of the hash; 0: free */
    unsigned char hash[SHA256_BYTES];
    int64_t began_ms, used_ms, saved_ms; /* saved_ms: used_ms as the file has it */
    /* What it stands for: a token, or what else its owner knows the user by, which is what the file
     * keeps; "" for the owner, who needs none. */
    char *token, *user;
};

struct session_code {
    char code[SESSION_CODE_SIZE];
    int64_t until_ms;
    char *token; /* what it signs in with */
};

struct sessions_options {
    struct clock *clock;
    int64_t lifetime_ms;
    const char *path; /* a file that keeps them for the next process; NULL: none does */
    /* What the session has open must end; it is gone already. */
    void (*ended)(void *arg, uint64_t id);
    void *arg;
};

struct sessions {
    struct sessions_options how;
    char *path;
    struct session_entry entries[SESSIONS_LIMIT];
    struct session_code codes[SESSION_CODES];
    struct clock_timer *timer; /* for the one that ends next */
};

/* Reads the file where there is one; what it cannot read of it has ended. -ENOMEM. */
int sessions_init(struct sessions *s, const struct sessions_options *options) must_check;
/* Without notification; the file stays. */
void sessions_release(struct sessions *s);

/* Who has as many as one may have loses the one he did not use for longest. -EBUSY: all are taken;
 * -ENOMEM. */
int session_begin(struct sessions *s, const char *token, const char *user,
                  char ret_key[SESSION_KEY_SIZE]) must_check;
/* Whether it looks like one, and not like a token. */
bool session_is_key(const char *text);
/* NULL: unknown or expired. Otherwise marks it as used. */
const struct session_entry *session_find(struct sessions *s, const char *key);
const struct session_entry *session_find_id(struct sessions *s, uint64_t id);
void session_end(struct sessions *s, uint64_t id);

/* A code that is good once, for a token. -EBUSY: so many are good still; -ENOMEM. */
int session_code_make(struct sessions *s, const char *token,
                      char out[SESSION_CODE_SIZE]) must_check;
/* The token, the caller's to free; NULL when the code is not known or too old. */
char *session_code_take(struct sessions *s, const char *code) must_check;

#endif
