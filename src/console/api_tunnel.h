/*
 * api_tunnel.h - WebSockets (exec, attach, port-forward) through a console that is a process of its
 * own: the handshake is rewritten with the caller's token, then bytes go both ways as they
 * are, TLS under them or not. Nobody buffers more than a little: who does not read makes the other
 * wait.
 */
#ifndef MUSTER_CONSOLE_API_TUNNEL_H
#define MUSTER_CONSOLE_API_TUNNEL_H

#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "net/httpd.h"

#define API_TUNNELS_LIMIT 128u
#define API_TUNNEL_WAIT_MS 30000 /* for the server's answer to the handshake */

struct api_tunnels;

/* server as in api_proxy.h; it must outlive the loop. */
struct api_tunnels *api_tunnels_new(struct loop *l, const struct client_config *server) must_check;
void api_tunnels_free(struct api_tunnels *t); /* cuts all */
/* Cuts those of one session (net/sessions.h). */
void api_tunnels_end_session(struct api_tunnels *all, uint64_t session);
/* Answers the request, now or later. */
void api_tunnel_handle(struct api_tunnels *all, struct httpd_request *http, const char *token);

#endif
