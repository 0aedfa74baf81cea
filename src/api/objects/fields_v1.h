/*
 * fields_v1.h - which manager owns which fields of an object. A field is a value below the object,
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
#include "base/json_finder.h"
#include "base/map.h"

#define FIELDS_OWNERS 16u /* bits of json.owners */
/* A keyed list with more elements counts as a single field. */
#define FIELDS_LIST_LIMIT 1024u

struct field_view;

/* The part of an object that a write concerns. */
struct fields_part {
    const struct kind *kind;
    bool status; /* only the status; otherwise everything else, if the kind has a status
                  * subresource */
    bool nodes;  /* also nodes that have children, as writes other than apply own them */
};

/* Makes owner the only owner of the part; everything else has none. */
void fields_mark(const struct fields_part *part, struct json *object, uint16_t owner);
/* Copies the owners of unchanged fields from was to is, and makes owner the only owner of fields of
 * the part that changed. Returns whether any did. */
bool fields_follow(struct arena *a, const struct fields_part *part, const struct json *was,
                   struct json *is, uint16_t owner) must_check;

uint16_t fields_owners(struct json *object); /* of any field */
void fields_map_owners(struct json *object, uint16_t to[FIELDS_OWNERS]);
void fields_disown(struct json *object);

/* An owner's fields as FieldsV1, and the reverse; fields that the object lacks are left out. */
void fields_show(struct buf *out, const struct kind *k, const struct json *object, uint16_t owner);
void fields_match(struct arena *a, const struct kind *k, struct json *object,
                  const struct json *tree, uint16_t owner);
bool fields_is_tree(const struct json *v);

/* In a short encoding that is meaningful only together with the same object. */
void fields_store(struct buf *out, struct json *object, uint16_t owner);
void fields_load(struct json *object, const char *text, size_t len, uint16_t owner);

/* --- trees --- */

/* Whether elements of this list are separate fields: all have a key, and it is unique. */
bool fields_v1_is_keyed(const struct field_view *view, const struct json *list);
/* The values below one that keys of a tree refer to, found in linear time altogether. */
struct fields_v1_children {
    struct json_finder members;
    struct json *list;
    struct map elements;     /* by their keys, of a long list */
    const struct json *keys; /* that the map is by; for a set, its first value */
};

struct fields_v1_children fields_v1_children(struct arena *a, struct json *v);
struct json *fields_v1_child(struct fields_v1_children *c, const struct json *node); /* or NULL */
void fields_v1_drop(struct fields_v1_children *c, struct json *child);
void fields_v1_end(struct fields_v1_children *c);
/* ".name", "[name=\"a\"]", "[=\"x\"]" */
void fields_v1_write_step(struct arena *a, const char *key, struct buf *out);

static inline bool fields_v1_is_leaf(const struct json *node)
{
    return json_len(node) == 0;
}

#endif
