/*
 * last_applied.h - `kubectl apply`'s annotation with the file's contents, byte by byte as kubectl
 * writes it: so `kubectl apply` of a file finds what `muster run` created unchanged, and the other
 * way round.
 */
#ifndef MUSTER_CLI_LAST_APPLIED_H
#define MUSTER_CLI_LAST_APPLIED_H

#include "base/json.h"

#define ANNOTATION_LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* Adds the file's contents to object's annotations. */
void last_applied_set(struct arena *a, struct json *object, const struct json *said);
/* Whether found matches the file: the file is the same as last time, and found (which has more:
 * defaults, status) still contains all of config, which is the file as the server decodes it. */
bool last_applied_is_current(struct arena *a, const struct json *found, const struct json *said,
                             const struct json *config);
/* Makes patch also remove what was in the file last time and no longer is. */
void last_applied_add_removals(struct arena *a, struct json *patch, const struct json *found,
                               const struct json *said);

#endif
