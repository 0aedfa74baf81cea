/* job_pods.h - a job's pods in natural order, including those only in its status. */
#ifndef MUSTER_CLI_JOB_PODS_H
#define MUSTER_CLI_JOB_PODS_H

#include "cli/session.h"

struct job_pod {
    unsigned long type, index; /* index of its type in the job, and its number */
    const struct json *pod;
};

struct job_pods {
    struct job_pod *list;
    size_t len;
};

/* A deleted pod has enough to request its log, which outlives it. In the session's arena. */
int job_pods_find(struct session *s, const struct json *job, struct job_pods *ret,
                  struct err *err) must_check;
/* The pods of the last deleted job of that name whose logs are kept; none: len stays 0. */
void job_pods_find_deleted(struct session *s, const char *name, struct job_pods *ret);
/* As a table; width as for columns_write. */
void job_pods_write(struct arena *a, const struct job_pods *pods, size_t width, struct buf *out);
/* Why a pod waits, failed or was restarted, in the arena; "" if unknown. */
const char *job_pod_why(struct arena *a, const struct json *pod);
bool job_pod_is_gone(const struct json *pod);

#endif
