/*
 * local.h - the API without a network: port/transport.h straight into the server's core. What runs
 * in the daemon's own process asks through it exactly what it would ask over HTTP.
 */
#ifndef MUSTER_SERVER_LOCAL_H
#define MUSTER_SERVER_LOCAL_H

#include "port/transport.h"
#include "server/server.h"

/* NULL when out of memory. Free it (transport_free) before the server. */
struct transport *server_local_transport(struct server *s) must_check;
/* One with somebody's own rights (NULL: the owner's). who is copied. */
struct identity;
struct transport *server_local_transport_as(struct server *s,
                                            const struct identity *who) must_check;

#endif
