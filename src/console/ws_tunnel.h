/*
 * ws_tunnel.h - a client's WebSocket passed on to another server: the handshake is written anew,
 * then bytes go both ways as they are (net/tunnel.h).
 */
#ifndef MUSTER_CONSOLE_WS_TUNNEL_H
#define MUSTER_CONSOLE_WS_TUNNEL_H

#include "base/buf.h"
#include "net/httpd.h"
#include "net/tunnel.h"

#define WS_TUNNELS_LIMIT 256u
#define WS_TUNNEL_WAIT_MS 30000 /* for the server's answer to the handshake */

struct ws_tunnels;

/* who: "the API server", in sentences; outlives them. */
struct ws_tunnels *ws_tunnels_new(struct loop *l, const char *who) must_check;
void ws_tunnels_free(struct ws_tunnels *all); /* cuts all */
/* Cuts those of one session (net/sessions.h). */
void ws_tunnels_end_session(struct ws_tunnels *all, uint64_t session);

/* Adds what makes a request the client's handshake, and the blank line. Only inside handle. */
int ws_handshake_add(struct buf *out, struct httpd_request *http, struct err *err) must_check;
/* Answers http, now or later. user: whose part of all it is (base/share.h), "" for the owner's;
 * program: of which no page has more than a quarter, "" for none. fd > 0: a connection to the
 * server that is there; it is taken. */
struct ws_tunnel_for {
    const char *user, *program;
    const struct dial_options *server;
    int fd;
};
void ws_tunnel_start(struct ws_tunnels *all, struct httpd_request *http, struct buf *request,
                     const struct ws_tunnel_for *what);

#endif
