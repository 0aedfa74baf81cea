/*
 * status_line.h - a status line at the bottom of the terminal, below what is printed. Absent unless
 * stdout and stderr are a terminal. Global, as there is one terminal.
 */
#ifndef MUSTER_CLI_STATUS_LINE_H
#define MUSTER_CLI_STATUS_LINE_H

#include "cli/talk.h"

bool status_line_possible(const struct talk *t);
/* Shown at once; "" removes it. Cut to the terminal's width. */
void status_line_set(const struct talk *t, const char *text);
/* Call them before and after printing anything else. */
void status_line_hide(void);
void status_line_show(void);

#endif
