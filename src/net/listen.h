/* listen.h - a listening TCP socket from the text a user typed. */
#ifndef MUSTER_NET_LISTEN_H
#define MUSTER_NET_LISTEN_H

#include <sys/socket.h>

#include "base/err.h"

/* Whether it has the shape of an address; -EINVAL with a sentence. */
int listen_check(const char *address, struct err *err) must_check;

/* address: "127.0.0.1:7447", "[::1]:0", "localhost:0". The descriptor (close-on-exec, not
 * blocking), or a negative errno with a sentence. *ret_port is the port it got. */
int listen_open(const char *address, bool loopback_only, unsigned *ret_port,
                struct err *err) must_check;
/* Of a TCP socket's address. */
bool listen_is_loopback(const struct sockaddr_storage *address);

/* "localhost" and what is below it is 127.0.0.1 and ::1, and browsers try both. Who listens on one
 * holds the port of the other too, so that a connection there is refused and no other program can
 * answer. The descriptor; -EADDRINUSE when it is taken, -1 otherwise: there is no other. */
int listen_hold_other(const char *address, unsigned port) must_check;

#endif
