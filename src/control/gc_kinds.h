/*
 * gc_kinds.h - the kinds the garbage collector knows: those compiled in, and those that
 * CustomResourceDefinitions install. No I/O.
 *
 * Records and calls under way point at kinds, so an installed one stays until the end. The same one
 * installed again is the same pointer: what is kept is bounded by how many different ones there
 * were.
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
/* The kind under which a definition's objects are followed; NULL: it is compiled in, nothing of it
 * is served, or there is no memory for it. */
const struct kind *gc_kinds_install(struct gc_kinds *all, const struct json *definition);
/* The kind an owner reference means. A kind is the same in all its versions. NULL: not known. */
const struct kind *gc_kinds_of_owner(const struct gc_kinds *all, const struct json *reference);

#endif
