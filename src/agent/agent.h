/*
 * agent.h - the node agent: makes this machine a Node and runs the pods bound to it. It is a client
 * of the API and nothing else; after a kill and restart it continues with the running processes.
 */
#ifndef MUSTER_AGENT_AGENT_H
#define MUSTER_AGENT_AGENT_H

#include "base/json.h"
#include "loop/loop.h"
#include "port/runtime.h"
#include "port/transport.h"

struct agent_options {
    struct loop *loop;
    struct transport *transport;
    const char *pod_root;       /* one folder per pod; hosts/, logs/, volumes/ (claims) and scratch/
                                 * (deleted with a pod) are created next to it */
    const char *const *volumes; /* claims and their folders (claims.h), or NULL */
    /* The server may be a cluster's, with its own claims and volumes: ask it. */
    bool asks_server;
    const char *node_name;              /* NULL: the host's name */
    const struct json *labels, *taints; /* of its Node (agent/node.h); they outlive the agent */
    const char *program;             /* run as `program supervise <folder>`; NULL: this program */
    const char *small_program;       /* a smaller build of it, tried first; may be NULL */
    int64_t cpu_milli, memory_bytes; /* available to pods; 0: all of the machine's */
    const uint64_t *gpus;            /* available to pods, by index; NULL: all */
    int64_t gpu_shares;              /* per shared GPU; 0: none are shared */
    const uint64_t *shared_gpus;     /* among those available; NULL: all */
    bool in_image;                   /* pods run in their images unless they say otherwise */
    int64_t image_bytes;             /* of all unpacked images together; 0: no limit */
    int64_t log_bytes;               /* per run of a container; 0: PROCESS_LOG_BYTES */
    const char *server; /* address given to pods with a service account; NULL: no tokens */
    const char *ca_pem; /* its CA; NULL: the machine's authorities */
    /* The HTTPS endpoint of this node's pods (door/kubelet.h), and its CA; port 0: none. */
    const char *door_host, *door_ca_pem;
    unsigned door_port;
    /* The newest write of the server's database when that was opened, before any other; 0: not
     * known. */
    int64_t opened_revision;
    struct runtime *runtime; /* NULL: host processes. One given is not freed by the agent */
};

struct agent;

/* Starts at once and keeps going, even while the API is unreachable. */
struct agent *agent_new(const struct agent_options *options, struct err *err) must_check;
/* Before the transport; not from inside one of its callbacks. Pods keep running. */
void agent_free(struct agent *a);

/* The name of its Node. */
const char *agent_node_name(const struct agent *a);

/* The pods bound to this machine, as last reported. Valid until the next turn of the loop. */
const struct json *agent_find_pod(const struct agent *a, const char *ns, const char *name);
void agent_each_pod(const struct agent *a, bool (*fn)(void *arg, const struct json *pod),
                    void *arg);

/* The folder of a claim, created if necessary (claims.h), in the arena. */
/* Looks at every pod again: an event may have been missed for lack of memory. */
void agent_look_again(struct agent *agent);
int agent_claim_folder(const struct agent *agent, struct arena *a, const char *ns,
                       const char *claim, const char **ret, struct err *err) must_check;

/* Whether pods are known; false before their first list. */
bool agent_knows_pods(const struct agent *a);
bool agent_has_pod(const struct agent *a, const char *ns, const char *name, const char *uid);
/* Whether pods have host names of their own; otherwise the machine's. */
bool agent_names_pods(const struct agent *a);

#endif
