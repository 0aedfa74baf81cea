/* status.h - struct err as a Kubernetes Status, and back. */
#ifndef MUSTER_API_STATUS_H
#define MUSTER_API_STATUS_H

#include "api/kind.h"

/* kind and name fill details; both may be NULL. details.kind is the plural, but the Kind for
 * Invalid. The hint is appended to the message after "; ". */
struct json *status_from_err(struct arena *a, const struct err *e, const struct kind *k,
                             const char *name);
/* Of an answer's body that is a Status (or anything else: then the HTTP code decides). Sets err. */
void status_to_err(int http_code, const char *body, size_t len, struct err *err);

#endif
