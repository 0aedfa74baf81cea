/*
 * ws_tunnel.h - passes a client's WebSocket on to another server: the handshake is rebuilt, then
 * bytes are relayed unchanged (net/tunnel.h).
 */
#ifndef MUSTER_CONSOLE_WS_TUNNEL_H
#define MUSTER_CONSOLE_WS_TUNNEL_H

#include "base/buf.h"
#include "net/httpd.h"
#include "net/tunnel.h"

#define WS_TUNNELS_LIMIT 256u
#define WS_TUNNEL_WAIT_MS 30000 /* for the server's answer to the handshake */

struct ws_tunnels;

/* who: for messages, "the API server"; must outlive them. */
struct ws_tunnels *ws_tunnels_new(struct loop *l, const char *who) must_check;
void ws_tunnels_free(struct ws_tunnels *all); /* closes all */
/* Closes those of one session (net/sessions.h). */
void ws_tunnels_end_session(struct ws_tunnels *all, uint64_t session);

/* Adds the headers of the client's handshake, and the empty line. Only inside handle. */
int ws_handshake_add(struct buf *out, struct httpd_request *http, struct err *err) must_check;
/* Answers http, now or later. user: whose share of limited resources it uses (base/share.h), "" for
 * the owner; program: whose pages get at most a quarter, "" for none. fd > 0: an existing
 * connection to the server; it is taken. */
struct ws_tunnel_for {
    const char *user, *program;
    const struct dial_options *server;
    int fd;
};
void ws_tunnel_start(struct ws_tunnels *all, struct httpd_request *http, struct buf *request,
                     const struct ws_tunnel_for *what);

#endif
