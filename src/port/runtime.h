/*
 * runtime.h - how the node agent runs pods: as host processes (runtime/process.h), or simulated in
 * tests. A runtime identifies pods by UID and knows nothing of the API; whatever it reports it can
 * report again after the daemon was killed at any point.
 */
#ifndef MUSTER_PORT_RUNTIME_H
#define MUSTER_PORT_RUNTIME_H

#include "base/err.h"

struct runtime;

enum container_phase { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_TERMINATED };

struct container_state {
    const char *name;
    bool init;           /* from spec.initContainers: run first, one after the other */
    bool ready, started; /* running, and according to its probes */
    enum container_phase phase;
    int64_t pid;         /* of the main process; 0 when it was never started */
    int64_t start_ticks; /* the kernel's start time of pid: detects a reused pid */
    int64_t started_ms, finished_ms;
    int exit_code; /* 128 + signal when a signal ended it */
    int signal;
    bool by_itself;     /* it ended on its own, not because it was stopped */
    const char *reason; /* "Completed", "Error", "StartError", "SupervisorLost"; waiting:
                           "CrashLoopBackOff" */
    const char *message;
    int64_t restart_count;
    const char *image_id;               /* as in container_start */
    const struct container_state *last; /* how it ended before its last restart, or NULL */
};

/* Something in the pod's life that deserves an event. */
struct pod_note {
    int64_t number; /* increases by one */
    bool warning;
    const char *reason, *message;
};

#define POD_NOTES_LIMIT 16 /* the newest are kept */

struct pod_run {
    const char *ns, *name, *uid;
    /* Ephemeral containers: each has a run of its own (agent/ephemeral.h). */
    const struct container_state *late;
    size_t late_len;
    const char *owner; /* as in pod_start */
    int64_t attempt;
    const struct pod_note *notes;
    size_t notes_len;
    /* Something of the pod may still run or be started. Only a pod that is not alive can be
     * removed, and it never becomes alive again. */
    bool alive;
    bool known; /* containers[] is filled; false while a start is under way */
    struct container_state *containers;
    size_t containers_len;
};

#define POD_CONTAINERS_LIMIT 64

/* 0: unset. */
struct container_limits {
    int64_t cpu_milli, cpu_request_milli;
    int64_t memory_bytes;
};

#define POD_MOUNTS_LIMIT 256 /* of one container */
#define POD_GROUPS_LIMIT 64  /* of one container */

/* A folder or file that the container sees at `target` in place of the machine's. */
struct container_mount {
    const char *source;   /* on the machine, absolute */
    const char *sub_path; /* below source, or NULL; created as a folder when missing */
    const char *target;   /* absolute; need not exist on the machine, and is not created there */
    const char *volume;   /* its name, for messages */
    bool read_only;
    bool host_path; /* source as the container sees the machine, not as the daemon does */
};

/* A tmpfs that all containers of the pod find at path, itself a folder of the machine. */
struct pod_memory {
    const char *path;
    int64_t limit_bytes; /* 0: the kernel's default */
    uint32_t group;      /* group of new files; 0: that of their creator */
};

/* The program's user. In a user namespace: as seen from inside. */
struct container_identity {
    bool wanted; /* false: the daemon's */
    uint32_t uid, gid;
    const uint32_t *groups;
    size_t groups_len;
};

/* What the program may do beyond its user's rights. */
struct container_rights {
    bool privileged;       /* sees the machine's /dev, /proc and /sys */
    bool read_only_root;   /* except for volumes, /dev and /proc */
    bool no_new_privs;     /* programs it executes gain no privileges */
    bool filtered;         /* some system calls are blocked (rights.h) */
    bool bounded;          /* false: it may have all of the daemon's capabilities */
    uint64_t capabilities; /* upper bound, as a mask of CAP_... bits */
};

enum probe_kind { PROBE_NONE, PROBE_EXEC, PROBE_HTTP, PROBE_TCP, PROBE_SLEEP };
enum probe_purpose { PROBE_STARTUP, PROBE_LIVENESS, PROBE_READINESS, PROBE_PURPOSES };

enum hook_purpose { HOOK_POST_START, HOOK_PRE_STOP, HOOK_PURPOSES };

/* A probe, or a hook at a container's start or end. All seconds but the delay are at least 1. */
struct probe_start {
    enum probe_kind kind;
    const char *const *argv; /* PROBE_EXEC */
    const char *host;        /* PROBE_HTTP, PROBE_TCP: an address; "": only the pod's own ports */
    int64_t port;
    const char *path;      /* PROBE_HTTP: as in the request line */
    const char *headers;   /* PROBE_HTTP: complete lines including Host, each with its CRLF */
    int64_t delay_seconds; /* PROBE_SLEEP uses nothing else */
    int64_t period_seconds, timeout_seconds;
    int64_t success_threshold, failure_threshold;
    int64_t grace_seconds; /* for ending the container on failure; -1: the pod's */
};

