/*
 * leader.h - one of several processes leads: the one that holds a Lease. It renews it every few
 * seconds; when it cannot it stops leading before others may take over. Goes by its own timers, not
 * by the times in the Lease: clocks differ.
 */
#ifndef MUSTER_CONTROL_LEADER_H
#define MUSTER_CONTROL_LEADER_H

#include "port/clock.h"
#include "port/transport.h"

struct leader;

struct leader_options {
    struct transport *transport;
    struct clock *clock;
    const char *ns;                           /* of the Lease; NULL: LEADER_NAMESPACE */
    const char *name;                         /* of the Lease */
    const char *identity;                     /* of this process, among all */
    bool (*is_gone)(const char *identity);    /* surely; its lease need not run out. May be NULL */
    void (*on_change)(void *arg, bool leads); /* never from inside leader_new */
    void *arg;
};

struct leader *leader_new(const struct leader_options *options) must_check; /* starts at once */
/* What stands in the way of the lease, one sentence; NULL: nothing, even if another holds it. */
const char *leader_trouble(const struct leader *l);
/* The lease runs out, or others find this process gone. Does not call on_change. */
void leader_free(struct leader *l);

#endif
