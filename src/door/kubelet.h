/*
 * kubelet.h - a kubelet's HTTPS endpoints for a node that is its own process: for an API server,
 * metrics-server, or any authorized client.
 *
 *   /containerLogs/NS/POD/CONTAINER    /exec/NS/POD[/UID]/CONTAINER    /attach/...
 *   /portForward/NS/POD[/UID]          /pods    /stats/summary         /metrics/resource
 *   /healthz    /samples[/NS/POD/UID], which is our own
 *
 * Callers present a certificate of the cluster's authority or a token, which the API server
 * identifies (TokenReview) and authorizes (SubjectAccessReview: get or create nodes/NAME/proxy,
 * stats, metrics).
 */
#ifndef MUSTER_DOOR_KUBELET_H
#define MUSTER_DOOR_KUBELET_H

#include "base/json.h"
#include "loop/loop.h"
#include "net/tls.h"
#include "port/node.h"
#include "port/transport.h"

#define KUBELET_REQUESTS_LIMIT 256u /* whose authorization is pending */
#define KUBELET_SESSIONS_LIMIT 256u /* exec, attach and port-forward at a time */

/* The pods bound to this node, as in the API. */
struct kubelet_pods {
    const struct json *(*find)(void *arg, const char *ns, const char *name); /* or NULL */
    void (*each)(void *arg, bool (*fn)(void *fn_arg, const struct json *pod), void *fn_arg);
    void *arg;
};

struct kubelet_options {
    struct loop *loop;
    struct kubelet_pods pods;
    struct transport *transport; /* of the API server that authorizes callers */
    const char *address;         /* "127.0.0.1:0" */
    const struct tls_options *tls;
};

struct kubelet;
struct kubelet *kubelet_new(const struct kubelet_options *options, struct err *err) must_check;
void kubelet_free(struct kubelet *k); /* closes everything; NULL-safe */
unsigned kubelet_port(const struct kubelet *k);
/* Before the loop runs: the node, with its name; must outlive the kubelet. */
void kubelet_set_node(struct kubelet *k, struct node *n);

#endif
