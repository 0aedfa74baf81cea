/* child.h - an object that another owns and controls. Pure. */
#ifndef MUSTER_CORE_CHILD_H
#define MUSTER_CORE_CHILD_H

#include "api/kind.h"

/* With name, namespace and owner, but without labels or spec. */
struct json *child_new(struct arena *a, const struct kind *kind, const char *name,
                       const struct kind *owner_kind, const struct json *owner);

#endif
