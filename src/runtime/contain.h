/*
 * contain.h - hides parts of the machine from a container of root's daemon, or makes them
 * read-only, as container runtimes do: the daemon's own folder, wherever it is mounted; kernel
 * settings; devices other than the standard ones and accelerators. For a process in its own mount
 * namespace.
 */
#ifndef MUSTER_RUNTIME_CONTAIN_H
#define MUSTER_RUNTIME_CONTAIN_H

#include "base/err.h"

/* Covers it with an empty folder wherever it is visible. Returns the descriptor of the one at its
 * own path, in which mount points may be created. */
int contain_hide(const char *folder, struct err *err) must_check;
/* gpus: numbers of the devices of GPUs it sees, with commas; NULL: all. */

/* /proc and /sys; disables device files on all mounts except for a private /dev, whose descriptor
 * is returned: make it read-only once all mount points in it exist, or new devices could be
 * created. */
int contain_kernel(const char *gpus, struct err *err) must_check;
/* The private /dev alone. */
int contain_devices(const char *gpus, struct err *err) must_check;
/* Makes everything but /dev and /proc read-only. */
int contain_read_only(struct err *err) must_check;

#endif
