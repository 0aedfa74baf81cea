/*
 * podlog.h - reads a container's log from the pod's folder, as the kubelet would serve it: whole
 * lines, oldest first, with or without their time stamps, optionally following.
 */
#ifndef MUSTER_RUNTIME_PODLOG_H
#define MUSTER_RUNTIME_PODLOG_H

#include "base/err.h"
#include "loop/loop.h"
#include "port/stream.h"

struct podlog_options {
    bool follow; /* until the container has ended and everything was read */
    bool timestamps;
    bool previous;       /* the run before the newest: of a container that was restarted */
    int64_t tail_lines;  /* -1: all */
    int64_t since_ms;    /* wall time; 0: from the start */
    int64_t limit_bytes; /* -1: no limit */
};

/* pod_root: the agent's folder of pods (the Node's annotation muster.dev/pod-root). The stream is
 * freed by its close. */
int podlog_open(struct loop *l, const char *pod_root, const char *pod_uid, const char *container,
                const struct podlog_options *options, struct stream **ret,
                struct err *err) must_check;

#endif
