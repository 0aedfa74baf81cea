/*
 * volumes.h - a pod's spec.volumes and volumeMounts become sources on this machine and mounts for
 * the runtime. Sources are made here; mounting is the runtime's (runtime/rootfs.h).
 *
 * What a volume of files holds is what the objects held when the pod was started.
 */
#ifndef MUSTER_AGENT_VOLUMES_H
#define MUSTER_AGENT_VOLUMES_H

#include "agent/claims.h"
#include "agent/identity.h"
#include "agent/pod_env.h"

struct volume_places {
    const struct claims *claims;
    const char *node_name;
    const char *scratch;  /* one folder per pod UID: what lives and dies with the pod */
    const char *obstacle; /* why nothing can be mounted here, or NULL */
    const struct identity_machine *machine;
    const char *token;  /* of the pod's service account, or NULL */
    bool gives_account; /* the token is also where the pod does not mount it */
    const char *ca_pem; /* beside it: who vouches for the API server, or NULL */
    const char *start;  /* an empty folder: where programs start that do not say where */
};

/* What volumes need of the API: adds to list, each object once. */
void volumes_add_refs(struct arena *a, const struct json *pod, struct pod_ref **list);

/* What a claim of a cluster needs in turn, when it has come: its volume, and for that the
 * Node, whose labels say whether it is the volume's. */
void volumes_add_claim_refs(struct arena *a, const struct pod_ref *r, const char *node_name,
                            struct pod_ref **list);

/* For who adds to a pod's containers: a copy that replaces them. NULL: out of memory, as err says.
 */
struct container_start *container_starts_copy(struct arena *a, struct pod_start *start,
                                              struct err *err);
void container_mount_add(struct arena *a, struct container_start *c,
                         const struct container_mount *mount);

/* Fills the mounts of start's containers. An error is about the pod's configuration and may pass.
 */
int volumes_prepare(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                    const struct volume_places *places, struct pod_start *start,
                    const struct start_note **notes, struct err *err) must_check;

/* Writes places->token, a new one, where a pod that runs has the old one. */
int volumes_renew_token(struct arena *a, const struct json *pod, const struct volume_places *places,
                        struct err *err) must_check;

#endif
