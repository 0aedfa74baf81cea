/*
 * api_tunnel.h - WebSockets (exec, attach, port-forward) through a standalone console, with the
 * user's token.
 */
#ifndef MUSTER_CONSOLE_API_TUNNEL_H
#define MUSTER_CONSOLE_API_TUNNEL_H

#include "client/kubeconfig.h"
#include "console/ws_tunnel.h"

/* server as in api_proxy.h. Answers the request, now or later. */
void api_tunnel_handle(struct ws_tunnels *all, const struct client_config *server,
                       struct httpd_request *http, const char *token);

#endif
