/* notebook_rules.h - Notebook beyond its table, and names shared by its parts. */
#ifndef MUSTER_API_NOTEBOOK_RULES_H
#define MUSTER_API_NOTEBOOK_RULES_H

#include "api/problem.h"

#define NOTEBOOK_CONTAINER "notebook"
#define NOTEBOOK_HOME "/t9k/mnt"
#define NOTEBOOK_CLUSTER_ROLE "muster-notebook" /* its pod's rights in its namespace */
#define NOTEBOOK_KUBEFLOW_HOME "/home/jovyan"
#define NOTEBOOK_KUBEFLOW_STOPPED "kubeflow-resource-stopped" /* an annotation */
/* Suffix of the names of its pod, account and binding. */
#define NOTEBOOK_SUFFIX "-nb"
#define NOTEBOOK_SERVICE_PREFIX "managed-notebook-http-"
#define NOTEBOOK_SSH_SERVICE_PREFIX "managed-notebook-ssh-"
#define NOTEBOOK_SSH_USER "t9kuser" /* of whatever number */
#define NOTEBOOK_SSH_SECRETS_LIMIT 16
/* Prefix of its pod's volumes with Secrets of public keys. The agent leaves such a volume empty but
 * for this file if who wrote the Secret may not enter the pod; no key of a Secret begins so. */
#define NOTEBOOK_SSH_KEYS_VOLUME "muster-ssh-keys-"
#define NOTEBOOK_SSH_KEYS_REFUSED "..refused"
#define NOTEBOOK_NAME_LIMIT 41 /* 63 less its Service's prefix */

/* The container of that name, or NULL. */
const struct json *notebook_container(const struct json *pod_spec);

/* See struct kind. */
void notebook_validate(const struct json *notebook, const struct json *old, struct err *err);
void notebook_warn(const struct json *notebook, void (*say)(void *arg, const char *text),
                   void *arg);

/* The same for kubeflow.org/v1. */
void notebook_unify_kubeflow(struct arena *a, struct json *notebook,
                             void (*say)(void *arg, const char *text), void *arg, struct err *err);
void notebook_to_kubeflow(struct arena *a, const struct kind *k, struct json *notebook);
void notebook_from_kubeflow(struct arena *a, const struct kind *k, struct json *notebook);

#endif
