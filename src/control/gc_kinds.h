/*
 * gc_kinds.h - the kinds the garbage collector knows: built in, and installed by
 * CustomResourceDefinitions. No I/O.
 *
 * Records and calls point at kinds, so an installed one is never freed. Installing the same one
 * again yields the same pointer: memory is bounded by the number of different ones.
 */
#ifndef MUSTER_CONTROL_GC_KINDS_H
#define MUSTER_CONTROL_GC_KINDS_H

#include "api/kind.h"

struct gc_kind;

struct gc_kinds {
    struct gc_kind *installed;
    size_t installed_len;
};

void gc_kinds_release(struct gc_kinds *all);
/* The kind under which a definition's objects are followed; NULL: built in, not served, or out of
 * memory. */
const struct kind *gc_kinds_install(struct gc_kinds *all, const struct json *definition);
/* The kind of an owner reference, regardless of version. NULL: unknown. */
const struct kind *gc_kinds_of_owner(const struct gc_kinds *all, const struct json *reference);

#endif
