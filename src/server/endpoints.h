/* endpoints.h - Endpoints and EndpointSlices, computed rather than stored. */
#ifndef MUSTER_SERVER_ENDPOINTS_H
#define MUSTER_SERVER_ENDPOINTS_H

#include "base/map.h"
#include "port/node.h"
#include "server/request.h"

extern const struct kind kind_endpoints, kind_endpoint_slice;

bool endpoints_are(const struct kind *k); /* either of the two */
/* GET of one or many, or a watch, for the request's route. */
int endpoints_answer(struct server_request *r, struct err *err) must_check;

/* Computes all objects of a kind from Services and pods (key -> blob): fn gets each one,
 * without a resourceVersion, in an arena that is reset afterwards, and returns negative when
 * out of memory. */
typedef int endpoints_fn(void *arg, struct arena *a, struct json *object);
int endpoints_each(const struct kind *k, const struct map *services, const struct map *pods,
                   endpoints_fn *fn, void *arg, struct err *err) must_check;
/* A ready pod of this machine behind a service's port, given by number, and its own port. The
 * strings are in the request's arena. */
int endpoints_choose(struct server_request *r, const char *ns, const char *name, int64_t port,
                     struct node_pod *ret, unsigned *ret_port, struct err *err) must_check;
void endpoints_stamp(struct arena *a, struct json *object, int64_t revision);

#endif
