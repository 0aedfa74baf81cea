/* job_status.h - what a job says of itself: phase, conditions, tasks, why, events. Pure. */
#ifndef MUSTER_CORE_JOB_STATUS_H
#define MUSTER_CORE_JOB_STATUS_H

#include "core/job_view.h"

/* After job_view_settle(): the phase that follows from the counts and the decisions made. */
enum job_phase job_phase_now(const struct job_view *v);

/* After the phase is known: why_reason and why_message (job_why.c). */
void job_explain(struct job_view *v);
/* The sentence a job ends with, by v->culprit (job_why.c). */
const char *job_ending_text(const struct job_view *v, enum job_ending ending);
bool job_said_refused(const struct job_view *v);       /* by its status */
const char *job_ending_reason(enum job_ending ending); /* DeadlineExceeded ... */
/* Which replicas failed and how; only when some did (job_why.c). */
const char *job_failure_text(const struct job_view *v);
/* status.failure: the same for programs. NULL when what is explained is no failure of a replica. */
struct json *job_failure_data(const struct job_view *v);
/* The group that preempted it; "" for none. */
const char *job_preempted_text(const struct job_view *v);

/* status.conditions of status, out of those it has (job_conditions.c). */
void job_conditions_set(const struct job_view *v, struct json *status);

/* status.tensorboard of a job that has one (job_tensorboard.c). */
void job_tensorboard_status(const struct job_view *v, struct json *status);

/* The job's new status; equal to the old one when there is nothing to say. */
struct json *job_status_new(const struct job_view *v);
/* The object to be written: the job with that status. */
struct json *job_with_status(const struct job_view *v, struct json *status);

/* Events of what changed between the status as it was and as it will be (job_events.c). */
void job_events_plan(const struct job_view *v, struct plan *plan);

#endif
