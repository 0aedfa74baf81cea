/*
 * tls.h - TLS in front of a server that only handles plain bytes: each connection is a network
 * socket and one end of a socket pair, with encrypted data on one and plain data on the other. The
 * server uses the pair's other end like a connection, upgraded or not.
 *
 * It runs in its own thread, started by the first connection, so that neither a handshake nor a
 * large answer blocks the loop. The server's certificate is generated there too, in memory, and
 * renewed before it expires.
 */
#ifndef MUSTER_NET_TLS_H
#define MUSTER_NET_TLS_H

#include "net/certificate.h"

#define TLS_FIRST_BYTE                                                                             \
    0x16 /* a client's first byte: a handshake record. No HTTP method starts with                  \
          * it. */
#define TLS_NAMES_LIMIT 16u
#define TLS_CLOSING_MS 30000 /* for the client to read the rest after the server has closed */

struct tls;

struct tls_options {
    struct key_pair authority;
    const char *const *names; /* the certificate's; NULL-terminated */
    /* Clients are asked for a certificate issued by this authority; NULL: they are not. */
    const char *client_ca_pem;
};

/* A client's identity by its certificate. Shared by the server and the handshaking thread. */
#define TLS_GROUPS_LIMIT 16u
struct tls_peer;
struct tls_peer *tls_peer_new(void) must_check;
void tls_peer_unref(struct tls_peer *p); /* NULL-safe */
/* Its common name, once its first byte was decrypted; NULL: no valid certificate. */
const char *tls_peer_user(const struct tls_peer *p);
const char *const *tls_peer_groups(const struct tls_peer *p); /* organisations; NULL-terminated */
int64_t tls_peer_until(const struct tls_peer *p); /* when its certificate expires, in seconds */

/* Copies the options. NULL when out of memory. */
struct tls *tls_new(const struct tls_options *options) must_check;
void tls_free(struct tls *t); /* closes every connection; NULL-safe */

bool tls_asks_clients(const struct tls *t);

/* Takes both descriptors, even on failure; takes its own reference to peer (may be NULL). Closing
 * plain closes the connection; the connection's end is the end of the pair's data. */
void tls_serve(struct tls *t, int connection, int plain, struct tls_peer *peer);

#endif
