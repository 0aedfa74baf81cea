/*
 * fields_v1.h - sets of fields. For server-side apply they are trees in the form of FieldsV1:
 * objects whose keys name members ("f:NAME"), elements of keyed lists ("k:{KEYS}") and of sets
 * ("v:VALUE"); "." stands for the node itself where it has children; an empty node is a leaf.
 *
 * Everywhere else they are text, a third as long and made without a tree: nodes with "," between
 * them, children in "(" and ")". A member is its name, an element of a keyed list "!{'name':'c'}",
 * of a set "='x'"; "'" stands for the quotation mark, and "%XX" for what means something else here.
 */
#ifndef MUSTER_API_FIELDS_V1_H
#define MUSTER_API_FIELDS_V1_H

#include "api/kind.h"

/* A keyed list with more elements counts as a single field. */
#define FIELDS_LIST_LIMIT 1024u

struct field_view;

/* Whether elements of this list are separate fields: all have a key, and it is unique. */
bool fields_v1_is_keyed(const struct field_view *view, const struct json *list);
/* The value below v that a key refers to, or NULL. */
struct json *fields_v1_child(struct arena *a, const char *key, struct json *v);
/* ".name", "[name=\"a\"]", "[=\"x\"]" */
void fields_v1_write_step(struct arena *a, const char *key, struct buf *out);

static inline bool fields_v1_is_leaf(const struct json *node)
{
    return json_len(node) == 0;
}

/* --- as text --- */

/* What an object sets: of its metadata what names it is left out, and apiVersion and kind. */
struct fields_part {
    const struct kind *kind;
    bool status; /* only that; otherwise all but it, where the kind has a status of its own */
    bool nodes;  /* also nodes that have children, as writes other than apply own them */
};

void fields_write(struct buf *out, const struct fields_part *part, const struct json *object);
/* What was is not as it is in is, and what only was has. */
void fields_diff(struct buf *changed, struct buf *gone, const struct fields_part *part,
                 const struct json *was, const struct json *is);

/* Tree and back; false or NULL: malformed, or out of memory. */
struct json *fields_unpack(struct arena *a, const char *text, size_t len) must_check;
bool fields_pack(struct buf *out, const struct json *tree) must_check;
/* The tree's JSON, without making it. */
void fields_expand(struct buf *out, const char *text, size_t len);

#endif
