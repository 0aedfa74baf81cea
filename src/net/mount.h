/*
 * mount.h - paths served beside the API on the same port (curves, TensorBoard, the console). The
 * front has checked host, origin and token already; what the caller may do is asked here.
 */
#ifndef MUSTER_NET_MOUNT_H
#define MUSTER_NET_MOUNT_H

#include "net/httpd.h"

struct json;
struct transport;

/* As whom a caller's pods run in a namespace. */
struct mount_user {
    bool wanted; /* false: as the daemon itself */
    uint32_t uid, gid;
};

struct mount_request {
    struct httpd_request *http;
    /* As the API would decide for the caller; plural may be "pods/exec"; name "" for a collection.
     * Only until the request is answered. */
    bool (*may)(const struct mount_request *r, const char *verb, const char *group,
                const char *plural, const char *ns, const char *name);
    /* A transport to the API with the requester's rights, the caller's to free; NULL when out of
     * memory or when nobody is signed in. */
    struct transport *(*transport)(const struct mount_request *r);
    /* ERR_FORBIDDEN for who may not run commands in this pod, whom it runs as considered: what
     * needs create on pods/exec besides. Only until the request is answered. */
    int (*enter)(const struct mount_request *r, const struct json *pod, struct err *err);
    /* Only until the request is answered. */
    int (*pod_user)(const struct mount_request *r, const char *ns, struct mount_user *ret,
                    struct err *err);
    uint64_t session; /* of the browser that asks (net/sessions.h); 0: none */
    const char *user; /* whose part it takes of what has a ceiling; "" for the owner's */
};

/* Must have http answered once, now or later. r lives until then where its functions do. */
typedef void mount_fn(void *arg, const struct mount_request *r);

#endif
