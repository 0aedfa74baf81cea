/*
 * volumes.h - turns a pod's spec.volumes and volumeMounts into sources on this machine and mounts
 * for the runtime. Sources are prepared here; the runtime mounts them (runtime/rootfs.h).
 */
#ifndef MUSTER_AGENT_VOLUMES_H
#define MUSTER_AGENT_VOLUMES_H

#include "agent/claims.h"
#include "agent/identity.h"
#include "agent/pod_env.h"

struct volume_places {
    const struct claims *claims;
    const char *node_name;
    const char *scratch;  /* one folder per pod UID, deleted with the pod */
    const char *obstacle; /* why mounts are impossible here, or NULL */
    const struct identity_machine *machine;
    const char *token;  /* of the pod's service account, or NULL */
    bool gives_account; /* also for a pod that does not mount the token */
    const char *ca_pem; /* the API server's CA next to it, or NULL */
    const char *start;  /* the start folder of programs without one */
};

/* Adds the API objects that volumes need to list, each once. */
void volumes_add_refs(struct arena *a, const struct json *pod, struct pod_ref **list);

/* What a bound claim needs in turn: its volume, and the Node, whose labels decide whether the
 * volume is usable there. */
void volumes_add_claim_refs(struct arena *a, const struct pod_ref *r, const char *node_name,
                            struct pod_ref **list);

/* Replaces the containers by a copy that may be changed. NULL: out of memory, with err set. */
struct container_start *container_starts_copy(struct arena *a, struct pod_start *start,
                                              struct err *err);
void container_mount_add(struct arena *a, struct container_start *c,
                         const struct container_mount *mount);

/* Fills in the mounts of start's containers. An error concerns the pod's configuration and may be
 * temporary. */
int volumes_prepare(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                    const struct volume_places *places, struct pod_start *start,
                    const struct start_note **notes, struct err *err) must_check;

/* Brings the files of ConfigMaps, Secrets and fields up to date in a running pod. */
int volumes_renew_files(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                        const struct volume_places *places, struct err *err) must_check;
/* Writes places->token over the old one in a running pod. */
int volumes_renew_token(struct arena *a, const struct json *pod, const struct volume_places *places,
                        struct err *err) must_check;

#endif
