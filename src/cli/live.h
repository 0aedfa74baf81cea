/*
 * live.h - redraws when jobs change, after a time, or at a key, until Ctrl-C. Changes come in
 * bursts: there is a pause between two drawings, except after a key.
 */
#ifndef MUSTER_CLI_LIVE_H
#define MUSTER_CLI_LIVE_H

#include "cli/session.h"

struct live;

/* Characters are their own codes. */
enum live_key {
    LIVE_KEY_ESCAPE = 27,
    LIVE_KEY_UP = 256,
    LIVE_KEY_DOWN,
    LIVE_KEY_LEFT,
    LIVE_KEY_RIGHT,
    LIVE_KEY_PAGE_UP,
    LIVE_KEY_PAGE_DOWN,
};

struct live_options {
    struct session *session;
    const char *ns, *labels; /* of the watched jobs; ns NULL: all */
    int64_t every_ms;        /* also redrawn after this time; 0: only on changes */
    /* The session's answers live until it returns. */
    int (*draw)(void *arg, struct live *live, struct err *err);
    void (*key)(void *arg, struct live *live, int key); /* NULL: keys are not read */
    void *arg;
};

/* 0 at its end: a signal, or live_quit. */
int live_run(const struct live_options *options, struct err *err) must_check;
void live_quit(struct live *l);

#endif
