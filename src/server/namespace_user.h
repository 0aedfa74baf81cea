/*
 * namespace_user.h - the user as whom a namespace's pods run where root runs them and nobody who
 * may be any user wrote them (machine_access.h). The Namespace says it in an annotation: the
 * owner's word, or a number of its own that the server allots when it is first needed and never
 * again to another.
 */
#ifndef MUSTER_SERVER_NAMESPACE_USER_H
#define MUSTER_SERVER_NAMESPACE_USER_H

#include "server/internal.h"

/* Beyond what machines give to people, services, containers and directories (SSSD ends at
 * 2000200000), below what Kubernetes ends at. */
#define NAMESPACE_USER_FIRST 2001000000

#define NAMESPACE_USER_NONE (-1)

struct namespace_user {
    int64_t uid, gid;
};

/* With the group the machine's passwd gives him, else one of his number. */
struct namespace_user namespace_user_of(int64_t uid);
/* The route's namespace's. Allotted if need be; a dry run only tells which it would be. */
int namespace_user_get(struct server_request *r, bool dry_run, struct namespace_user *ret,
                       struct err *err) must_check;

#endif
