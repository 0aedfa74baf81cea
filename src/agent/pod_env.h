/*
 * pod_env.h - from a pod's spec to what is run: arguments, environment, folder. Pure: what it needs
 * of the machine and of the API is handed to it.
 */
#ifndef MUSTER_AGENT_POD_ENV_H
#define MUSTER_AGENT_POD_ENV_H

#include "agent/identity.h"
#include "agent/pod_resources.h"
#include "api/kind.h"
#include "port/runtime.h"

/* A ConfigMap, Secret, claim or its volume, or the Node, that a pod's environment and volumes are
 * made of. */
struct pod_ref {
    struct pod_ref *next;
    const struct kind *kind;
    const char *name;
    bool asked;                /* the API has answered */
    const struct json *object; /* NULL: there is none */
};

/* Every one once, in the arena. */
struct pod_ref *pod_refs(struct arena *a, const struct json *pod);
/* Unless it is there, or has no name. */
void pod_ref_add(struct arena *a, struct pod_ref **list, const struct kind *k, const char *name);

/* What the pod's author may want to know. Strings are in the arena. */
struct start_note {
    const struct start_note *next;
    const char *reason, *message;
    bool warning;
    bool of_job; /* the pods of a job say it once, and name the event by its subject */
    const char *subject;
    const char *claim; /* the object of this claim is missing; or NULL */
};

void start_note_add(struct arena *a, const struct start_note **list, const struct start_note *note);

struct pod_machine {
    char *const *env;         /* the daemon's own environment */
    const char *hidden;       /* the daemon's own folder, when containers are not to see it */
    const char *host_address; /* put in place of Service names where pods cannot resolve them; NULL:
                                 they can */
    const char *address;      /* of its pods, which share its network */
    bool has_gpus;
    struct identity_machine users;
    const char *exe;            /* MUSTER_EXE, or NULL */
    const char *server, *token; /* MUSTER_SERVER and MUSTER_TOKEN of the pod's account, or NULL */
    const char *ca_pem;         /* MUSTER_CA beside them, or NULL */
    struct pod_allocatable allocatable; /* what limits that are not set mean */
    uint64_t open_files;                /* as in container_start */
    int64_t replicas; /* of the pod's job on this machine, itself too; 0: it has none */
};

/* Everything is in the arena or the pod. An error is about the pod's configuration and may pass
 * (a ConfigMap can still come). hosts_path is left NULL, and cwd of containers that are to start in
 * a folder of their own. */
int pod_start_build(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                    const struct pod_machine *machine, struct pod_start *ret,
                    const struct start_note **notes, struct err *err) must_check;

#endif
