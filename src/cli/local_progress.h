/*
 * local_progress.h - connects a machine's agent, which knows the local pods, to the code that
 * writes jobs' progress (console/progress.h). Used in any process that runs the agent.
 */
#ifndef MUSTER_CLI_LOCAL_PROGRESS_H
#define MUSTER_CLI_LOCAL_PROGRESS_H

#include "agent/agent.h"
#include "console/progress.h"

/* Free it (progress_free) before the agent and own_folder. NULL: out of memory. */
struct progress *local_progress_new(struct loop *l, struct transport *t, struct agent *agent,
                                    const char *own_folder) must_check;

#endif
