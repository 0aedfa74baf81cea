/* job_run.h - the parts of a pass over a job, in order. See job_run.c. Pure. */
#ifndef MUSTER_CORE_JOB_RUN_H
#define MUSTER_CORE_JOB_RUN_H

#include "core/job_view.h"

/* Has it ended, does it restart, is it paused? (job_judge.c) */
void job_judge(struct job_view *v, struct plan *plan);
/* Whether this pass creates pods, which requires a status write first. (job_act.c) */
bool job_makes_pods(const struct job_view *v);
/* Releases evicted pods whose ends the status has counted. (job_act.c) */
void job_release(const struct job_view *v, struct plan *plan);
/* Creates and deletes what a running job needs. (job_act.c) */
void job_act(const struct job_view *v, struct plan *plan);
/* Clean-up, ports, names and the job itself after its end. (job_end.c) */
void job_wind_up(const struct job_view *v, struct plan *plan);
/* The job's PodGroup (job_group.c): whether it has one; created before its pods, kept up to date,
 * deleted at the end. */
bool job_is_grouped(const struct job_view *v);
void job_group_make(const struct job_view *v, struct plan *plan);
void job_group_keep(const struct job_view *v, struct plan *plan);
void job_group_end(const struct job_view *v, struct plan *plan);
void job_group_note(const struct job_view *v, struct json *pod_annotations);
/* How many pods must run together; for an elastic job, fewer than it wants. */
int64_t job_min_member(const struct job_view *v);
/* Creates its TensorBoard, if it should have one and never had. (job_tensorboard.c) */
void job_tensorboard_plan(const struct job_view *v, struct plan *plan);

/* Times in the status are truncated to seconds: adding one keeps us from being early. */
static inline int64_t job_seconds_after(int64_t time_ms, int64_t seconds)
{
    return time_ms + 999 + seconds * 1000;
}

#endif
