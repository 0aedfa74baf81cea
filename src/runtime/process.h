/* process.h - pods as processes of this machine: a supervisor per pod (supervisor.h) in a folder of
 * its own (podfolder.h). */
#ifndef MUSTER_RUNTIME_PROCESS_H
#define MUSTER_RUNTIME_PROCESS_H

#include "loop/loop.h"
#include "port/runtime.h"

/* What is kept of one run of a container's log; of a job's pods that are gone four times that, of
 * all that are gone thirty-two times. */
#define PROCESS_LOG_BYTES (INT64_C(256) << 20)
#define PROCESS_LOG_LEAST_BYTES (INT64_C(16) << 20)
#define PROCESS_LOG_MOST_BYTES (INT64_C(1) << 40)

struct process_options {
    struct loop *loop;
    const char *pod_root;      /* one folder per pod, named by its UID; made if missing */
    const char *log_root;      /* logs of removed pods: <log_root>/<namespace>/<name>/<uid>/ */
    const char *program;       /* what is run as `program supervise <folder>` */
    const char *small_program; /* the same of fewer pages, tried first; may be NULL */
    int64_t log_bytes;         /* PROCESS_LOG_LEAST_BYTES and more; 0: PROCESS_LOG_BYTES */
};

/* Pods that are in pod_root are found again when they are asked for. */
int process_runtime_new(const struct process_options *options, struct runtime **ret,
                        struct err *err) must_check;

#endif
