/* node.h - maintains this machine's Node object: created once, its status renewed. */
#ifndef MUSTER_AGENT_NODE_H
#define MUSTER_AGENT_NODE_H

#include "agent/machine.h"
#include "base/json.h"
#include "port/clock.h"
#include "port/transport.h"

struct node_keeper;

struct node_options {
    struct transport *transport;
    struct clock *clock;
    const char *name;
    const char *door_host, *door_ca_pem; /* as in agent.h */
    unsigned door_port;
    const struct machine *machine;
    const struct json *labels, *taints; /* of the Node, besides ours; taints only when it is
                                         * created, as nodes may not change them. NULL: none */
};

/* Strings, JSON and machine belong to the caller and must outlive it. */
struct node_keeper *node_keeper_new(const struct node_options *options) must_check;
void node_keeper_free(struct node_keeper *n); /* NULL-safe */

#endif
