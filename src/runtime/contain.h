/*
 * contain.h - what a container of root's daemon does not see of the machine, or only to read: the
 * daemon's own folder, wherever it is mounted; the kernel's settings; devices other than those
 * every container has and accelerators. As container runtimes do it. For a process in a mount
 * namespace of its own.
 */
#ifndef MUSTER_RUNTIME_CONTAIN_H
#define MUSTER_RUNTIME_CONTAIN_H

#include "base/err.h"

/* Puts an empty folder over it, at every place where it can be seen. Answers the descriptor of the
 * one at its own path, in which mount points may be made. */
int contain_hide(const char *folder, struct err *err) must_check;
/* /proc and /sys; no mount's device files open but those of a /dev of its own, whose descriptor is
 * the answer: to be made read-only when all mount points in it are made, or new devices could be.
 */
int contain_kernel(struct err *err) must_check;
/* Everything but /dev and /proc becomes read-only. */
int contain_read_only(struct err *err) must_check;

#endif
