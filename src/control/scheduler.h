/*
 * scheduler.h - assigns nodes to waiting pod groups: keeps the ledger (core/ledger.h) up to date,
 * asks core/schedule.h, and carries it out. At most one decision per turn of the loop, never two at
 * once.
 */
#ifndef MUSTER_CONTROL_SCHEDULER_H
#define MUSTER_CONTROL_SCHEDULER_H

#include "client/cache.h"
#include "control/applier.h"
#include "control/trouble.h"

struct scheduler;

struct scheduler_options {
    struct transport *transport;
    struct clock *clock;
    struct applier *applier;
    struct trouble *trouble;
    struct cache *pods;   /* in all namespaces; pass its events to scheduler_on_pod */
    struct cache *groups; /* PodGroups; pass its events to scheduler_on_group */
    bool overcommit;      /* see core/ledger.h */
    bool beside_default;  /* see core/ledger.h */
};

struct scheduler *scheduler_new(const struct scheduler_options *options) must_check;
void scheduler_free(struct scheduler *s); /* after the applier, before the cache of pods */
void scheduler_on_pod(struct scheduler *s, enum cache_event event, const struct json *pod);
void scheduler_on_group(struct scheduler *s, enum cache_event event, const struct json *group);
void scheduler_on_synced(struct scheduler *s);            /* call it for either of the given
                                                           * caches */
const char *scheduler_trouble(const struct scheduler *s); /* see control_trouble */

#endif
