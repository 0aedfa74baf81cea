/*
 * gc.h - the garbage collector. Deletes objects whose owners are all gone, and carries out the two
 * finalizers that order a deletion: foregroundDeletion (dependents first) and orphan (dependents
 * stay). For every kind marked collected in its table, and every installed one.
 */
#ifndef MUSTER_CONTROL_GC_H
#define MUSTER_CONTROL_GC_H

#include "control/trouble.h"
#include "port/clock.h"
#include "port/transport.h"

struct gc;

struct gc *gc_new(struct transport *t, struct clock *clock, struct trouble *trouble) must_check;
void gc_free(struct gc *gc);

#endif
