/*
 * tls.h - TLS in front of a server that knows only plain bytes: each connection is a socket of the
 * network and one end of a pair of sockets, and what is enciphered on the one is plain on the
 * other. The server has the pair's other end and uses it like a connection, upgraded or not.
 *
 * A thread of its own does the work, started by the first connection: neither a handshake nor a
 * large answer keeps the loop from its other work. The server's certificate is made there too, in
 * memory, and made again before it ends.
 */
#ifndef MUSTER_NET_TLS_H
#define MUSTER_NET_TLS_H

#include "net/certificate.h"

#define TLS_FIRST_BYTE 0x16 /* a client's first: a handshake record. No HTTP method has it. */
#define TLS_NAMES_LIMIT 16u
#define TLS_CLOSING_MS 30000 /* for the client to take what is left when the server has closed */

struct tls;

struct tls_options {
    struct key_pair authority;
    const char *const *names; /* the certificate's; NULL-terminated */
};

/* Copies the options. NULL when out of memory. */
struct tls *tls_new(const struct tls_options *options) must_check;
void tls_free(struct tls *t); /* closes every connection; NULL-safe */

/* Takes both, also when it fails. When plain is closed so is the connection; the connection's end
 * is the end of what can be read from the pair. */
void tls_serve(struct tls *t, int connection, int plain);

#endif
