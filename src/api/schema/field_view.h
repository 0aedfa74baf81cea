/*
 * field_view.h - what a kind's table says about a value, step by step from the whole object down.
 * Where a table says nothing the view is FIELD_ANY.
 */
#ifndef MUSTER_API_FIELD_VIEW_H
#define MUSTER_API_FIELD_VIEW_H

#include "api/kind.h"

struct field_view {
    enum field_type type;
    const struct field *field;         /* whose value this is, or an element of; NULL: no field */
    const struct field *fields, *more; /* FIELD_OBJECT: its members; may be NULL */
};

struct field_view field_view_of_kind(const struct kind *k);
/* Of a member of an object, or of a value of a map. */
struct field_view field_view_member(const struct field_view *v, const char *key, size_t len);
/* Of an element of a list. */
struct field_view field_view_item(const struct field_view *v);

/* A list of objects whose elements patches merge by this member; NULL: it is not one. */
const char *field_view_merge_key(const struct field_view *v);
/* The other member server-side apply tells its elements apart by; NULL: there is none. */
const char *field_view_second_key(const struct field_view *v);
/* A list of plain values to which patches add. */
bool field_view_is_set(const struct field_view *v);

#endif
