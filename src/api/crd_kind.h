/* crd_kind.h - kinds defined by a CustomResourceDefinition, and its status. */
#ifndef MUSTER_API_CRD_KIND_H
#define MUSTER_API_CRD_KIND_H

#include "api/kind.h"

/* The kinds it defines, one per served version; NULL-terminated. All memory is in the arena. NULL
 * when the arena failed. */
const struct kind **crd_kinds(struct arena *a, const struct json *crd) must_check;
/* Sets NamesAccepted, Established and acceptedNames; conflict: why the names are refused, or
 * NULL. */
void crd_set_status(struct arena *a, struct json *crd, const char *conflict, int64_t now_ms);
/* Adds the storage version to storedVersions. */
void crd_note_storage(struct arena *a, struct json *crd);

#endif
