/*
 * traits.h - what selectors need of a stored object: its labels, and the values of its kind's
 * selectable fields. Extracted from the bytes once and kept with them (blob.h, note), for all
 * watchers of a change and all later lists; smaller than the object, and freed with it.
 */
#ifndef MUSTER_SERVER_TRAITS_H
#define MUSTER_SERVER_TRAITS_H

#include "api/selector.h"
#include "base/blob.h"

struct traits;

/* scratch is reset. NULL: not available (another version of stored objects, out of memory): parse
 * the object. */
const struct traits *traits_of(const struct kind *k, struct blob *b, struct arena *scratch);
bool traits_match(const struct traits *t, const struct label_selector *labels,
                  const struct field_selector *fields);

#endif
