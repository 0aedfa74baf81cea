/*
 * fields_v1.h - which fields of an object belong to whom. A field is a value below the object,
 * except apiVersion, kind and the part of metadata that identifies the object; its owners are bits
 * in the value itself (json.owners), so they follow it wherever it is moved or copied.
 *
 * Clients see the fields of one owner as FieldsV1, a tree: objects whose keys name members
 * ("f:NAME"), elements of keyed lists ("k:{KEYS}") and of sets ("v:VALUE"); "." stands for the node
 * itself where it has children; an empty node is a leaf. Server-side apply works on such trees.
 */
#ifndef MUSTER_API_FIELDS_V1_H
#define MUSTER_API_FIELDS_V1_H

#include "api/kind.h"

#define FIELDS_OWNERS 16u /* bits of json.owners */
/* A keyed list with more elements counts as a single field. */
#define FIELDS_LIST_LIMIT 1024u

struct field_view;

/* The part of an object that a write is about. */
struct fields_part {
    const struct kind *kind;
    bool status; /* only that; otherwise all but it, where the kind has a status of its own */
    bool nodes;  /* also nodes that have children, as writes other than apply own them */
};

/* Gives the part to owner alone, and the rest to nobody. */
void fields_mark(const struct fields_part *part, struct json *object, uint16_t owner);
/* Gives fields of is the owners they had in was, and those of the part that changed to owner alone.
 * Returns whether any did. */
bool fields_follow(const struct fields_part *part, const struct json *was, struct json *is,
                   uint16_t owner) must_check;

uint16_t fields_owners(struct json *object); /* of any field */
void fields_map_owners(struct json *object, uint16_t to[FIELDS_OWNERS]);
void fields_disown(struct json *object);

/* An owner's fields as FieldsV1, and back; what the object does not have is left out. */
void fields_show(struct buf *out, const struct kind *k, const struct json *object, uint16_t owner);
void fields_match(const struct kind *k, struct json *object, const struct json *tree,
                  uint16_t owner);
bool fields_is_tree(const struct json *v);

/* As a few letters and digits, which mean something only together with the same object. */
void fields_store(struct buf *out, struct json *object, uint16_t owner);
void fields_load(struct json *object, const char *text, size_t len, uint16_t owner);

/* --- trees --- */

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

#endif
