/*
 * field_view.h - what a kind's table, or an installed kind's schema, says about a value, following
 * it down from the object. Where they say nothing the view is FIELD_ANY.
 */
#ifndef MUSTER_API_FIELD_VIEW_H
#define MUSTER_API_FIELD_VIEW_H

#include "api/kind.h"

struct field_view {
    enum field_type type;
    const struct field *field;         /* of this value, or of the list it is an element of; NULL:
                                        * none */
    const struct field *fields, *more; /* FIELD_OBJECT: its members; may be NULL */
    const struct json *schema;         /* of an installed kind; NULL: none */
};

#define FIELD_VIEW_KEYS 8u /* per list; further ones are ignored */

struct field_view field_view_of_kind(const struct kind *k);
/* The view of an object's member or a map's value. */
struct field_view field_view_member(const struct field_view *v, const char *key, size_t len);
/* The view of a list's element. */
struct field_view field_view_item(const struct field_view *v);

/* The members that identify elements of a list of objects: patches use the first, server-side apply
 * all of them. 0: the list is one value. */
size_t field_view_keys(const struct field_view *v, const char *keys[FIELD_VIEW_KEYS]);
/* The default of a missing key, in the arena; NULL: none. */
struct json *field_view_key_default(struct arena *a, const struct field_view *list,
                                    const char *key) must_check;
/* An object that is one field: its managers own all of it. */
bool field_view_is_atomic(const struct field_view *v);
/* A list of scalars that patches add to. */
bool field_view_is_set(const struct field_view *v);

#endif
