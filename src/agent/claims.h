/*
 * claims.h - on our own server, PersistentVolumeClaims are folders of this machine:
 * <root>/<namespace>/<name>, or the target of a link of that name (`muster up --volume`). A claim
 * gets its folder when it is applied or when a pod first uses it, and an annotation says where
 * (muster.dev/path). Folders are never deleted: they contain the results of training.
 *
 * On a cluster a claim is the PersistentVolume it is bound to (volumes.c), and nothing is created
 * or written here.
 */
#ifndef MUSTER_AGENT_CLAIMS_H
#define MUSTER_AGENT_CLAIMS_H

#include "base/json.h"
#include "port/clock.h"
#include "port/transport.h"

struct claims;

enum claims_keeper {
    CLAIMS_UNKNOWN, /* the server has not identified itself yet */
    CLAIMS_OURS,
    CLAIMS_CLUSTERS
};

struct claims_options {
    struct transport *transport;
    struct clock *clock;
    const char *root;
    const char *const *mapped; /* "NAME=DIR" or "NAMESPACE/NAME=DIR", NULL-terminated; or NULL */
    bool asks_server;          /* otherwise the claims are ours */
};

struct claims *claims_new(const struct claims_options *options, struct err *err) must_check;
void claims_free(struct claims *c);

enum claims_keeper claims_keeper(const struct claims *c);
/* The folder, created if necessary; a path without links, in the arena. */
int claims_folder(const struct claims *c, struct arena *a, const char *ns, const char *name,
                  const char **ret, struct err *err) must_check;
/* Another namespace in which a claim of this name is mapped to a user's folder; NULL: none. */
const char *claims_mapped_elsewhere(const struct claims *c, struct arena *a, const char *ns,
                                    const char *name);
/* Also creates the object, for a pod that uses a claim that was never applied. */
void claims_create(struct claims *c, const char *ns, const char *name);

#endif
