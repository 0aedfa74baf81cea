/*
 * managed.h - metadata.managedFields: which manager set which fields. Clients see a list with
 * FieldsV1; in memory the fields' values know their owners (objects/fields_v1.h) and a string in
 * place of the list has the managers; stored, both are one short text beside the object.
 */
#ifndef MUSTER_API_MANAGED_H
#define MUSTER_API_MANAGED_H

#include "api/apply_merge.h"

#define MANAGED_LIMIT 16u /* managers of one object */

/* The list of an object; as JSON, without building it. */
struct json *managed_list(struct arena *a, const struct kind *k,
                          const struct json *object) must_check;
void managed_write(struct buf *out, struct arena *a, const struct kind *k,
                   const struct json *object);
/* The object's managers are those of the list from now on, with the fields that it has. False: it
 * is malformed or too long, and nothing has happened. */
bool managed_take(struct arena *a, const struct kind *k, struct json *object,
                  const struct json *list) must_check;

bool managed_is_empty(const struct json *object);
void managed_clear(struct json *object);
/* Replaces the managers by the list. */
void managed_show(struct arena *a, const struct kind *k, struct json *object);

/* The managers of next after a write other than apply changed old, which is NULL at creation. A
 * write without a manager only takes fields away. */
void managed_track(struct arena *a, const struct apply *update, const struct json *old,
                   struct json *next);

/* The stored text, "" without managers; has neither quotation marks nor backslashes. */
void managed_store(struct buf *out, struct json *object);
void managed_load(struct arena *a, struct json *object, const char *text, size_t len);

#endif
