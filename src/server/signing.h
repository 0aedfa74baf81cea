/*
 * signing.h - CertificateSigningRequests: the requester, who may approve, and the certificate. The
 * server signs for kubernetes.io/kube-apiserver-client, with its own authority, in the write that
 * approves: the certificate is a client's identity here (front.c). Other signers are left to other
 * programs.
 */
#ifndef MUSTER_SERVER_SIGNING_H
#define MUSTER_SERVER_SIGNING_H

#include "net/certificate.h"
#include "server/internal.h"

void signing_set_authority(struct server *s, const struct key_pair *authority);
void signing_forget_authority(struct server *s);

/* A new request: records the requester. */
int signing_create(struct server_request *r, struct json *object, struct err *err) must_check;
/* A changed one. Its spec stays; decisions are made by its subresource approval alone, which needs
 * the right to approve for the signer, and are final. */
int signing_update(struct server_request *r, const struct json *old, struct json *next,
                   struct err *err) must_check;

#endif
