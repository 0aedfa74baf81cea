/*
 * traits.h - what selectors ask of a stored object: its labels, and the values of the fields its
 * kind can be selected by. Taken out of the bytes once and kept beside them (blob.h, note), for all
 * watchers of a change and all later lists; less than the object itself, and gone with it.
 */
#ifndef MUSTER_SERVER_TRAITS_H
#define MUSTER_SERVER_TRAITS_H

#include "api/selector.h"
#include "base/blob.h"

struct traits;

/* scratch is reset. NULL: there are none to be had (another face of stored objects, no memory):
 * look at the object. */
const struct traits *traits_of(const struct kind *k, struct blob *b, struct arena *scratch);
bool traits_match(const struct traits *t, const struct label_selector *labels,
                  const struct field_selector *fields);

#endif
