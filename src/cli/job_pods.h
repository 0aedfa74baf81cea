/* job_pods.h - the pods of a job in the order people expect, those it only remembers included. */
#ifndef MUSTER_CLI_JOB_PODS_H
#define MUSTER_CLI_JOB_PODS_H

#include "cli/session.h"

struct job_pod {
    unsigned long type, index; /* place of its type in the job, and its number */
    const struct json *pod;
};

struct job_pods {
    struct job_pod *list;
    size_t len;
};

/* Of a pod that is gone there is what it takes to ask for its log, which outlives it. In the
 * session's arena. */
int job_pods_find(struct session *s, const struct json *job, struct job_pods *ret,
                  struct err *err) must_check;
bool job_pod_is_gone(const struct json *pod);

#endif
