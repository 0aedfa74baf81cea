/*
 * last_applied.h - the annotation in which `kubectl apply` keeps what a file said, byte by byte as
 * kubectl writes it: what `muster run` makes, `kubectl apply` of the same file finds unchanged, and
 * the other way round.
 */
#ifndef MUSTER_CLI_LAST_APPLIED_H
#define MUSTER_CLI_LAST_APPLIED_H

#include "base/json.h"

#define ANNOTATION_LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* Puts what the file said into object's annotations. */
void last_applied_set(struct arena *a, struct json *object, const struct json *said);
/* Whether found is what the file says: it says the same as at the last time, and found (which has
 * more: defaults, status) still has all of config, which is the file as the server reads it. */
bool last_applied_is_current(struct arena *a, const struct json *found, const struct json *said,
                             const struct json *config);
/* Makes patch also remove what the file said the last time and says no more. */
void last_applied_add_removals(struct arena *a, struct json *patch, const struct json *found,
                               const struct json *said);

#endif
