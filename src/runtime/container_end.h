/* container_end.h - how a container's program ended, in words, as far as is known. */
#ifndef MUSTER_RUNTIME_CONTAINER_END_H
#define MUSTER_RUNTIME_CONTAINER_END_H

#include "runtime/group.h"

struct container_end {
    /* Input: */
    const struct container_start *start;
    const struct group_slot *slot; /* ended */
    const struct group_log *log;   /* complete */
    int dir_fd;
    /* Output, with the message in the arena: */
    int exit_code, signal;
    const char *reason, *message;
};

void container_end_explain(struct container_end *e, struct arena *a);

#endif
