/*
 * logreader.h - prints one container's log of one attempt to stdout, line by line. It reconnects by
 * itself, from where it was, until the log is complete.
 */
#ifndef MUSTER_CLI_LOGREADER_H
#define MUSTER_CLI_LOGREADER_H

#include "cli/logcursor.h"
#include "cli/session.h"

struct logreader;

struct logreader_options {
    struct session *session;
    const char *ns, *pod, *uid, *container; /* borrowed */
    const char *prefix;                     /* before each line, including colours; or "" */
    bool follow, timestamps;
    struct line_match *match; /* only lines that match; NULL: all */
    bool raw;                 /* unmodified even on a terminal */
    bool previous;            /* the previous run, or the previous pod of that name */
    bool by_attempt;          /* instead of uid: that attempt of the replica */
    int64_t attempt;
    int64_t tail_lines;            /* -1: all */
    const char *since;             /* only lines from this time on, RFC 3339; NULL: all */
    const struct logreader *after; /* wait until this one is done; or NULL */
    /* Whether the container is known to have ended: only then is the end of a stream the end of the
     * log. */
    bool (*is_over)(void *arg, const struct logreader *r);
    /* The log is complete, or err says why it never will be (ERR_NOT_FOUND: its pod is gone).
     * Called once; must not free the reader. */
    void (*on_done)(void *arg, struct logreader *r, const struct err *err);
    void *arg;
};

struct logreader {
    struct logreader *next; /* for the caller's list */
    struct logreader_options options;
    struct logcursor cursor;
    struct api_stream *stream;
    struct clock_timer *timer;
    struct buf out;
    int64_t delay_ms; /* before the next connection attempt */
    bool tamed, done;
    bool printed; /* anything */
};

/* NULL: out of memory. */
struct logreader *logreader_new(const struct logreader_options *options) must_check;
/* Call it when the one before it is done. */
void logreader_begin(struct logreader *r);
void logreader_free(struct logreader *r);

#endif
