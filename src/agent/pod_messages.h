/*
 * pod_messages.h - a file per container in which its program writes why it ended
 * (terminationMessagePath). The runtime reads it at the end (runtime/end_message.h).
 */
#ifndef MUSTER_AGENT_POD_MESSAGES_H
#define MUSTER_AGENT_POD_MESSAGES_H

#include "base/arena.h"
#include "port/runtime.h"

#define MESSAGE_DEFAULT_PATH "/dev/termination-log"
#define MESSAGE_VARIABLE "MUSTER_TERMINATION_LOG"

/* Creates the files in folder, the pod's own, and the way to them: a mount where can_mount, and a
 * variable with the path the program sees. */
int pod_messages_prepare(struct arena *a, const char *folder, bool can_mount,
                         struct pod_start *start, struct err *err) must_check;

#endif
