/* tame.h - makes untrusted text safe for a terminal: shown, never executed. Pure. */
#ifndef MUSTER_CLI_TAME_H
#define MUSTER_CLI_TAME_H

#include "base/buf.h"

/* Newlines, tabs and colours (CSI ... m) stay. Other control characters are shown as ^[ and so on,
 * C1 controls and invalid UTF-8 as U+FFFD. */
void tame_text(struct buf *out, const char *text, size_t len);
/* The same for a line without its newline; of parts overwritten with carriage returns, as in
 * progress bars, only the last is kept. Colours end with the line. */
void tame_line(struct buf *out, const char *line, size_t len);
/* In place: every control character becomes a blank. */
void tame_blank(char *text);

#endif
