/* launch.h - starts one container's program. */
#ifndef MUSTER_RUNTIME_LAUNCH_H
#define MUSTER_RUNTIME_LAUNCH_H

#include <sys/types.h>

#include "port/runtime.h"

struct launch_result {
    pid_t pid;           /* 0 when it could not be started */
    int out[2];          /* read ends of stdout and stderr, non-blocking; -1 when not started */
    int exit_code;       /* as a shell would: 127 not found, 126 not runnable, 128 anything else */
    const char *message; /* why not, in the arena */
};

/* In a session of its own, killed when the caller dies. Returns when the program runs or cannot. */
void launch(const struct container_start *c, struct arena *a, struct launch_result *ret);

/* The same with descriptors 0, 1 and 2 as they are; out[] stays -1. */
enum launch_terminal { LAUNCH_PLAIN, LAUNCH_TERMINAL /* 0 is to be the session's terminal */ };
void launch_attached(const struct container_start *c, enum launch_terminal terminal,
                     struct arena *a, struct launch_result *ret);

#endif
