/*
 * talk.h - what a command says to the person: on stderr, in one style, with colour only where it
 * helps.
 *
 *   error: what is wrong
 *   hint: what to do about it
 *
 * Data goes to stdout and does not pass through here.
 */
#ifndef MUSTER_CLI_TALK_H
#define MUSTER_CLI_TALK_H

#include "base/err.h"

enum talk_color { TALK_COLOR_AUTO, TALK_COLOR_ALWAYS, TALK_COLOR_NEVER };

struct talk {
    bool color_out, color_err; /* stdout and stderr, decided separately */
    unsigned columns;          /* of stdout's terminal; 0: not a terminal, do not cut */
};

/* By --color, then NO_COLOR, CLICOLOR_FORCE, TERM=dumb, then whether the stream is a terminal. */
void talk_init(struct talk *t, enum talk_color mode);

void talk_error(const struct talk *t, const struct err *e);
void talk_errorf(const struct talk *t, const char *fmt, ...) printf_like(2, 3);
void talk_hint(const struct talk *t, const char *fmt, ...) printf_like(2, 3);
void talk_warn(const struct talk *t, const char *fmt, ...) printf_like(2, 3);
void talk_note(const struct talk *t, const char *fmt, ...) printf_like(2, 3);

/* A line of a file, with a caret under column (1-based; 0: none) for width columns. */
void talk_source(const struct talk *t, unsigned line, const char *text, size_t len, unsigned column,
                 unsigned width);

/* The colour of the n-th replica, and back; "" without colours. */
const char *talk_replica_color(const struct talk *t, size_t n);
const char *talk_plain(const struct talk *t);

#endif
