/*
 * field_view.h - what a kind's table, or an installed kind's schema, says about a value, step by
 * step from the whole object down. Where nothing is said the view is FIELD_ANY.
 */
#ifndef MUSTER_API_FIELD_VIEW_H
#define MUSTER_API_FIELD_VIEW_H

#include "api/kind.h"

struct field_view {
    enum field_type type;
    const struct field *field;         /* whose value this is, or an element of; NULL: no field */
    const struct field *fields, *more; /* FIELD_OBJECT: its members; may be NULL */
    const struct json *schema;         /* of an installed kind; NULL: none */
};

#define FIELD_VIEW_KEYS 8u /* of a list; further ones are not looked at */

struct field_view field_view_of_kind(const struct kind *k);
/* Of a member of an object, or of a value of a map. */
struct field_view field_view_member(const struct field_view *v, const char *key, size_t len);
/* Of an element of a list. */
struct field_view field_view_item(const struct field_view *v);

/* The members by which elements of a list of objects are told apart: the first by patches, all by
 * server-side apply. 0: the list is one value. */
size_t field_view_keys(const struct field_view *v, const char *keys[FIELD_VIEW_KEYS]);
/* What a missing key of an element counts as, as JSON in the arena; NULL: nothing. */
struct json *field_view_key_default(struct arena *a, const struct field_view *list,
                                    const char *key) must_check;
/* An object that is one value: who sets any of it sets all of it. */
bool field_view_is_atomic(const struct field_view *v);
/* A list of plain values to which patches add. */
bool field_view_is_set(const struct field_view *v);

#endif
