/*
 * kubelet.h - the door of a node that is a process of its own, as others know it: the kubelet's
 * endpoints over HTTPS, for an API server, for metrics-server, for any authorised client.
 *
 *   /containerLogs/NS/POD/CONTAINER    /exec/NS/POD[/UID]/CONTAINER    /attach/...
 *   /portForward/NS/POD[/UID]          /pods    /stats/summary         /metrics/resource
 *   /healthz    /samples[/NS/POD/UID], which is our own
 *
 * Who comes shows a certificate of the cluster's authority or a token, of which the API server is
 * asked whose it is (TokenReview); and it is asked whether he may (SubjectAccessReview: get or
 * create nodes/NAME/proxy, stats, metrics).
 */
#ifndef MUSTER_DOOR_KUBELET_H
#define MUSTER_DOOR_KUBELET_H

#include "base/json.h"
#include "loop/loop.h"
#include "net/tls.h"
#include "port/node.h"
#include "port/transport.h"

#define KUBELET_REQUESTS_LIMIT 256u /* at a time, of those whose right is being asked for */
#define KUBELET_SESSIONS_LIMIT 256u /* exec, attach and port-forward at a time */

/* The pods bound to this node, as the API has them. */
struct kubelet_pods {
    const struct json *(*find)(void *arg, const char *ns, const char *name); /* or NULL */
    void (*each)(void *arg, bool (*fn)(void *fn_arg, const struct json *pod), void *fn_arg);
    void *arg;
};

struct kubelet_options {
    struct loop *loop;
    struct kubelet_pods pods;
    struct transport *transport; /* of the API server that is asked who may */
    const char *address;         /* "127.0.0.1:0" */
    const struct tls_options *tls;
};

struct kubelet;
struct kubelet *kubelet_new(const struct kubelet_options *options, struct err *err) must_check;
void kubelet_free(struct kubelet *k); /* ends everything; NULL-safe */
unsigned kubelet_port(const struct kubelet *k);
/* Before the loop runs: with its name; it outlives the kubelet. */
void kubelet_set_node(struct kubelet *k, struct node *n);

#endif
