/*
 * nodes.h - detects nodes that fall silent and gives up their pods (core/node_loss.h). Only for our
 * own API server: a Kubernetes cluster does this itself.
 */
#ifndef MUSTER_CONTROL_NODES_H
#define MUSTER_CONTROL_NODES_H

#include "client/cache.h"
#include "control/applier.h"
#include "control/trouble.h"

struct nodes;

struct nodes_options {
    struct transport *transport;
    struct clock *clock;
    struct applier *applier;
    struct trouble *trouble;
    struct cache *pods; /* in all namespaces */
};

/* One of options.pods was added or changed. */
void nodes_on_pod(struct nodes *n, enum cache_event event, const struct json *pod);
struct nodes *nodes_new(const struct nodes_options *options) must_check;
void nodes_free(struct nodes *n); /* after the applier, before the cache of pods */

#endif
