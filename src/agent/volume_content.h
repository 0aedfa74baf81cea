/*
 * volume_content.h - writes the files of volumes made from API objects: ConfigMaps, Secrets, fields
 * of the pod, the service account, and several of them in one folder (projected).
 */
#ifndef MUSTER_AGENT_VOLUME_CONTENT_H
#define MUSTER_AGENT_VOLUME_CONTENT_H

#include "agent/pod_env.h"

/* A file or folder at the top of a volume. */
struct volume_name {
    struct volume_name *next;
    const char *text;
    size_t len;
};

struct volume_content {
    struct arena *arena;
    const struct json *pod;
    const struct pod_ref *refs;
    const char *token;         /* of the service account, or NULL */
    const char *ca_pem;        /* of the API server, or NULL */
    int dir_fd;                /* where the files are written */
    uint32_t group;            /* may read them; 0: none */
    bool renews;               /* of a running pod, whose tokens stay as they are */
    struct volume_name *names; /* ret: what was written */
};

/* kind: "configMap", "secret", "downwardAPI", "projected" (source is their value in the volume) or
 * "serviceAccount". */
int volume_content_write(struct volume_content *c, const char *kind, const struct json *source,
                         struct err *err) must_check;
/* Adds the objects it will need, if any. */
void volume_content_refs(struct arena *a, const char *kind, const struct json *source,
                         struct pod_ref **list);

/* Whether volumes of this kind are made of API objects. */
bool volume_content_is(const char *kind);

/* The object of a reference, or NULL. */
const struct json *volume_ref(const struct pod_ref *refs, const struct kind *kind,
                              const char *name);

/* Where every pod finds its token, and client libraries look for it. */
#define ACCOUNT_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"
#define ACCOUNT_TOKEN "token"
int volume_content_token(int dir_fd, const char *path, const char *token, uint32_t group,
                         struct err *err) must_check;

#endif
