/* jobphase.h - what a job's status means to the person who waits for it. Pure. */
#ifndef MUSTER_CLI_JOBPHASE_H
#define MUSTER_CLI_JOBPHASE_H

#include "base/json.h"

const char *
job_phase(const struct json *job); /* "Pending" when the controller has not spoken yet */
bool job_is_finished(const struct json *job);
bool job_has_succeeded(const struct json *job);
/* One sentence, or "". */
const char *job_why(const struct json *job);
int64_t job_restarts(const struct json *job);
int64_t job_running(const struct json *job);
int64_t job_replicas(const struct json *job);

/* How far it is, in few words ("45%, 3m12s left, loss 0.312"); "" when it does not tell. all: also
 * what the few words leave out. */
#define JOB_PROGRESS_SIZE 160
const char *job_progress(const struct json *job, bool all, char out[JOB_PROGRESS_SIZE]);

/* What was said last, so that only news is said. */
struct jobphase {
    char phase[32];
    char why[1024];
    int64_t running, restarts;
    bool any;
};

/* The next thing to say ("running 4/4"), or NULL when there is nothing new. Ends are not said here:
 * they come when the logs are complete. Text is in the arena. */
const char *jobphase_news(struct jobphase *last, struct arena *a, const struct json *job);

#endif
