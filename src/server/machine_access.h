/*
 * machine_access.h - what reaches beyond a pod's own on this machine: privileged containers,
 * folders named by their path, and, where root runs the pods, running as a user other than the
 * namespace's own user. Who may make pods may not have these with them: a caller needs the verb
 * `use` on machineaccess.muster.dev, "privileged", "hostpath" or "anyuser", in the namespace. A
 * rule for all resources does not give it: who says "everything in this namespace" does not mean
 * the machine.
 *
 * Pods of a caller without "anyuser" run as the namespace's user (namespace_user.h). What else he
 * writes that pods are made of is marked (ANNOTATION_RUN_AS), and so are the pods that controllers
 * make of it. Who may be any user takes a mark away by removing the annotation, nobody else does.
 */
#ifndef MUSTER_SERVER_MACHINE_ACCESS_H
#define MUSTER_SERVER_MACHINE_ACCESS_H

#include "server/internal.h"
#include "server/namespace_user.h"

#define MACHINE_ACCESS_GROUP "muster.dev"
#define MACHINE_ACCESS_RESOURCE "machineaccess"

/* 403 for a caller that has not the right to what next wants and old, NULL at a creation, did not.
 * Sets in next whose pods it makes. */
int machine_access_check(struct server_request *r, const struct json *old, struct json *next,
                         bool dry_run, struct err *err) must_check;
/* As whom a pod that the caller made in the route's namespace would run; NAMESPACE_USER_NONE: as it
 * says itself. */
int machine_access_pod_user(struct server_request *r, struct namespace_user *ret,
                            struct err *err) must_check;
/* 403 for a caller that would be in this pod whom he may not be: a command in it, its token. */
int machine_access_enter(struct server_request *r, const struct json *pod,
                         struct err *err) must_check;

#endif
