/* agent_internal.h - shared by the agent's own files: the agent and its work on one pod. */
#ifndef MUSTER_AGENT_AGENT_INTERNAL_H
#define MUSTER_AGENT_AGENT_INTERNAL_H

#include "agent/agent.h"
#include "agent/claims.h"
#include "agent/hosts.h"
#include "agent/node.h"
#include "agent/pod_env.h"
#include "agent/pod_images.h"
#include "agent/pod_sync.h"
#include "base/map.h"
#include "client/cache.h"
#include "client/queue.h"

#define AGENT_COMPONENT "muster-agent"

struct agent {
    struct loop *loop;
    struct clock *clock;
    struct transport *transport;
    struct machine machine;
    char *node_name, *pod_root, *pods_query;
    char *exe;    /* our own binary, for pods that run it */
    char *server; /* NULL: pods get no tokens */
    char *ca_pem;
    char *door_host, *door_ca_pem; /* as in agent.h */
    unsigned door_port;
    struct runtime *runtime;
    bool owns_runtime;
    struct hosts *hosts;
    struct samples *samples;         /* with our own runtime; otherwise NULL */
    struct disk_limits *disk_limits; /* likewise */
    struct claims *claims;
    struct images *images;
    bool in_image;           /* pods, unless they say otherwise */
    struct scratch *scratch; /* one folder per pod: volumes deleted with it */
    char *folder;            /* the data folder that contains all this */
    char *start;             /* the start folder of programs without one */
    struct node_keeper *node;
    struct cache *pods, *services;
    struct queue *queue;
    struct map works;    /* "namespace/name/uid" -> pod_work */
    char *in_doubt;      /* why new pods wait for one that cannot be asked for; NULL: none does */
    struct map departed; /* UIDs of pods only this machine has, not processed yet */
    int64_t opened_revision; /* as in agent.h, until the first list */
    int64_t revision;        /* departed pods of a later one are newer than the database */
    bool knows_folders;      /* departed has been filled for the list under way */
    struct clock_timer *next_departed;
    struct clock_timer
        *again; /* an event was missed for lack of memory: every pod is looked at again */
    struct pod_work *awaiting; /* waiting for a Service or for room */
    uint64_t said[1024];       /* hashes of the names of events sent last; a ring */
    size_t said_next;
};

/* What the agent knows about a pod besides cache and runtime; kept while either has it. */
struct pod_work {
    struct agent *agent;
    char *key; /* "namespace/name/uid" */
    char *ns, *name, *uid;
    int64_t seen_ms;
    int64_t stop_grace;                            /* last passed to the runtime; -1: none */
    struct pod_work *next_awaiting, **at_awaiting; /* at is NULL: not waiting */
    int64_t start_after_ms;                        /* for the next start */
    int64_t said_note;
    uint64_t complained; /* hash of what was logged last */
    int64_t complained_ms;
    char *over_limit; /* why it is evicted, or NULL (disk_limits.c) */
    struct arena refs_arena;
    struct pod_ref *refs; /* fetched for the current start */
    char *token;          /* the same (pod_token.c) */
    int64_t token_due_ms; /* when the token in a running pod's files must be renewed; 0: unknown */
    void (*on_token)(struct pod_work *w, const struct err *err);
    struct arena files_arena; /* pod_files.c */
    struct pod_ref *files_refs;
    int64_t files_due_ms, files_delay_ms;
    unsigned failed_starts;
    struct pod_images images; /* pulled for it */
    unsigned failed_pulls;
    char *pull_problem; /* of the last pull, while the next one is waited for; or NULL */
    bool awaits_image;
    bool gone;  /* according to the API */
    bool newer; /* unknown to the API, and not to be ended (newer.h) */
    bool said_started;
    bool delete_next; /* after the status being written */
    bool refs_known, token_asked, files_asked;
    bool no_disk_limits, no_gpus; /* its spec was seen to want none */
};

/* pod_work.c: advances the pod by one step; calls queue_done when it is over. */
void pod_work_begin(struct pod_work *w);
void pod_work_free(struct pod_work *w);

/* agent.c */
void agent_forget_pod(struct pod_work *w);                                          /* frees it */
struct pod_work *agent_find_work(const struct agent *a, const struct pod_run *run); /* or NULL */
/* Whether to process it when a Service of its namespace appears or a run ends. */
void agent_await(struct pod_work *w, bool awaits);

#endif
