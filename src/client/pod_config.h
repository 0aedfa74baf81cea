/* pod_config.h - how a program inside a pod reaches the API: with its service account's token, as
 * provided by muster's node agent or a kubelet. */
#ifndef MUSTER_CLIENT_POD_CONFIG_H
#define MUSTER_CLIENT_POD_CONFIG_H

#include "client/kubeconfig.h"

/* MUSTER_SERVER, MUSTER_CA, MUSTER_TOKEN and MUSTER_NAMESPACE, else the files of
 * /var/run/secrets/kubernetes.io/serviceaccount with KUBERNETES_SERVICE_HOST and _PORT. */
int pod_config_load(struct arena *a, struct client_config *ret, struct err *err) must_check;

#endif
