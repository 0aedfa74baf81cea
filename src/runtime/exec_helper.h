/*
 * exec_helper.h - the process between the daemon and a command it runs in a pod (exec.h): joins the
 * pod's namespaces, starts the command, reports how it ended. It has one thread, so that it may
 * join a user namespace, and it outlives the daemon just long enough to end the command.
 */
#ifndef MUSTER_RUNTIME_EXEC_HELPER_H
#define MUSTER_RUNTIME_EXEC_HELPER_H

#include <sys/types.h>

#include "base/base.h"

#define EXEC_HELPER_COMMAND "exec-in-pod" /* internal */

/* Its descriptors besides 0, 1 and 2, which are the command's. */
enum exec_helper_fd {
    EXEC_HELPER_PLAN = 3, /* a file with the plan as JSON */
    EXEC_HELPER_CONTROL,  /* sends one struct exec_report; when the other end closes: stop */
    EXEC_HELPER_PROGRAM,  /* pidfd of the container's program */
    EXEC_HELPER_LOG,      /* for its errors: the daemon's stderr */
    EXEC_HELPER_FDS
};

#define EXEC_MESSAGE_SIZE 1024

struct exec_report {
    int exit_code;
    char message[EXEC_MESSAGE_SIZE];
};

int exec_helper_main(void);

#endif
