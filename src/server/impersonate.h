/*
 * impersonate.h - acting as another user, as in kube-apiserver: the headers Impersonate-User,
 * -Group, -Uid and -Extra-KEY name the user; the caller needs the verb `impersonate` for each of
 * them.
 */
#ifndef MUSTER_SERVER_IMPERSONATE_H
#define MUSTER_SERVER_IMPERSONATE_H

#include "net/httpd.h"
#include "server/caller.h"
#include "server/internal.h"

/* Replaces *who, the caller, by the user in the headers, in the request's arena; without them it
 * stays. Only inside handle. */
int impersonate(struct server *s, struct httpd_request *http, const struct caller **who,
                struct err *err) must_check;

#endif
