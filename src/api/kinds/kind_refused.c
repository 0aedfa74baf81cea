/*
 * kind_refused.c - kinds of a cluster that have no controller here: Deployments and the like.
 *
 * Clients expect them to be served (`kubectl apply --prune` lists every one), so they can be
 * listed, watched and deleted, and are always empty. Creating one is refused with an explanation,
 * because a Deployment that never gets a pod would be misleading. Their fields are not described,
 * since there is nothing to validate.
 *
 * MachineAccess is a resource named in Roles (server/machine_access.h). It is here so that clients
 * find its group: without it `kubectl auth can-i use machineaccess/hostpath` would ask about the
 * wrong one.
 */
#include "api/columns.h"

static const struct field fields[] = {
    {.name = "spec", .type = FIELD_ANY, .number = 2, .doc = "Desired state."},
    {.name = "status", .type = FIELD_ANY, .number = 3, .doc = "Observed state."},
    {0}};

static const struct column columns[] = {COLUMN_NAME, COLUMN_AGE, {0}};

#define REFUSED(id, of, v, n, p, s, ...)                                                           \
    const struct kind id = {KIND_NAMES(of, v, n, p, s),                                            \
                            .namespaced = true,                                                    \
                            .refused = true,                                                       \
                            .doc = n " is not made by this server: it runs pods and training "     \
                                     "jobs, and none is ever there.",                              \
                            .fields = fields,                                                      \
                            .columns = columns,                                                    \
                            __VA_ARGS__}
#define SHORT(word)                                                                                \
    .short_names = (const char *const[])                                                           \
    {                                                                                              \
        word, NULL                                                                                 \
    }

REFUSED(kind_replication_controller, "", "v1", "ReplicationController", "replicationcontrollers",
        "replicationcontroller", SHORT("rc"));
REFUSED(kind_deployment, "apps", "v1", "Deployment", "deployments", "deployment", SHORT("deploy"));
REFUSED(kind_replica_set, "apps", "v1", "ReplicaSet", "replicasets", "replicaset", SHORT("rs"));
REFUSED(kind_stateful_set, "apps", "v1", "StatefulSet", "statefulsets", "statefulset",
        SHORT("sts"));
REFUSED(kind_daemon_set, "apps", "v1", "DaemonSet", "daemonsets", "daemonset", SHORT("ds"));
REFUSED(kind_ingress, "networking.k8s.io", "v1", "Ingress", "ingresses", "ingress", SHORT("ing"));
REFUSED(kind_machine_access, "muster.dev", "v1", "MachineAccess", "machineaccess", "machineaccess",
        .short_names = NULL);
/* Used by kubectl 1.20. */
REFUSED(kind_ingress_beta, "extensions", "v1beta1", "Ingress", "ingresses", "ingress",
        .stored_as = &kind_ingress);
