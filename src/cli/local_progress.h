/*
 * local_progress.h - joins a machine's agent, which knows what pods are here, to what writes how
 * far jobs are (console/progress.h). In the process that runs the agent, whichever that is.
 */
#ifndef MUSTER_CLI_LOCAL_PROGRESS_H
#define MUSTER_CLI_LOCAL_PROGRESS_H

#include "agent/agent.h"
#include "console/progress.h"

/* To be freed (progress_free) before the agent and own_folder. NULL: out of memory. */
struct progress *local_progress_new(struct loop *l, struct transport *t, struct agent *agent,
                                    const char *own_folder) must_check;

#endif
