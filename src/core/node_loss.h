/*
 * node_loss.h - what to do about a node that has been silent for too long: it is marked, so that
 * nothing new is placed there, and later its pods are given up, so that their owners replace them
 * elsewhere. The same goes for pods of a node that does not exist. Pure: the caller measures the
 * silence, with a monotonic clock.
 */
#ifndef MUSTER_CORE_NODE_LOSS_H
#define MUSTER_CORE_NODE_LOSS_H

#include "core/plan.h"

/* Times as in Kubernetes. Without a Lease, a node's silence is noticed only when it counts as lost.
 */
#define NODE_SILENT_AFTER_MS (40 * INT64_C(1000))
#define NODE_LOST_AFTER_MS (5 * 60 * INT64_C(1000))
/* For a node that was deleted or never existed; a live agent recreates its Node at once. As long as
 * pods usually take to stop: if a node still runs them, they are done by then. */
#define NODE_ABSENT_AFTER_MS (30 * INT64_C(1000))

/* When the node last reported, by its own clock, or "". Any change is a sign of life. */
const char *node_heartbeat(const struct json *node);

/* Whether it is marked as silent. */
bool node_is_silent(const struct json *node);

/* Marks the node, silent for this long; if it is already marked, its pods are given up. pods: all
 * that may be on it, or none while it is not lost yet. */
void node_loss_plan(const struct json *node, const struct json *const *pods, size_t pods_len,
                    int64_t silent_ms, int64_t now_ms, struct plan *plan);

/* The same for a node that does not exist. */
void node_absence_plan(const char *name, const struct json *const *pods, size_t pods_len,
                       struct plan *plan);

#endif
