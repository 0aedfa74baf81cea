/*
 * identity.h - the user of a container's program: runAsUser, runAsGroup, supplementalGroups,
 * fsGroup and runAsNonRoot of pod and container. Root can use any. An ordinary user can only assume
 * another number (in a user namespace), which is what programs look at.
 */
#ifndef MUSTER_AGENT_IDENTITY_H
#define MUSTER_AGENT_IDENTITY_H

#include "base/json.h"
#include "port/runtime.h"

/* The machine's entry for a user. Strings are in the arena. */
struct identity_user {
    const char *name, *home; /* "" and a default if unknown */
    uint32_t gid;
    const uint32_t *groups;
    size_t groups_len;
};

struct identity_machine {
    uint32_t uid, gid;     /* the daemon's own */
    uint64_t capabilities; /* the daemon's own */
    const char *home;      /* for users without one in passwd; NULL: / */
    const char *obstacle;  /* why there are no user namespaces; NULL: there are */
    /* False: no such user. NULL: none are known. */
    bool (*find_user)(struct arena *a, uint32_t uid, struct identity_user *ret);
};

struct identity {
    struct container_identity id;
    const char *name, *home; /* for USER and HOME; NULL: the daemon's */
};

int identity_of(struct arena *a, const struct json *pod, const struct json *container,
                const struct identity_machine *m, struct identity *ret, struct err *err) must_check;
/* In an image, by the rules of Kubernetes: user is the image's own, "" for root, in any of its
 * forms (1000, app, app:users, 1000:1000); root_fd is the image's root folder. */
int identity_of_image(struct arena *a, const struct json *pod, const struct json *container,
                      const struct identity_machine *m, const char *user, int root_fd,
                      struct identity *ret, struct err *err) must_check;
/* The group that should own the pod's volumes; 0: none requested, or impossible. */
uint32_t identity_volume_group(const struct json *pod, const struct identity_machine *m);

/* The default, from the machine's passwd and group files. */
bool identity_find_user(struct arena *a, uint32_t uid, struct identity_user *ret);

#endif
