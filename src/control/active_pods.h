/*
 * active_pods.h - which pods the scheduler has to look at: those that hold room or wait for it. A
 * cluster keeps the finished pods of thousands of jobs; a look must not cost more for them.
 */
#ifndef MUSTER_CONTROL_ACTIVE_PODS_H
#define MUSTER_CONTROL_ACTIVE_PODS_H

#include "base/map.h"
#include "client/cache.h"
#include "control/object_list.h"

struct active_pods {
    struct map pods;    /* "ns/name" -> whether it waits */
    size_t waiting;     /* how many of them do */
    bool out_of_memory; /* the index is not whole: everything has to be looked at */
};

/* Zero is a good start. Told of every event of the cache of pods. */
void active_pods_note(struct active_pods *p, enum cache_event event, const struct json *pod);
/* Those that hold or wait, in key order, and the finished members of gangs that wait. */
void active_pods_collect(const struct active_pods *p, const struct cache *pods,
                         struct object_list *ret);
void active_pods_release(struct active_pods *p);

#endif
