/*
 * sessions.h - who is signed in at a console that is a process of its own: a random name, which the
 * browser has as a cookie, and here in memory the token it stands for. Nothing of it is written
 * anywhere; with the process all are signed out.
 */
#ifndef MUSTER_CONSOLE_SESSIONS_H
#define MUSTER_CONSOLE_SESSIONS_H

#include "port/clock.h"

#define SESSIONS_LIMIT 256u /* then the one that ends first makes room */
#define SESSION_MS ((int64_t)12 * 3600 * 1000)
#define SESSION_CODE_MS ((int64_t)10 * 60 * 1000)
#define SESSION_CODES 8u
#define SESSION_NAME_SIZE 40

struct session_entry {
    char name[SESSION_NAME_SIZE];
    int64_t until_ms;
    char *token, *user;
};

struct session_code {
    char code[SESSION_NAME_SIZE];
    int64_t until_ms;
    char *token; /* what it signs in with */
};

struct sessions {
    struct clock *clock;
    struct session_entry entries[SESSIONS_LIMIT];
    struct session_code codes[SESSION_CODES];
};

void sessions_init(struct sessions *s, struct clock *clock);
void sessions_release(struct sessions *s);

/* NULL when out of memory. What it answers stays until the next call but session_find. */
const struct session_entry *session_begin(struct sessions *s, const char *token, const char *user);
const struct session_entry *session_find(const struct sessions *s, const char *name);
void session_end(struct sessions *s, const char *name);

/* A code that is good once, for a token; false when out of memory. */
bool session_code_make(struct sessions *s, const char *token, char out[SESSION_NAME_SIZE]);
/* The token, the caller's to free; NULL when the code is not known or too old. */
char *session_code_take(struct sessions *s, const char *code) must_check;

#endif
