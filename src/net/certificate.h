/*
 * certificate.h - our own certificate authority and the certificates it issues for this server.
 * Keys are EC P-256, texts are PEM. Times are seconds since 1970.
 */
#ifndef MUSTER_NET_CERTIFICATE_H
#define MUSTER_NET_CERTIFICATE_H

#include "base/buf.h"
#include "base/err.h"

#define AUTHORITY_DAYS 3650  /* the authority's own; renewed in its last year */
#define CERTIFICATE_DAYS 365 /* a server's or client's; never beyond its authority's */
#define CERTIFICATE_PEM_LIMIT_BYTES (16u * 1024u)

struct key_pair {
    const char *key, *certificate;
};

/* A certificate for the key, or for a new one, returned in *ret_key, when key is NULL. With the old
 * key, clients that trust the old certificate also trust what the new one signs. */
int authority_make(const char *key, int64_t now_s, struct buf *ret_key, struct buf *ret_certificate,
                   struct err *err) must_check;
/* Whether both are valid, belong together, and last for another year. */
bool authority_is_good(const struct key_pair *authority, int64_t now_s);

/* For a server with these names and addresses ("localhost", "::1"); NULL-terminated. */
int certificate_make(const struct key_pair *authority, const char *const *names, int64_t now_s,
                     struct buf *ret_key, struct buf *ret_certificate, struct err *err) must_check;
/* For a client, in Kubernetes' convention: the user is the common name, the group the
 * organisation. */
int certificate_make_client(const struct key_pair *authority, const char *user, const char *group,
                            int64_t now_s, struct buf *ret_key, struct buf *ret_certificate,
                            struct err *err) must_check;

/* The subject of a request for a certificate (PKCS #10). */
#define CERTIFICATE_NAME_SIZE 256
#define CERTIFICATE_GROUPS_LIMIT 16u
struct certificate_subject {
    char user[CERTIFICATE_NAME_SIZE];
    char groups[CERTIFICATE_GROUPS_LIMIT][CERTIFICATE_NAME_SIZE];
    size_t groups_len;
};
/* ERR_INVALID when it is none, or not signed with its own key, or its subject names no user. */
int certificate_request_read(const char *pem, struct certificate_subject *ret,
                             struct err *err) must_check;
/* A client's certificate for the request's subject and key; whatever else it asks for is left out.
 */
int certificate_request_sign(const struct key_pair *authority, const char *pem, int64_t now_s,
                             int64_t seconds, struct buf *ret_certificate,
                             struct err *err) must_check;

/* A key pair for ssh: PEM, and a line for authorized_keys. */
int ssh_key_make(struct buf *ret_key, struct buf *ret_public, struct err *err) must_check;

#endif
