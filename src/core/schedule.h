/*
 * schedule.h - which waiting groups start now, and why the others wait. Pure: a ledger and the
 * time in, a plan out.
 *
 * Order: queues by priority, then by dominant share (the largest part of its quota a queue holds,
 * smallest first; for the first of a queue less what went past it); in a queue groups by priority,
 * then by age. A group starts whole. One that does
 * not fit claims the room it waits for; those behind it may use what it does not claim, or what
 * they surely give back in time. One that could never start blocks nobody. A group of a higher
 * queue takes the room of groups of lower queues that may be preempted.
 *
 * The ledger must show every step of earlier plans: the code that carries them out looks again
 * only when its caches have caught up.
 */
#ifndef MUSTER_CORE_SCHEDULE_H
#define MUSTER_CORE_SCHEDULE_H

#include "core/ledger.h"
#include "core/plan.h"

/* How the sentence of a group begins that could not run even if all were free. */
#define NEVER_FITS "can never fit"

/* Reason, event and condition of a group that exceeded its queue's maxDuration. */
#define MAX_DURATION_EXCEEDED "MaxDurationExceeded"

void schedule(struct ledger *l, int64_t now_ms, struct plan *plan);

/* One word for a reason, as statuses have it: "QuotaExceeded". */
const char *wait_reason_name(enum wait_reason reason);

#define PLACES_TOLD 20 /* status.place is exact up to here, and one more for all further behind */

#endif
