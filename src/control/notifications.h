/*
 * notifications.h - delivers Notifications when jobs reach a phase (core/notify.h): over HTTP, one
 * event of a Notification at a time, in order, at least once.
 */
#ifndef MUSTER_CONTROL_NOTIFICATIONS_H
#define MUSTER_CONTROL_NOTIFICATIONS_H

#include "control/jobs.h"
#include "port/webhook.h"

struct notifications;

struct notifications_options {
    struct transport *transport;
    struct clock *clock;
    struct trouble *trouble;
    struct webhook *webhook;
    struct jobs *const *jobs; /* set later, once they exist */
};

struct notifications *notifications_new(const struct notifications_options *options) must_check;
void notifications_free(struct notifications *n); /* before the jobs and the webhook */
/* A job was added or changed; old NULL: added. */
void notifications_on_job(struct notifications *n, const struct kind *k, const struct json *job,
                          const struct json *old);

#endif
