/* patch.h - RFC 7386 merge patch. (JSON patch and strategic merge come with their issue.) */
#ifndef MUSTER_API_PATCH_H
#define MUSTER_API_PATCH_H

#include "base/json.h"

/* The patched copy of target; neither input changes. NULL when the arena failed. */
struct json *patch_merge(struct arena *a, const struct json *target,
                         const struct json *patch) must_check;

#endif
