/*
 * machine_access.h - what reaches beyond a pod's own on this machine: privileged containers, and
 * folders named by their path. Who may make pods may not have these with them: a caller needs the
 * verb `use` on machineaccess.muster.dev, "privileged" or "hostpath", in the namespace. A rule for
 * all resources does not give it: who says "everything in this namespace" does not mean the
 * machine.
 */
#ifndef MUSTER_SERVER_MACHINE_ACCESS_H
#define MUSTER_SERVER_MACHINE_ACCESS_H

#include "server/internal.h"

#define MACHINE_ACCESS_GROUP "muster.dev"
#define MACHINE_ACCESS_RESOURCE "machineaccess"

/* 403 for a caller that has not the right to what next wants and old, NULL at a creation, did not.
 */
int machine_access_check(struct server_request *r, const struct json *old, const struct json *next,
                         struct err *err) must_check;

#endif
