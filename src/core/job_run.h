/* job_run.h - the parts of a look at a job, in their order. See job_run.c. Pure. */
#ifndef MUSTER_CORE_JOB_RUN_H
#define MUSTER_CORE_JOB_RUN_H

#include "core/job_view.h"

/* Ended, restarted, paused? (job_judge.c) */
void job_judge(struct job_view *v, struct plan *plan);
/* Whether this look makes pods, which is only done behind a status write. (job_act.c) */
bool job_makes_pods(const struct job_view *v);
/* Lets evicted pods go whose ends the status has counted. (job_act.c) */
void job_release(const struct job_view *v, struct plan *plan);
/* Makes and deletes what a job that goes on needs. (job_act.c) */
void job_act(const struct job_view *v, struct plan *plan);
/* Clean-up, ports, names and the job itself after its end. (job_end.c) */
void job_wind_up(const struct job_view *v, struct plan *plan);
/* The job's PodGroup (job_group.c): whether it has one, made before its pods, kept up to date, and
 * gone at the end. */
bool job_is_grouped(const struct job_view *v);
void job_group_make(const struct job_view *v, struct plan *plan);
void job_group_keep(const struct job_view *v, struct plan *plan);
void job_group_end(const struct job_view *v, struct plan *plan);
/* How many pods must run together; an elastic job can do with less than it wants. */
int64_t job_min_member(const struct job_view *v);
/* Makes its TensorBoard, if it is to have one and had none. (job_tensorboard.c) */
void job_tensorboard_plan(const struct job_view *v, struct plan *plan);

/* Times in the status are whole seconds, cut off: giving the rest back keeps us from being early.
 */
static inline int64_t job_seconds_after(int64_t time_ms, int64_t seconds)
{
    return time_ms + 999 + seconds * 1000;
}

#endif
