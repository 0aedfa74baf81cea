/*
 * podlog.h - reads a container's log from the pod's folder, as the kubelet would serve it: whole
 * lines, oldest first, with or without time stamps, optionally following.
 */
#ifndef MUSTER_RUNTIME_PODLOG_H
#define MUSTER_RUNTIME_PODLOG_H

#include "loop/loop.h"
#include "port/node.h"

/* pod_root: a folder with pods' folders. The stream is freed by its close. */
int podlog_open(struct loop *l, const char *pod_root, const char *pod_uid, const char *container,
                const struct node_log_options *options, struct stream **ret,
                struct err *err) must_check;

#endif