struct container_start {
    const char *name;
    bool init;
    bool stdin_open, stdin_once, tty; /* see runtime/console.h */
    /* Not 0: the program is in the namespaces of this one (exec.h) instead of its own. */
    int64_t join_pid, join_ticks;
    bool message_from_log_on_error; /* without a message, use the end of its log */
    const char *message_path;       /* where the program writes why it ended */
    const char *message_file;       /* the machine's file behind that path, or NULL */
    /* Appended to the last output of a failed program that reports a permission error, or something
     * missing; or NULL. */
    const char *denied_note, *missing_note;
    struct probe_start probes[PROBE_PURPOSES];
    struct probe_start hooks[HOOK_PURPOSES];
    const struct container_mount *mounts;
    size_t mounts_len;
    const char *scratch; /* an empty folder to build the mounts in; NULL: no mounts */
    /* The folder of an unpacked image (runtime/image_store.h), whose files are its root; NULL: the
     * machine's are. What it changes in them is kept in the folder layer until its next start. */
    const char *image, *layer;
    const char *image_id; /* its name and digest, for the pod's status; NULL without an image */
    struct container_identity identity;
    struct container_rights rights;
    const char *gpus;   /* numbers of the GPUs whose devices it sees, like "0,2"; NULL: all */
    const char *hidden; /* a folder hidden from it, which is reason enough to contain it; or NULL */
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated; the complete environment */
    const char *cwd;
    int64_t open_files; /* soft limit of open files; 0: the daemon's */
    struct container_limits limits;
    const char *const *cgroups; /* the runtime's own: folders of control groups to enter, or NULL */
};

/* Whether a container that has ended is restarted. */
enum pod_restart { POD_RESTART_NEVER, POD_RESTART_ON_FAILURE, POD_RESTART_ALWAYS };

struct pod_start {
    const char *ns, *name, *uid;
    int64_t revision;  /* of the API's pod; 0: unknown */
    const char *owner; /* UID of the object its logs are accounted to, or NULL */
    int64_t attempt;   /* the owner's own count of its pods of this name; -1: none */
    enum pod_restart restart;
    int64_t log_file_bytes, log_files;        /* per run of a container; 0: no limit */
    const struct container_start *containers; /* init containers first, in order */
    size_t containers_len;
    int64_t grace_seconds;  /* when the pod is ended other than by stop() */
    const char *hosts_path; /* a file mounted as /etc/hosts, or NULL */
    const char *hostname;   /* NULL: name */
    const struct pod_memory *memory;
    size_t memory_len;
};

struct runtime_ops {
    /* Starts; on_change reports the outcome. -EEXIST when this pod was ever started before. */
    int (*start)(struct runtime *r, const struct pod_start *pod, struct err *err);
    /* TERM now, KILL after grace_seconds. Of repeated calls the earliest end counts. No-op when
     * dead. */
    int (*stop)(struct runtime *r, const char *uid, int64_t grace_seconds, struct err *err);
    /* NULL when unknown. Valid until the next turn of the loop. */
    const struct pod_run *(*find)(struct runtime *r, const char *uid);
    /* Every pod held in memory: started here, or found and not unloaded. fn must not start, find,
     * rest or remove any. */
    void (*each)(struct runtime *r, void (*fn)(void *arg, const struct pod_run *run), void *arg);
    /* The UID of every pod with anything left, loaded or not: after a restart none is loaded, and
     * nothing is reported about it, until find is called for it. The same rules for fn. */
    void (*each_uid)(struct runtime *r, void (*fn)(void *arg, const char *uid), void *arg);
    /* Unloads a dead pod: it takes no memory until it is looked up again. */
    void (*rest)(struct runtime *r, const char *uid);
    /* Forgets a dead pod, keeping its logs. -EBUSY while it is alive. */
    int (*remove)(struct runtime *r, const char *uid, struct err *err);
    /* Whether pods can have their own hosts file. */
    bool (*has_mounts)(struct runtime *r);
    /* Leaves the pods running. */
    void (*free)(struct runtime *r);
};

struct runtime {
    const struct runtime_ops *ops;
    /* Set by the owner before the loop runs. Called on the loop thread, never from inside an op. */
    void (*on_change)(void *arg, const char *uid);
    void *on_change_arg;
    const char *limits_problem; /* why limits are not enforced; NULL: they are, or it is unknown */
};

#endif
