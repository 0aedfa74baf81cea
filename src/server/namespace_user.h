/*
 * namespace_user.h - the user a namespace's pods run as, where root runs them and their author may
 * not use any user (machine_access.h). It is an annotation of the Namespace: set by the owner, or a
 * number the server allocates when first needed and never reuses.
 */
#ifndef MUSTER_SERVER_NAMESPACE_USER_H
#define MUSTER_SERVER_NAMESPACE_USER_H

#include "server/internal.h"

/* Above what machines assign to people, services, containers and directories (SSSD ends at
 * 2000200000), below Kubernetes' maximum. */
#define NAMESPACE_USER_FIRST 2001000000
/* Each data folder allocates from a block of its own, so that two daemons of one machine do not
 * share users. */
#define NAMESPACE_USER_BLOCKS 10000u
#define NAMESPACE_USER_BLOCK 10000

#define NAMESPACE_USER_NONE (-1)

struct namespace_user {
    int64_t uid, gid;
};

/* With the group from the machine's passwd, else one of the same number. */
struct namespace_user namespace_user_of(int64_t uid);
/* Of the route's namespace. Allocated if necessary; a dry run only reports which it would be. */
int namespace_user_get(struct server_request *r, bool dry_run, struct namespace_user *ret,
                       struct err *err) must_check;

#endif
