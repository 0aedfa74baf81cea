/*
 * local.h - the API without a network: port/transport.h straight into the server's core. What runs
 * in the daemon's own process asks through it exactly what it would ask over HTTP.
 */
#ifndef MUSTER_SERVER_LOCAL_H
#define MUSTER_SERVER_LOCAL_H

#include "port/transport.h"
#include "server/caller.h"
#include "server/server.h"

/* With the rights of who, which is copied; of nobody (NULL) every call is refused. NULL when out of
 * memory. Free it (transport_free) before the server. */
struct transport *server_local_transport(struct server *s, const struct caller *who) must_check;

#endif
