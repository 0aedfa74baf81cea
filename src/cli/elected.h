/* elected.h - controllers of a process of its own, which work while it holds their lease: of
 * several `muster controller` or `muster scheduler` only one acts. */
#ifndef MUSTER_CLI_ELECTED_H
#define MUSTER_CLI_ELECTED_H

#include "control/control.h"

struct elected;

struct elected *elected_new(const char *lease, const struct control_options *options,
                            struct err *err) must_check;
void elected_free(struct elected *e);

#endif
