/*
 * notify.h - what a Notification asks to be told, in which order, and what is remembered of it.
 * Pure.
 *
 * An event is a job that reached a phase. It has an id, made of the job's UID, the phase and the
 * time, so that it is the same event however often it is found. Events that are wanted are
 * written into status.pending before anything is sent, and go from there to status.recent in one
 * write when they were accepted or given up: a crash in between repeats a delivery, with its id,
 * and loses none. What is still there after a crash before the first write is found again among the
 * jobs: those that reached their phase after status.since and are neither pending nor recent.
 */
#ifndef MUSTER_CORE_NOTIFY_H
#define MUSTER_CORE_NOTIFY_H

#include "api/kind.h"
#include "api/notification.h"

#define NOTIFY_GIVE_UP_MS (60 * 60 * 1000LL)
#define NOTIFY_FIRST_PAUSE_MS 5000
#define NOTIFY_LONGEST_PAUSE_MS (10 * 60 * 1000LL)

/* What happened when the first of pending was sent. */
struct notify_outcome {
    const char *id; /* NULL: nothing was */
    int code;       /* HTTP; 0: no answer, error says why */
    const char *error;
    bool for_good; /* no answer, and trying again would not help */
};

/* The event of the phase that job has now; NULL: the Notification does not ask for it, or had it.
 * seen: its coming was seen, so whatever clocks say it is new. */
struct json *notify_event(struct arena *a, const struct json *notification, const struct kind *k,
                          const struct json *job, bool seen);
/* The status that follows from what was found and what became of the last attempt; NULL: the same
 * as before. */
struct json *notify_status(struct arena *a, const struct json *notification,
                           const struct json *const *events, size_t len,
                           const struct notify_outcome *outcome, int64_t now_ms);
/* The event to be sent next; NULL: none. ret_at_ms: when, 0 for at once. */
const struct json *notify_next(const struct json *notification, int64_t *ret_at_ms);
/* What is posted, as JSON. */
struct json *notify_body(struct arena *a, const struct json *notification,
                         const struct json *event);

#endif
