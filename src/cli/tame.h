/*
 * tame.h - other people's text, made fit for a terminal: it is shown and never carried out. Pure.
 */
#ifndef MUSTER_CLI_TAME_H
#define MUSTER_CLI_TAME_H

#include "base/buf.h"

/* Newlines, tabs and colours (CSI ... m) stay. Other control characters are shown as ^[ and the
 * like, C1 controls and what is not UTF-8 as U+FFFD. */
void tame_text(struct buf *out, const char *text, size_t len);
/* The same of a line without its newline; of what it writes over with carriage returns, as progress
 * bars do, only the last is left. Its colours end with it. */
void tame_line(struct buf *out, const char *line, size_t len);
/* In place: every control character becomes blanks. */
void tame_blank(char *text);

#endif
