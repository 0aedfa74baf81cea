/*
 * agent.h - the node agent: makes this machine a Node and runs the pods bound to it. A client of
 * the API and of nothing else; killed and started again it goes on with the processes that are
 * there.
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
                                   (what dies with a pod) are made beside it */
    const char *const *volumes; /* claims and their folders (claims.h), or NULL */
    /* The server may be a cluster's, with claims and volumes of its own: it is asked whose it is.
     */
    bool asks_server;
    const char *node_name;           /* NULL: the host's name */
    const char *program;             /* run as `program supervise <folder>`; NULL: this program */
    const char *small_program;       /* the same of fewer pages, tried first; may be NULL */
    int64_t cpu_milli, memory_bytes; /* that pods may ask for; 0: what the machine has */
    const uint64_t *gpus;            /* that pods may use, by index; NULL: all */
    int64_t gpu_shares;              /* of each GPU that is shared; 0: none is */
    const uint64_t *shared_gpus;     /* of those pods may use; NULL: all */
    int64_t log_bytes;               /* of one run of a container; 0: PROCESS_LOG_BYTES */
    const char *server; /* its address, for pods that have a service account; NULL: no tokens */
    const char *ca_pem; /* who vouches for it; NULL: the machine's authorities */
    /* Where this node's pods are asked for, over HTTPS (door/kubelet.h), and who vouches for it;
     * port 0: nowhere. */
    const char *door_host, *door_ca_pem;
    unsigned door_port;
    struct runtime *runtime; /* NULL: host processes. One given is not freed by the agent */
};

struct agent;

/* Starts at once and goes on by itself, also while the API cannot be reached. */
struct agent *agent_new(const struct agent_options *options, struct err *err) must_check;
/* Before the transport; not from inside one of its calls. Pods go on running. */
void agent_free(struct agent *a);

/* As its Node is called. */
const char *agent_node_name(const struct agent *a);

/* The pods bound to this machine, as last heard. Valid until the next turn of the loop. */
const struct json *agent_find_pod(const struct agent *a, const char *ns, const char *name);
void agent_each_pod(const struct agent *a, bool (*fn)(void *arg, const struct json *pod),
                    void *arg);

/* The folder of a claim, made if need be (claims.h), in the arena. */
/* Looks at every pod once more: for want of memory something may not have been heard. */
void agent_look_again(struct agent *agent);
int agent_claim_folder(const struct agent *agent, struct arena *a, const char *ns,
                       const char *claim, const char **ret, struct err *err) must_check;

/* Whether a pod is bound to this machine. It is not known before the first list of them. */
bool agent_knows_pods(const struct agent *a);
bool agent_has_pod(const struct agent *a, const char *ns, const char *name, const char *uid);

#endif
