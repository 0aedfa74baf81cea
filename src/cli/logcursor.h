/*
 * logcursor.h - a log read over several connections, with each line exactly once. Lines come with
 * their time stamps; after a break the log is requested again from the last stamp seen, and
 * repeated lines are skipped. Pure.
 */
#ifndef MUSTER_CLI_LOGCURSOR_H
#define MUSTER_CLI_LOGCURSOR_H

#include "base/buf.h"
#include "base/timefmt.h"

#define LOG_LINE_LIMIT_BYTES (64u * 1024u * 1024u)

/* line is without its newline; stamp is NUL-terminated. */
typedef void logcursor_fn(void *arg, const char *stamp, const char *line, size_t len);

struct logcursor {
    struct buf partial;         /* an incomplete line */
    char stamp[TIME_TEXT_SIZE]; /* of the last line passed on; "" before the first */
    uint64_t at_stamp;          /* lines passed on with exactly this stamp */
    uint64_t skip;              /* of them, still to be skipped on this connection */
    bool resumed;               /* this connection may repeat lines up to stamp */
};

void logcursor_init(struct logcursor *c);
void logcursor_release(struct logcursor *c);
/* A new connection starts; an incomplete line is dropped, as it comes again. */
void logcursor_reopen(struct logcursor *c);
void logcursor_feed(struct logcursor *c, const char *data, size_t len, logcursor_fn *fn, void *arg);
/* The log is complete: a last line without newline is passed on too. */
void logcursor_finish(struct logcursor *c, logcursor_fn *fn, void *arg);

#endif
