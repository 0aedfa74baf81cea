/*
 * app_place.h - the program behind a path, and the rights its use needs: an app (core/app.h) at
 * PATH/NAMESPACE/NAME/, any port of a pod at /app/NAMESPACE/pods/NAME/PORT/, and the subresource
 * `proxy` of pods and services in the API.
 */
#ifndef MUSTER_CONSOLE_APP_PLACE_H
#define MUSTER_CONSOLE_APP_PLACE_H

#include "core/app.h"
#include "net/mount.h"

#define APP_PORT_PREFIX "/app"
#define APP_API_PREFIX "/api/v1"

struct app_place {
    const struct app_kind *kind; /* NULL: a port of a pod */
    bool api;                    /* the proxy subresource */
    bool service;                /* of a service: port_text is one of its ports */
    const char *ns, *name;
    const char *asked;     /* the subresource's object as in the path, for rights */
    const char *port_text; /* "": the only one, or the first that the pod declares */
    unsigned port;         /* 0: see port_text */
    const char *url;       /* the prefix of its own addresses, as the client sees them */
    const char *rest;      /* of the path, after that prefix */
};

/* Whether a path of the API is that of a proxy subresource. */
bool app_place_is_proxy(const char *path);
/* 404 for a path that is none of these. */
int app_place_parse(struct arena *a, const char *path, struct app_place *ret,
                    struct err *err) must_check;
/* 403 if the caller may not use it. */
int app_place_check_rights(const struct app_place *place, const struct mount_request *m,
                           struct err *err) must_check;
/* Whether a segment is "." or "..", also as %2e: it would leave the program's own address. */
bool app_place_has_dots(const char *path);
/* 0: not the number of a port. */
unsigned app_place_port(const char *text);

#endif
