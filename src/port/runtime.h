/*
 * runtime.h - how the node agent runs pods: as host processes (runtime/process.h), later in
 * containers, and by hand in tests. A runtime knows pods by UID and nothing of the API; what it
 * reports it can report again after the daemon was killed at any point.
 */
#ifndef MUSTER_PORT_RUNTIME_H
#define MUSTER_PORT_RUNTIME_H

#include "base/err.h"

struct runtime;

enum container_phase { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_TERMINATED };

struct container_state {
    const char *name;
    bool init; /* one of spec.initContainers: they run before the others, one after the other */
    enum container_phase phase;
    int64_t pid;         /* of the main process; 0 when it was never started */
    int64_t start_ticks; /* the kernel's start time of pid: tells a reused pid */
    int64_t started_ms, finished_ms;
    int exit_code; /* 128 + signal when a signal ended it */
    int signal;
    const char *reason; /* "Completed", "Error", "StartError", "SupervisorLost" */
    const char *message;
};

struct pod_run {
    const char *ns, *name, *uid;
    /* Something of the pod may still be running or be started. Only a pod that is not alive can be
     * removed, and it stays dead. */
    bool alive;
    bool known; /* containers[] is filled; not yet so while a start is under way */
    struct container_state *containers;
    size_t containers_len;
};

#define POD_CONTAINERS_LIMIT 64

struct container_start {
    const char *name;
    bool init;
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated; all there is */
    const char *cwd;
};

struct pod_start {
    const char *ns, *name, *uid;
    const struct container_start *containers; /* init containers first, in order */
    size_t containers_len;
    int64_t grace_seconds;  /* when something other than stop() asks the pod to end */
    const char *hosts_path; /* a file the pod sees as /etc/hosts, or NULL */
};

struct runtime_ops {
    /* Begins; what comes of it is told by on_change. -EEXIST when the pod was started before, ever.
     */
    int (*start)(struct runtime *r, const struct pod_start *pod, struct err *err);
    /* TERM now, KILL after grace_seconds. Asked again, the earlier end counts. No-op when dead. */
    int (*stop)(struct runtime *r, const char *uid, int64_t grace_seconds, struct err *err);
    /* NULL when unknown. Valid until the next turn of the loop. */
    const struct pod_run *(*find)(struct runtime *r, const char *uid);
    /* Every pod; fn may not start or remove any. */
    void (*each)(struct runtime *r, void (*fn)(void *arg, const struct pod_run *run), void *arg);
    /* Forgets a dead pod; its logs are kept aside. -EBUSY while it is alive. */
    int (*remove)(struct runtime *r, const char *uid, struct err *err);
    /* Whether pods can see a hosts file of their own. */
    bool (*has_mounts)(struct runtime *r);
    /* Leaves the pods running. */
    void (*free)(struct runtime *r);
};

struct runtime {
    const struct runtime_ops *ops;
    /* Set by the user before the loop runs. Called on the loop thread, never from inside an op. */
    void (*on_change)(void *arg, const char *uid);
    void *on_change_arg;
};

#endif
