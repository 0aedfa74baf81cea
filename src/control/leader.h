/*
 * leader.h - leader election among processes: the holder of a Lease leads. It renews it every few
 * seconds; if it cannot, it stops leading before others may take over. Uses its own timers, not the
 * times in the Lease, because clocks differ.
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
    const char *identity;                     /* unique to this process */
    bool (*is_gone)(const char *identity);    /* certainly; its lease need not expire. May be
                                               * NULL */
    void (*on_change)(void *arg, bool leads); /* never from inside leader_new */
    void *arg;
};

struct leader *leader_new(const struct leader_options *options) must_check; /* starts at once */
/* What prevents getting the lease, in one sentence; NULL: nothing, even if another holds it. */
const char *leader_trouble(const struct leader *l);
/* The lease expires, or others find this process gone. Does not call on_change. */
void leader_free(struct leader *l);

#endif
