/*
 * fields_v1.h - sets of fields in the form of metadata.managedFields (FieldsV1): a tree of objects
 * whose keys name members ("f:NAME"), elements of keyed lists ("k:{KEYS}") and elements of sets
 * ("v:VALUE"). "." stands for the node itself where it has children. An empty node is a leaf.
 */
#ifndef MUSTER_API_FIELDS_V1_H
#define MUSTER_API_FIELDS_V1_H

#include "api/kind.h"

/* A keyed list with more elements counts as a single field. */
#define FIELDS_LIST_LIMIT 4096u

struct field_view;

/* Whether elements of this list are separate fields: all have a key, and it is unique. */
bool fields_v1_is_keyed(const struct field_view *view, const struct json *list);
struct json *fields_v1_of(struct arena *a, const struct field_view *view, const struct json *v);
/* The value below v that a key refers to, or NULL. */
struct json *fields_v1_child(struct arena *a, const char *key, struct json *v);
/* ".name", "[name=\"a\"]", "[=\"x\"]" */
void fields_v1_write_step(struct arena *a, const char *key, struct buf *out);

static inline bool fields_v1_is_leaf(const struct json *node)
{
    return json_len(node) == 0;
}

#endif
