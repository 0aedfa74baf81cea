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
    /* Clients are asked for a certificate that this authority vouches for; NULL: they are not. */
    const char *client_ca_pem;
};

/* Who a client is by its certificate. Shared by who serves it and the thread that shakes hands. */
#define TLS_GROUPS_LIMIT 16u
struct tls_peer;
struct tls_peer *tls_peer_new(void) must_check;
void tls_peer_unref(struct tls_peer *p); /* NULL-safe */
/* Its common name, once the first byte of it was deciphered; NULL: it showed none that is good. */
const char *tls_peer_user(const struct tls_peer *p);
const char *const *tls_peer_groups(const struct tls_peer *p); /* organisations; ends with NULL */

/* Copies the options. NULL when out of memory. */
struct tls *tls_new(const struct tls_options *options) must_check;
void tls_free(struct tls *t); /* closes every connection; NULL-safe */

bool tls_asks_clients(const struct tls *t);

/* Takes both descriptors, also when it fails; of peer (may be NULL) it has a reference of its own.
 * When plain is closed so is the connection; the connection's end is the end of what can be read
 * from the pair. */
void tls_serve(struct tls *t, int connection, int plain, struct tls_peer *peer);

#endif
