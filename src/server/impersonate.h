/*
 * impersonate.h - acting as another user, as in kube-apiserver: the headers Impersonate-User,
 * -Group, -Uid and -Extra-KEY name the user; the caller needs the verb `impersonate` for every one
 * of them.
 */
#ifndef MUSTER_SERVER_IMPERSONATE_H
#define MUSTER_SERVER_IMPERSONATE_H

#include "net/httpd.h"
#include "server/caller.h"
#include "server/internal.h"

/* *who, the caller, becomes the user the headers name, in the request's arena; it stays without
 * them. Only inside handle. */
int impersonate(struct server *s, struct httpd_request *http, const struct caller **who,
                struct err *err) must_check;

#endif
