/* notebook_rules.h - what tables cannot say of a Notebook, and the names its parts agree on. */
#ifndef MUSTER_API_NOTEBOOK_RULES_H
#define MUSTER_API_NOTEBOOK_RULES_H

#include "api/problem.h"

#define NOTEBOOK_CONTAINER "notebook"
#define NOTEBOOK_HOME "/t9k/mnt"
#define NOTEBOOK_CLUSTER_ROLE "muster-notebook" /* what its pod may do, in its namespace */
#define NOTEBOOK_KUBEFLOW_HOME "/home/jovyan"
#define NOTEBOOK_KUBEFLOW_STOPPED "kubeflow-resource-stopped" /* an annotation */
/* What its pod, account and rights are called: NAME and this. */
#define NOTEBOOK_SUFFIX "-nb"
#define NOTEBOOK_SERVICE_PREFIX "managed-notebook-http-"
#define NOTEBOOK_NAME_LIMIT 41 /* 63 less the prefix of its Service */

/* The container of that name; NULL without one. */
const struct json *notebook_container(const struct json *pod_spec);

/* See struct kind. */
void notebook_validate(const struct json *notebook, const struct json *old, struct err *err);
void notebook_warn(const struct json *notebook, void (*say)(void *arg, const char *text),
                   void *arg);

/* Of kubeflow.org/v1, likewise. */
void notebook_unify_kubeflow(struct arena *a, struct json *notebook,
                             void (*say)(void *arg, const char *text), void *arg, struct err *err);
void notebook_to_kubeflow(struct arena *a, const struct kind *k, struct json *notebook);
void notebook_from_kubeflow(struct arena *a, const struct kind *k, struct json *notebook);

#endif
