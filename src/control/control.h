/*
 * control.h - the controllers of one process, over one transport: jobs, scheduler, garbage
 * collector. They are ordinary clients of the API and share only the cache of pods.
 */
#ifndef MUSTER_CONTROL_CONTROL_H
#define MUSTER_CONTROL_CONTROL_H

#include "base/err.h"
#include "core/job.h"
#include "port/clock.h"
#include "port/transport.h"
#include "port/webhook.h"

enum control_part {
    CONTROL_JOBS = 1u << 0,
    CONTROL_SCHEDULER = 1u << 1,
    CONTROL_GC = 1u << 2,
    CONTROL_ALL = CONTROL_JOBS | CONTROL_SCHEDULER | CONTROL_GC,
    CONTROL_NODES = 1u << 3, /* in addition, where nothing else notices lost nodes: see nodes.h */
    CONTROL_BATCH = 1u << 4, /* with jobs: Kubernetes' own Jobs, where Kubernetes is not there to
                              * run them */
};

struct control_options {
    struct transport *transport;
    struct clock *clock;
    unsigned parts;          /* of enum control_part */
    bool overcommit;         /* see core/ledger.h */
    bool shared_network;     /* see core/job.h */
    bool apps_unseen;        /* see core/job.h */
    const char *lease_ns;    /* see core/job.h; must outlive the controllers */
    bool beside_default;     /* see core/ledger.h */
    struct idle_times idle;  /* see core/job.h */
    struct webhook *webhook; /* with CONTROL_JOBS; NULL: Notifications are ignored */
};

struct control;

/* Starts at once and keeps going, even while the API is unreachable. */
struct control *control_new(const struct control_options *options, struct err *err) must_check;
/* What cannot be read and so blocks a part: one sentence, or NULL. */
const char *control_trouble(const struct control *c);
void control_free(struct control *c); /* before the transport; not from inside one of its
                                       * callbacks */

#endif
