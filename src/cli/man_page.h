/* man_page.h - manual pages in roff, generated from the table of commands (`muster help man
 * [COMMAND]`). */
#ifndef MUSTER_CLI_MAN_PAGE_H
#define MUSTER_CLI_MAN_PAGE_H

#include "cli/command.h"

/* For one command; NULL: for the program. */
void man_page_write(const struct command *c, struct buf *out);

#endif
