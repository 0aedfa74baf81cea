/* job_status.h - a job's status: phase, conditions, tasks, explanation, events. Pure. */
#ifndef MUSTER_CORE_JOB_STATUS_H
#define MUSTER_CORE_JOB_STATUS_H

#include "core/job_view.h"

/* After job_view_settle(): the phase by counts and decisions. */
enum job_phase job_phase_now(const struct job_view *v);

/* Once the phase is known: why_reason and why_message (job_why.c). */
void job_explain(struct job_view *v);
/* The message of the job's end, by v->culprit (job_why.c). */
const char *job_ending_text(const struct job_view *v, enum job_ending ending);
bool job_said_refused(const struct job_view *v);       /* according to its status */
const char *job_ending_reason(enum job_ending ending); /* DeadlineExceeded ... */
/* Which replicas failed and how; only when some did (job_why.c). */
const char *job_failure_text(const struct job_view *v);
/* status.failure: the same, machine-readable. NULL unless a replica's failure is explained. */
struct json *job_failure_data(const struct job_view *v);
/* The group that preempted it, or "". */
const char *job_preempted_text(const struct job_view *v);

/* Sets status.conditions, starting from the existing ones (job_conditions.c). */
void job_conditions_set(const struct job_view *v, struct json *status);

/* status.tensorboard of a job that has one (job_tensorboard.c). */
void job_tensorboard_status(const struct job_view *v, struct json *status);

/* The job's new status; equal to the old one when nothing changed. */
struct json *job_status_new(const struct job_view *v);
/* The job with that status, ready to be written. */
struct json *job_with_status(const struct job_view *v, struct json *status);

/* Events for the differences between old and new status (job_events.c). */
void job_events_plan(const struct job_view *v, struct plan *plan);

#endif
