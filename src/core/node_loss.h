/*
 * node_loss.h - what follows when a node has been silent for too long: it is marked, and once that
 * is written its pods are given up, so that their owners replace them elsewhere. The same for pods
 * of a node that does not exist. Pure; the caller decides how long, by a monotonic clock.
 */
#ifndef MUSTER_CORE_NODE_LOSS_H
#define MUSTER_CORE_NODE_LOSS_H

#include "core/plan.h"

#define NODE_LOST_AFTER_MS (5 * 60 * INT64_C(1000))
/* For a node that was deleted or never existed; a live agent recreates its Node at once. As long as
 * pods usually take to stop: if a node still runs them, they are done by then. */
#define NODE_ABSENT_AFTER_MS (30 * INT64_C(1000))

/* When the node last reported, by its own clock, or "". Any change is a sign of life. */
const char *node_heartbeat(const struct json *node);

/* Whether it is marked as silent. */
bool node_is_silent(const struct json *node);

/* Gives up a silent node's pods; a node not yet marked is marked first. pods: all that may be
 * its. */
void node_loss_plan(const struct json *node, const struct json *const *pods, size_t pods_len,
                    int64_t now_ms, struct plan *plan);

/* The same for a node that does not exist. */
void node_absence_plan(const char *name, const struct json *const *pods, size_t pods_len,
                       struct plan *plan);

#endif
