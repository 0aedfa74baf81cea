/*
 * pod_env.h - from a pod's spec to what is run: arguments, environment, folder. Pure: what it needs
 * from the machine and the API is passed in.
 */
#ifndef MUSTER_AGENT_POD_ENV_H
#define MUSTER_AGENT_POD_ENV_H

#include "agent/identity.h"
#include "agent/pod_resources.h"
#include "api/kind.h"
#include "port/runtime.h"
#include "runtime/image_store.h"

/* A ConfigMap, Secret, claim or its volume, or the Node, needed for a pod's environment and
 * volumes. */
struct pod_ref {
    struct pod_ref *next;
    const struct kind *kind;
    const char *name;
    bool asked;                /* the API has answered */
    const struct json *object; /* NULL: it does not exist */
};

/* Each one once, in the arena. */
struct pod_ref *pod_refs(struct arena *a, const struct json *pod);
/* Unless present already, or without a name. */
void pod_ref_add(struct arena *a, struct pod_ref **list, const struct kind *k, const char *name);

/* Something the pod's author may want to know. Strings are in the arena. */
struct start_note {
    const struct start_note *next;
    const char *reason, *message;
    bool warning;
    bool of_job; /* reported once for a job's pods, with the event named after its subject */
    const char *subject;
    const char *claim; /* the claim whose object is missing, or NULL */
};

void start_note_add(struct arena *a, const struct start_note **list, const struct start_note *note);

struct pod_machine {
    char *const *env;         /* the daemon's own environment */
    const char *hidden;       /* the daemon's own folder, if it must be hidden from containers */
    const char *host_address; /* replaces Service names where pods cannot resolve them; NULL: they
                               * can */
    const char *address;      /* of its pods: they share its network */
    bool has_gpus;
    struct identity_machine users;
    const struct image *images; /* of the containers, init containers first; NULL: none are used */
    const char *exe;            /* MUSTER_EXE, or NULL */
    const char *server, *token; /* MUSTER_SERVER and MUSTER_TOKEN for the pod's account, or NULL */
    const char *ca_pem;         /* MUSTER_CA for them, or NULL */
    struct pod_allocatable allocatable; /* stands in for limits that are not set */
    uint64_t open_files;                /* see container_start */
    int64_t replicas; /* of the pod's job on this machine, itself included; 0: no job */
};

/* Everything is in the arena or the pod. An error concerns the pod's configuration and may be
 * temporary (a ConfigMap may still be created). hosts_path stays NULL, and so does cwd of
 * containers that start in a folder of their own. */
int pod_start_build(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                    const struct pod_machine *machine, struct pod_start *ret,
                    const struct start_note **notes, struct err *err) must_check;

#endif
