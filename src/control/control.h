/*
 * control.h - the controllers of one process, over one transport: jobs, scheduler, garbage
 * collector. Clients of the API like any other; they share the cache of pods and nothing else.
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
    CONTROL_NODES = 1u << 3, /* besides, where nobody else notices lost nodes: see nodes.h */
    CONTROL_BATCH = 1u << 4, /* with the jobs, Kubernetes' own, where it is not there to run them */
};

struct control_options {
    struct transport *transport;
    struct clock *clock;
    unsigned parts;          /* of enum control_part */
    bool overcommit;         /* see core/ledger.h */
    bool shared_network;     /* see core/job.h */
    bool apps_unseen;        /* likewise */
    const char *lease_ns;    /* likewise; outlives the controllers */
    bool beside_default;     /* see core/ledger.h */
    struct idle_times idle;  /* likewise */
    struct webhook *webhook; /* with CONTROL_JOBS; NULL: Notifications are nobody's business */
};

struct control;

/* Starts at once and goes on by itself, also while the API cannot be reached. */
struct control *control_new(const struct control_options *options, struct err *err) must_check;
/* What cannot be read, and so keeps a part from its work: one sentence; NULL: nothing. */
const char *control_trouble(const struct control *c);
void control_free(struct control *c); /* before the transport; not from inside one of its calls */

#endif
