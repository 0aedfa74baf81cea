/* launch.h - starts one container's program. */
#ifndef MUSTER_RUNTIME_LAUNCH_H
#define MUSTER_RUNTIME_LAUNCH_H

#include <sys/types.h>

#include "port/runtime.h"

/* Where a start failed; launch_explain has the messages. Plain data, for shared memory and
 * pipes. */
enum launch_stage {
    LAUNCH_STAGE_NONE,
    LAUNCH_STAGE_FORK,
    LAUNCH_STAGE_SETUP,
    LAUNCH_STAGE_CGROUP,
    LAUNCH_STAGE_ROOTFS,
    LAUNCH_STAGE_CWD,
    LAUNCH_STAGE_FIND,
    LAUNCH_STAGE_EXEC
};

/* Small enough for an atomic pipe write. */
struct launch_failure {
    enum launch_stage stage;
    int errnum;
    char text[1024]; /* for stages that have more to say than a number */
};

struct launch_result {
    pid_t pid;           /* of our child; 0 when it could not be started */
    int exit_code;       /* as in a shell: 127 not found, 126 not executable, 128 anything else */
    const char *message; /* why not, in the arena */
};

/* The program's streams. in < 0: it has no input. */
struct launch_pipes {
    int in, out, err;
    bool terminal; /* all three are one terminal, which is to be the session's */
    bool joined;   /* the caller is in the container's view already */
};

struct launch_hooks {
    /* Called first in the forked child; false: it is no longer wanted. */
    bool (*born)(void *arg);
    void *arg;
    struct launch_failure *failure; /* in shared memory: also reported there */
};

/* In its own session and the container's own view (rootfs.h). Returns when the program runs or
 * cannot. */
/* Where a program starts before it becomes its user: one that cannot gain rights enters its folder
 * with its own. */
const char *launch_first_folder(const struct container_start *c);

void launch(const struct container_start *c, const struct launch_pipes *pipes,
            const struct launch_hooks *hooks, struct arena *a, struct launch_result *ret);
/* Exit code and message, in the arena. */
void launch_explain(const struct container_start *c, const struct launch_failure *f,
                    struct arena *a, struct launch_result *ret);

/* With the current descriptors 0, 1 and 2, in the caller's view, killed when the caller dies. */
enum launch_terminal { LAUNCH_PLAIN, LAUNCH_TERMINAL /* 0 is to be the session's terminal */ };
void launch_attached(const struct container_start *c, enum launch_terminal terminal,
                     struct arena *a, struct launch_result *ret);

#endif
