/* process.h - pods as processes of this machine: one supervisor per pod (supervisor.h), each in its
 * own folder (podfolder.h). */
#ifndef MUSTER_RUNTIME_PROCESS_H
#define MUSTER_RUNTIME_PROCESS_H

#include "loop/loop.h"
#include "port/runtime.h"

/* Log kept per run of a container; four times that for a job's removed pods, thirty-two times for
 * all removed pods. */
#define PROCESS_LOG_BYTES (INT64_C(256) << 20)
#define PROCESS_LOG_LEAST_BYTES (INT64_C(16) << 20)
#define PROCESS_LOG_MOST_BYTES (INT64_C(1) << 40)

struct process_options {
    struct loop *loop;
    const char *pod_root;      /* one folder per pod, named by its UID; created if missing */
    const char *log_root;      /* logs of removed pods: <log_root>/<namespace>/<name>/<uid>/ */
    const char *program;       /* run as `program supervise <folder>` */
    const char *small_program; /* a smaller build of it, tried first; may be NULL */
    int64_t log_bytes;         /* at least PROCESS_LOG_LEAST_BYTES; 0: PROCESS_LOG_BYTES */
};

/* Pods in pod_root are found when they are asked for. */
int process_runtime_new(const struct process_options *options, struct runtime **ret,
                        struct err *err) must_check;

#endif
