/*
 * schedule.h - which waiting groups start now, and why the others wait. Pure: a ledger and the time
 * in, a plan out.
 *
 * Order: queues by priority, then by dominant share (the largest fraction of its quota a queue
 * holds, smallest first; for a queue's first group less what overtook it); within a queue groups by
 * priority, then by age. A group starts whole. One that does not fit claims the room it waits for;
 * those behind it may use what it does not claim, or what they are certain to give back in time. A
 * group that could never start blocks no other. A group of a higher queue takes the room of groups
 * in lower queues that may be preempted.
 *
 * The ledger must contain every step of earlier plans: the next decision is made only when the
 * caches have caught up.
 */
#ifndef MUSTER_CORE_SCHEDULE_H
#define MUSTER_CORE_SCHEDULE_H

#include "core/ledger.h"
#include "core/plan.h"

/* Start of the message of a group that could not run even on an empty cluster. */
#define NEVER_FITS "can never fit"

/* Reason, event and condition of a group that exceeded its queue's maxDuration. */
#define MAX_DURATION_EXCEEDED "MaxDurationExceeded"

void schedule(struct ledger *l, int64_t now_ms, struct plan *plan);

/* The one-word reason in statuses: "QuotaExceeded". */
const char *wait_reason_name(enum wait_reason reason);

#define PLACES_TOLD 20 /* status.place is exact up to here, and one more for all further behind */

#endif
