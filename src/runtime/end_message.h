/*
 * end_message.h - a program's own message about its end: the file it was given for that, or the end
 * of its log if its manifest says so.
 */
#ifndef MUSTER_RUNTIME_END_MESSAGE_H
#define MUSTER_RUNTIME_END_MESSAGE_H

#include "base/arena.h"
#include "port/runtime.h"
#include "runtime/cri.h"

/* The kubelet's limits. */
#define END_MESSAGE_BYTES 4096u
#define END_MESSAGE_LOG_BYTES 2048u
#define END_MESSAGE_LOG_LINES 80u

/* Before each start: removes an earlier run's message. */
void end_message_clear(const struct container_start *c);
/* NULL when there is none. Valid UTF-8. */
const char *end_message_read(const struct container_start *c, struct arena *a);
/* The last lines of the newest log file; NULL when there are none. */
const char *end_message_from_log(int dir_fd, const struct container_start *c, uint32_t run,
                                 const struct cri_state *log, struct arena *a);

#endif
