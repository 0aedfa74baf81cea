/*
 * sessions.h - browser sign-ins. A session is a random key that the page stores and sends with
 * every request; browsers never send it on their own. Only its hash is kept here with what it
 * stands for, so that neither this memory nor the file reveals a key. A session ends at sign-out,
 * after a day without use, and at the end of its lifetime.
 */
#ifndef MUSTER_NET_SESSIONS_H
#define MUSTER_NET_SESSIONS_H

#include "base/sha256.h"
#include "port/clock.h"

#define SESSIONS_LIMIT 256u          /* share of one account: base/share.h */
#define SESSION_USER_UNKNOWN "token" /* owner unknown: each token counts as a separate user */
#define SESSIONS_FULL                                                                              \
    "too many users are signed in: sign out somewhere, or wait until a session has been unused "   \
    "for a day"
#define SESSION_IDLE_MS ((int64_t)24 * 3600 * 1000)
#define SESSION_CODE_MS ((int64_t)10 * 60 * 1000)
#define SESSION_CODES 256u
#define SESSION_CODE_SIZE 40
#define SESSION_KEY_PREFIX "muster-session-" /* followed by 32 random bytes in hexadecimal */
#define SESSION_KEY_SIZE (sizeof(SESSION_KEY_PREFIX) + 64)

struct session_entry {
    uint64_t id; /* derived from the hash; 0: free */
    unsigned char hash[SHA256_BYTES];
    int64_t began_ms, used_ms, saved_ms; /* saved_ms: used_ms in the file */
    /* What it stands for: a token, or another identity known to the caller, which is what the file
     * stores; "" for the owner, who needs none. */
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
    const char *path; /* file that keeps them across restarts, or NULL */
    /* Whatever the session has open must end; it is already removed. */
    void (*ended)(void *arg, uint64_t id);
    void *arg;
};

struct sessions {
    struct sessions_options how;
    char *path;
    struct session_entry entries[SESSIONS_LIMIT];
    struct session_code codes[SESSION_CODES];
    struct clock_timer *timer; /* for the session that ends next */
};

/* Reads the file if there is one; unreadable sessions count as ended. -ENOMEM. */
int sessions_init(struct sessions *s, const struct sessions_options *options) must_check;
/* Without callbacks; the file stays. */
void sessions_release(struct sessions *s);

/* A user at the limit loses the session unused for longest. -EBUSY: all are taken; -ENOMEM. */
int session_begin(struct sessions *s, const char *token, const char *user,
                  char ret_key[SESSION_KEY_SIZE]) must_check;
/* Whether it looks like a key rather than a token. */
bool session_is_key(const char *text);
/* NULL: unknown or expired. Otherwise marks it as used. */
const struct session_entry *session_find(struct sessions *s, const char *key);
const struct session_entry *session_find_id(struct sessions *s, uint64_t id);
void session_end(struct sessions *s, uint64_t id);

/* A one-time code for a token. -EBUSY: too many are outstanding; -ENOMEM. */
int session_code_make(struct sessions *s, const char *token,
                      char out[SESSION_CODE_SIZE]) must_check;
/* The token, to be freed by the caller; NULL when the code is unknown or expired. */
char *session_code_take(struct sessions *s, const char *code) must_check;

#endif
