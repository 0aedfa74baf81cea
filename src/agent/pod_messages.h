/*
 * pod_messages.h - a file for each container in which its program says why it ended
 * (terminationMessagePath). The runtime reads it at the end (runtime/end_message.h).
 */
#ifndef MUSTER_AGENT_POD_MESSAGES_H
#define MUSTER_AGENT_POD_MESSAGES_H

#include "base/arena.h"
#include "port/runtime.h"

#define MESSAGE_DEFAULT_PATH "/dev/termination-log"
#define MESSAGE_VARIABLE "MUSTER_TERMINATION_LOG"

/* Makes the files in folder, the pod's own, and what leads to them: a mount where can_mount, and a
 * variable with the path at which the program finds it. */
int pod_messages_prepare(struct arena *a, const char *folder, bool can_mount,
                         struct pod_start *start, struct err *err) must_check;

#endif
