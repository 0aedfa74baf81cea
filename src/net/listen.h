/* listen.h - a listening TCP socket from a user-supplied address. */
#ifndef MUSTER_NET_LISTEN_H
#define MUSTER_NET_LISTEN_H

#include <sys/socket.h>

#include "base/err.h"

/* Whether it has the form of an address; -EINVAL with a message. */
int listen_check(const char *address, struct err *err) must_check;

/* address: "127.0.0.1:7447", "[::1]:0", "localhost:0". The descriptor (close-on-exec,
 * non-blocking), or a negative errno with a message. *ret_port is the actual port. */
int listen_open(const char *address, bool loopback_only, unsigned *ret_port,
                struct err *err) must_check;
/* Whether a TCP address is loopback. */
bool listen_is_loopback(const struct sockaddr_storage *address);

/* "localhost" and its subdomains are both 127.0.0.1 and ::1, and browsers try both. Holds the same
 * port of the other one too, so that connections there are refused and no other program can answer.
 * The descriptor; -EADDRINUSE when it is taken; -1 when there is no other. */
int listen_hold_other(const char *address, unsigned port) must_check;

#endif
