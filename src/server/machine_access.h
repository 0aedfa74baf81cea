/*
 * machine_access.h - access beyond a pod's own part of the machine: privileged containers, folders
 * by path, and, where root runs the pods, users other than the namespace's own. The right to create
 * pods does not include these: a caller needs the verb `use` on machineaccess.muster.dev,
 * "privileged", "hostpath" or "anyuser", in the namespace. A rule for all resources does not grant
 * it: "everything in this namespace" does not mean the machine.
 *
 * Pods of a caller without "anyuser" run as the namespace's user (namespace_user.h). Other objects
 * such a caller writes from which pods are created are marked (ANNOTATION_RUN_AS), and so are the
 * pods that controllers create from them. Only a caller with "anyuser" can remove the mark.
 */
#ifndef MUSTER_SERVER_MACHINE_ACCESS_H
#define MUSTER_SERVER_MACHINE_ACCESS_H

#include "server/internal.h"
#include "server/namespace_user.h"

#define MACHINE_ACCESS_GROUP "muster.dev"
#define MACHINE_ACCESS_RESOURCE "machineaccess"

/* 403 if the caller lacks the right to what next has and old (NULL at creation) has not. Marks next
 * with the user of its pods, or a Secret with what its writers may enter. */
int machine_access_check(struct server_request *r, const struct json *old, struct json *next,
                         bool dry_run, struct err *err) must_check;
/* The user a pod created by the caller in the route's namespace would run as; NAMESPACE_USER_NONE:
 * the one in its spec. */
int machine_access_pod_user(struct server_request *r, struct namespace_user *ret,
                            struct err *err) must_check;
/* 403 if entering this pod, by a command or its token, would make the caller a user it may not
 * be. */
int machine_access_enter(struct server_request *r, const struct json *pod,
                         struct err *err) must_check;

#endif
