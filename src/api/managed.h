/*
 * managed.h - metadata.managedFields, of which each write adds to or takes from. The server keeps
 * and stores them as one short text (a string in place of the list); clients are shown the list.
 *
 * The text: entries with "|" between them, each "manager;operation;subresource;apiVersion;time;"
 * and its fields (objects/fields_v1.h).
 */
#ifndef MUSTER_API_MANAGED_H
#define MUSTER_API_MANAGED_H

#include "base/json.h"

/* The text of a list, in the arena; NULL: it is malformed, or out of memory. */
const char *managed_pack(struct arena *a, const struct json *list) must_check;
/* The list of a text. Entries that cannot be read are left out. */
struct json *managed_unpack(struct arena *a, const char *text, size_t len) must_check;
/* The same as JSON, without making the list. */
void managed_write(struct buf *out, const char *text, size_t len);

/* The text an object has in place of the list; "" without one. */
const char *managed_text(const struct json *object);
void managed_set_text(struct arena *a, struct json *object, const char *text);
/* Makes it the list again, or the list the text. */
void managed_show(struct arena *a, struct json *object);
void managed_hide(struct arena *a, struct json *object);

#endif
