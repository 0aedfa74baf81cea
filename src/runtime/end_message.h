/*
 * end_message.h - what a program said itself of its end: the file it was given for that, or the end
 * of its log where its manifest asks for it.
 */
#ifndef MUSTER_RUNTIME_END_MESSAGE_H
#define MUSTER_RUNTIME_END_MESSAGE_H

#include "base/arena.h"
#include "port/runtime.h"
#include "runtime/cri.h"

/* As the kubelet has them. */
#define END_MESSAGE_BYTES 4096u
#define END_MESSAGE_LOG_BYTES 2048u
#define END_MESSAGE_LOG_LINES 80u

/* Before each start: what an earlier run left there is not about this one. */
void end_message_clear(const struct container_start *c);
/* NULL when it left nothing. Valid UTF-8. */
const char *end_message_read(const struct container_start *c, struct arena *a);
/* The last lines of the log's newest file; NULL when there are none. */
const char *end_message_from_log(int dir_fd, const struct container_start *c, uint32_t run,
                                 const struct cri_state *log, struct arena *a);

#endif
