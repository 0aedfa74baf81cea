/* process.h - pods as processes of this machine: a supervisor per pod (supervisor.h) in a folder of
 * its own (podfolder.h). */
#ifndef MUSTER_RUNTIME_PROCESS_H
#define MUSTER_RUNTIME_PROCESS_H

#include "loop/loop.h"
#include "port/runtime.h"

struct process_options {
    struct loop *loop;
    const char *pod_root; /* one folder per pod, named by its UID; made if missing */
    const char *log_root; /* logs of removed pods: <log_root>/<namespace>/<name>/<uid>/ */
    const char *program;  /* what is run as `program supervise <folder>` */
};

/* Re-attaches to what is in pod_root. */
int process_runtime_new(const struct process_options *options, struct runtime **ret,
                        struct err *err) must_check;

#endif
