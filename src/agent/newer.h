/* newer.h - pods that run here and are unknown to the API because its database is older than they
 * are: restored from a backup, or without its last writes. They go on, and new pods wait for
 * them. */
#ifndef MUSTER_AGENT_NEWER_H
#define MUSTER_AGENT_NEWER_H

#include "base/arena.h"
#include "port/runtime.h"

/* Whether a running pod that the API does not know is one, now or at an earlier start: the
 * database's newest write was this revision when the pod was already running. */
bool newer_check(const char *pod_root, const struct pod_run *run, int64_t revision);
/* The API knows it after all. */
void newer_forget(const char *pod_root, const char *uid);
/* What it is and how to end it. */
const char *newer_text(struct arena *a, const char *pod_root, const char *uid);

#endif
