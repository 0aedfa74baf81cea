/* elected.h - controllers in their own process, active while it holds their lease: of several
 * `muster controller` or `muster scheduler` only one acts. First the server is identified: on a
 * Kubernetes cluster others collect garbage, watch nodes and schedule by default, and pods have
 * their own networks. */
#ifndef MUSTER_CLI_ELECTED_H
#define MUSTER_CLI_ELECTED_H

#include "control/control.h"

struct elected;

struct elected_options {
    const char *lease, *ns;         /* ns NULL: LEADER_NAMESPACE */
    struct control_options control; /* as on our own server */
    bool shared_network;            /* on a cluster too: its nodes are `muster node` */
    bool as_default;                /* on a cluster too: there is no kube-scheduler */
};

struct elected *elected_new(const struct elected_options *options, struct err *err) must_check;
void elected_free(struct elected *e);
bool elected_leads(const struct elected *e);
/* Why it is not ready to lead, or what it may not read and so does nothing: one sentence. NULL: it
 * is ready, or leads. */
const char *elected_trouble(const struct elected *e);

#endif
