/*
 * mount.h - paths served on the API's port (curves, TensorBoard, the console). Host, origin and
 * token are already checked; handlers check what the caller may do.
 */
#ifndef MUSTER_NET_MOUNT_H
#define MUSTER_NET_MOUNT_H

#include "net/httpd.h"

struct json;
struct transport;

/* The user a caller's pods run as in a namespace. */
struct mount_user {
    bool wanted; /* false: as the daemon itself */
    uint32_t uid, gid;
};

struct mount_request {
    struct httpd_request *http;
    /* The API's decision for the caller; plural may be "pods/exec"; name "" for a collection. Valid
     * until the request is answered. */
    bool (*may)(const struct mount_request *r, const char *verb, const char *group,
                const char *plural, const char *ns, const char *name);
    /* A transport to the API with the caller's rights, to be freed by the callee; NULL when out of
     * memory or not signed in. */
    struct transport *(*transport)(const struct mount_request *r);
    /* ERR_FORBIDDEN if the caller may not run commands in this pod, considering the user it runs
     * as; in addition to create on pods/exec. Valid until the request is answered. */
    int (*enter)(const struct mount_request *r, const struct json *pod, struct err *err);
    /* Valid until the request is answered. */
    int (*pod_user)(const struct mount_request *r, const char *ns, struct mount_user *ret,
                    struct err *err);
    uint64_t session; /* the browser's (net/sessions.h); 0: none */
    const char *user; /* whose share of limited resources it uses; "" for the owner */
};

/* Must answer http once, now or later. r is valid until then where its functions are. */
typedef void mount_fn(void *arg, const struct mount_request *r);

#endif
