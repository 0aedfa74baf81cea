/* http_transport.h - port/transport.h over HTTP or HTTPS, to any Kubernetes API server. */
#ifndef MUSTER_CLIENT_HTTP_TRANSPORT_H
#define MUSTER_CLIENT_HTTP_TRANSPORT_H

#include "base/err.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "port/transport.h"

/* config is copied, except for its plugin, which must live as long. Does not connect yet. */
struct transport *http_transport_new(struct loop *l, const struct client_config *config,
                                     struct err *err) must_check;

#endif
