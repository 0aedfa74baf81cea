/* status.h - struct err as a Kubernetes Status, and back. */
#ifndef MUSTER_API_STATUS_H
#define MUSTER_API_STATUS_H

#include "api/kind.h"

/* kind and name fill details; both may be NULL. details.kind is the plural, except for Invalid,
 * where it is the Kind. The hint is appended to the message after "; ". */
struct json *status_from_err(struct arena *a, const struct err *e, const struct kind *k,
                             const char *name);
/* Sets err from the body of an answer that is a Status; otherwise from the HTTP code. */
void status_to_err(int http_code, const char *body, size_t len, struct err *err);

#endif
