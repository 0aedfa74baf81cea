/*
 * impersonate.h - acting as somebody else, as kube-apiserver does it: the headers Impersonate-User,
 * -Group, -Uid and -Extra-KEY say whom; who asks needs the verb `impersonate` for every one of
 * them.
 */
#ifndef MUSTER_SERVER_IMPERSONATE_H
#define MUSTER_SERVER_IMPERSONATE_H

#include "net/httpd.h"
#include "server/caller.h"
#include "server/internal.h"

/* *who, who asks, becomes whom the headers name, in the request's arena; it stays without them.
 * Only inside handle. */
int impersonate(struct server *s, struct httpd_request *http, const struct caller **who,
                struct err *err) must_check;

#endif
