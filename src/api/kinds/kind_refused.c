/*
 * kind_refused.c - kinds of a cluster that nobody here acts on: Deployments and their like.
 *
 * Clients take it for granted that they are served (`kubectl apply --prune` lists every one of
 * them), so they can be listed, watched and deleted, and are always empty: making one is refused
 * with a sentence, for a Deployment that never gets a pod would be a lie. Their fields are not
 * described: what is refused needs no checking.
 *
 * MachineAccess is a name in Roles (server/machine_access.h). It is among them so that clients find
 * its group: `kubectl auth can-i use machineaccess/hostpath` asks about another one else.
 */
#include "api/columns.h"

static const struct field fields[] = {
    {.name = "spec", .type = FIELD_ANY, .number = 2, .doc = "What would be wanted."},
    {.name = "status", .type = FIELD_ANY, .number = 3, .doc = "What would be."},
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
REFUSED(kind_job, "batch", "v1", "Job", "jobs", "job", .short_names = NULL);
REFUSED(kind_cron_job, "batch", "v1", "CronJob", "cronjobs", "cronjob", SHORT("cj"));
REFUSED(kind_ingress, "networking.k8s.io", "v1", "Ingress", "ingresses", "ingress", SHORT("ing"));
REFUSED(kind_machine_access, "muster.dev", "v1", "MachineAccess", "machineaccess", "machineaccess",
        .short_names = NULL);
/* What kubectl 1.20 asks for. */
REFUSED(kind_cron_job_beta, "batch", "v1beta1", "CronJob", "cronjobs", "cronjob",
        .stored_as = &kind_cron_job);
REFUSED(kind_ingress_beta, "extensions", "v1beta1", "Ingress", "ingresses", "ingress",
        .stored_as = &kind_ingress);
