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
    bool ready, started; /* running, and as its probes say */
    enum container_phase phase;
    int64_t pid;         /* of the main process; 0 when it was never started */
    int64_t start_ticks; /* the kernel's start time of pid: tells a reused pid */
    int64_t started_ms, finished_ms;
    int exit_code; /* 128 + signal when a signal ended it */
    int signal;
    bool by_itself;     /* nobody had told it to end */
    const char *reason; /* "Completed", "Error", "StartError", "SupervisorLost"; waiting:
                           "CrashLoopBackOff" */
    const char *message;
    int64_t restart_count;
    const struct container_state *last; /* how it ended before it was restarted; NULL: it was not */
};

/* Something of the pod's life that is worth an event. */
struct pod_note {
    int64_t number; /* grows by one with each */
    bool warning;
    const char *reason, *message;
};

#define POD_NOTES_LIMIT 16 /* the newest are kept */

struct pod_run {
    const char *ns, *name, *uid;
    const char *owner; /* as in pod_start */
    int64_t attempt;
    const struct pod_note *notes;
    size_t notes_len;
    /* Something of the pod may still be running or be started. Only a pod that is not alive can be
     * removed, and it stays dead. */
    bool alive;
    bool known; /* containers[] is filled; not yet so while a start is under way */
    struct container_state *containers;
    size_t containers_len;
};

#define POD_CONTAINERS_LIMIT 64

/* 0: not said. */
struct container_limits {
    int64_t cpu_milli, cpu_request_milli;
    int64_t memory_bytes;
};

#define POD_MOUNTS_LIMIT 256 /* of one container */
#define POD_GROUPS_LIMIT 64  /* of one container */

/* What a container sees at a path of its own, in place of what the machine has there. */
struct container_mount {
    const char *source;   /* a folder or file of the machine, absolute */
    const char *sub_path; /* only this of it, or NULL; made as a folder when it is missing */
    const char *target;   /* absolute; need not exist on the machine, and is not made there */
    const char *volume;   /* its name, for messages */
    bool read_only;
    bool host_path; /* of the machine as the container sees it, not as the daemon does */
};

/* A folder in memory that all containers of the pod find at path, itself a folder of the machine.
 */
struct pod_memory {
    const char *path;
    int64_t limit_bytes; /* 0: the kernel's own */
    uint32_t group;      /* new files belong to it; 0: to who makes them */
};

/* Who the program is. In a user namespace: as who it sees itself. */
struct container_identity {
    bool wanted; /* false: who the daemon is */
    uint32_t uid, gid;
    const uint32_t *groups;
    size_t groups_len;
};

/* What the program may do beyond what its user may. */
struct container_rights {
    bool privileged;       /* sees the machine's own /dev, /proc and /sys */
    bool read_only_root;   /* but for volumes, /dev and /proc */
    bool no_new_privs;     /* no program it executes has more rights than itself */
    bool filtered;         /* some system calls are refused (rights.h) */
    bool bounded;          /* false: it may have the capabilities that the daemon has */
    uint64_t capabilities; /* the most that it may have; CAP_... are the numbers of the bits */
};

enum probe_kind { PROBE_NONE, PROBE_EXEC, PROBE_HTTP, PROBE_TCP, PROBE_SLEEP };
enum probe_purpose { PROBE_STARTUP, PROBE_LIVENESS, PROBE_READINESS, PROBE_PURPOSES };

enum hook_purpose { HOOK_POST_START, HOOK_PRE_STOP, HOOK_PURPOSES };

/* How a container is asked whether it is well, or what is done to it at its start and end. Seconds
 * are at least 1, but for the delay. */
struct probe_start {
    enum probe_kind kind;
    const char *const *argv; /* PROBE_EXEC */
    const char *host; /* PROBE_HTTP, PROBE_TCP: an address; "": the pod's own ports, no other's */
    int64_t port;
    const char *path;      /* PROBE_HTTP: as a request line has it */
    const char *headers;   /* PROBE_HTTP: whole lines, Host included, each with its CRLF */
    int64_t delay_seconds; /* PROBE_SLEEP: that is all */
    int64_t period_seconds, timeout_seconds;
    int64_t success_threshold, failure_threshold;
    int64_t grace_seconds; /* when it ends the container; -1: the pod's */
};

struct container_start {
    const char *name;
    bool init;
    bool message_from_log_on_error; /* when it left no message: the end of its log */
    const char *message_path;       /* where the program is to say why it ended */
    const char *message_file;       /* which file of the machine that is; or NULL */
    /* Added to the last words of one that failed, when they say that it was denied something, or
     * that something is not there; or NULL. */
    const char *denied_note, *missing_note;
    struct probe_start probes[PROBE_PURPOSES];
    struct probe_start hooks[HOOK_PURPOSES];
    const struct container_mount *mounts;
    size_t mounts_len;
    const char *scratch; /* an empty folder to build them in; NULL: there are none */
    struct container_identity identity;
    struct container_rights rights;
    const char
        *hidden; /* a folder it is not to see, and the reason to contain it at all; or NULL */
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated; all there is */
    const char *cwd;
    int64_t open_files; /* how many the program may have at first; 0: as many as the daemon */
    struct container_limits limits;
    const char *const *cgroups; /* the runtime's own: folders the program enters, or NULL */
};

/* Whether a container that has ended is run again. */
enum pod_restart { POD_RESTART_NEVER, POD_RESTART_ON_FAILURE, POD_RESTART_ALWAYS };

struct pod_start {
    const char *ns, *name, *uid;
    const char *owner; /* the UID of what its logs are counted with, or NULL */
    int64_t attempt;   /* which one of its owner's, by its own count; -1: it has none */
    enum pod_restart restart;
    int64_t log_file_bytes, log_files;        /* of one run of a container; 0: no limit */
    const struct container_start *containers; /* init containers first, in order */
    size_t containers_len;
    int64_t grace_seconds;  /* when something other than stop() asks the pod to end */
    const char *hosts_path; /* a file the pod sees as /etc/hosts, or NULL */
    const char *hostname;   /* NULL: name */
    const struct pod_memory *memory;
    size_t memory_len;
};

struct runtime_ops {
    /* Begins; on_change reports the outcome. -EEXIST when the pod was started before, ever.
     */
    int (*start)(struct runtime *r, const struct pod_start *pod, struct err *err);
    /* TERM now, KILL after grace_seconds. Asked again, the earlier end counts. No-op when dead. */
    int (*stop)(struct runtime *r, const char *uid, int64_t grace_seconds, struct err *err);
    /* NULL when unknown. Valid until the next turn of the loop. */
    const struct pod_run *(*find)(struct runtime *r, const char *uid);
    /* Every pod that is held: started here, or found and not put to rest. fn may not start, find,
     * rest or remove any. */
    void (*each)(struct runtime *r, void (*fn)(void *arg, const struct pod_run *run), void *arg);
    /* The UID of every pod of which anything is left, held or not: after a restart none is held,
     * and nothing is reported of it, before it was asked for with find. fn as of each. */
    void (*each_uid)(struct runtime *r, void (*fn)(void *arg, const char *uid), void *arg);
    /* A dead pod is not held any more, and takes no memory, until it is asked for again. */
    void (*rest)(struct runtime *r, const char *uid);
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
    const char *limits_problem; /* why limits are not enforced; NULL: they are, or nobody can say */
};

#endif
