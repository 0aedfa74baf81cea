/*
 * status_line.h - the last line of a terminal, which stays below what is printed and says how
 * things stand. Nothing where stdout or stderr is not a terminal. There is one terminal, so there
 * is one.
 */
#ifndef MUSTER_CLI_STATUS_LINE_H
#define MUSTER_CLI_STATUS_LINE_H

#include "cli/talk.h"

bool status_line_possible(const struct talk *t);
/* Shown at once; "" takes it away. Cut to the terminal's width. */
void status_line_set(const struct talk *t, const char *text);
/* Before and after anything else is printed. */
void status_line_hide(void);
void status_line_show(void);

#endif
