/*
 * notify.h - what a Notification sends, in which order, and what is remembered about it. Pure.
 *
 * An event is a job reaching a phase. Its id is made of the job's UID, the phase and the time, so
 * that it is the same however often it is found. Wanted events are written to status.pending before
 * anything is sent, and move to status.recent in one write when they were accepted or given up: a
 * crash in between repeats a delivery, with the same id, and loses none. After a crash before the
 * first write they are found again among the jobs: those that reached their phase after
 * status.since and are neither pending nor recent.
 */
#ifndef MUSTER_CORE_NOTIFY_H
#define MUSTER_CORE_NOTIFY_H

#include "api/kind.h"
#include "api/notification.h"

#define NOTIFY_GIVE_UP_MS (60 * 60 * 1000LL)
#define NOTIFY_FIRST_PAUSE_MS 5000
#define NOTIFY_LONGEST_PAUSE_MS (10 * 60 * 1000LL)

/* The outcome of sending the first of pending. */
struct notify_outcome {
    const char *id; /* NULL: nothing was sent */
    int code;       /* HTTP status; 0: no answer, error says why */
    const char *error;
    bool for_good; /* no answer, and retrying would not help */
};

/* The event for the job's current phase; NULL: not wanted, or already handled. seen: the change was
 * observed, so it is new whatever the clocks say. */
struct json *notify_event(struct arena *a, const struct json *notification, const struct kind *k,
                          const struct json *job, bool seen);
/* The status after new events and the last delivery's outcome; NULL: unchanged. */
struct json *notify_status(struct arena *a, const struct json *notification,
                           const struct json *const *events, size_t len,
                           const struct notify_outcome *outcome, int64_t now_ms);
/* The event to send next, or NULL. ret_at_ms: when, 0 for now. */
const struct json *notify_next(const struct json *notification, int64_t *ret_at_ms);
/* The JSON to post. */
struct json *notify_body(struct arena *a, const struct json *notification,
                         const struct json *event);

#endif
