/*
 * field_view.h - what a kind's table says about a value, following it down from the object. Where
 * the table says nothing the view is FIELD_ANY.
 */
#ifndef MUSTER_API_FIELD_VIEW_H
#define MUSTER_API_FIELD_VIEW_H

#include "api/kind.h"

struct field_view {
    enum field_type type;
    const struct field *field;         /* of this value, or of the list it is an element of; NULL:
                                        * none */
    const struct field *fields, *more; /* FIELD_OBJECT: its members; may be NULL */
};

struct field_view field_view_of_kind(const struct kind *k);
/* The view of an object's member or a map's value. */
struct field_view field_view_member(const struct field_view *v, const char *key, size_t len);
/* The view of a list's element. */
struct field_view field_view_item(const struct field_view *v);

/* The member by which patches merge this list of objects; NULL: they do not. */
const char *field_view_merge_key(const struct field_view *v);
/* The second member by which server-side apply tells its elements apart, or NULL. */
const char *field_view_second_key(const struct field_view *v);
/* A list of scalars that patches add to. */
bool field_view_is_set(const struct field_view *v);

#endif
