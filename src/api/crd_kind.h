/* crd_kind.h - kinds made of a CustomResourceDefinition, and what its status says. */
#ifndef MUSTER_API_CRD_KIND_H
#define MUSTER_API_CRD_KIND_H

#include "api/kind.h"

/* The kinds it installs, one for each version that is served; ends with NULL. All they point at is
 * in the arena. NULL when the arena failed. */
const struct kind **crd_kinds(struct arena *a, const struct json *crd) must_check;
/* Sets NamesAccepted, Established and acceptedNames; conflict: why not, or NULL. */
void crd_set_status(struct arena *a, struct json *crd, const char *conflict, int64_t now_ms);
/* storedVersions: the storage version is one from now on. */
void crd_note_storage(struct arena *a, struct json *crd);

#endif
