/*
 * identity.h - whose a container's program is: runAsUser, runAsGroup, supplementalGroups, fsGroup
 * and runAsNonRoot of the pod and the container. Root can make it anybody's. An ordinary user can
 * only give himself another number (a user namespace), which is what programs look at.
 */
#ifndef MUSTER_AGENT_IDENTITY_H
#define MUSTER_AGENT_IDENTITY_H

#include "base/json.h"
#include "port/runtime.h"

/* What the machine says of a user. Strings are in the arena. */
struct identity_user {
    const char *name, *home; /* "" and one of ours when it does not know him */
    uint32_t gid;
    const uint32_t *groups;
    size_t groups_len;
};

struct identity_machine {
    uint32_t uid, gid;     /* the daemon's own */
    uint64_t capabilities; /* the daemon's own */
    const char *home;      /* of who has none in passwd; NULL: / */
    const char *obstacle;  /* why there are no user namespaces, or NULL: there are */
    /* false: no such user. NULL: nobody is known. */
    bool (*find_user)(struct arena *a, uint32_t uid, struct identity_user *ret);
};

struct identity {
    struct container_identity id;
    const char *name, *home; /* for USER and HOME; NULL: as the daemon has them */
};

int identity_of(struct arena *a, const struct json *pod, const struct json *container,
                const struct identity_machine *m, struct identity *ret, struct err *err) must_check;
/* The group that is to own the pod's volumes; 0: nobody asked, or we cannot. */
uint32_t identity_volume_group(const struct json *pod, const struct identity_machine *m);

/* The daemon's own, with the machine's passwd and group files. */
bool identity_find_user(struct arena *a, uint32_t uid, struct identity_user *ret);

#endif
