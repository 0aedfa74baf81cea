/*
 * local.h - the API without a network: port/transport.h directly into the server's core. Parts of
 * the daemon's own process use it exactly as they would use HTTP.
 */
#ifndef MUSTER_SERVER_LOCAL_H
#define MUSTER_SERVER_LOCAL_H

#include "port/transport.h"
#include "server/caller.h"
#include "server/server.h"

/* With the rights of who, which is copied; with NULL every call is refused. NULL when out of
 * memory. Free it (transport_free) before the server. */
struct transport *server_local_transport(struct server *s, const struct caller *who) must_check;

#endif
