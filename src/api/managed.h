/*
 * managed.h - metadata.managedFields: which manager set which fields. Clients see a list with
 * FieldsV1. In memory each value knows its owners (objects/fields_v1.h), and a string in place of
 * the list names the managers. Both are stored as one short text beside the object.
 */
#ifndef MUSTER_API_MANAGED_H
#define MUSTER_API_MANAGED_H

#include "api/apply_merge.h"

#define MANAGED_LIMIT 16u    /* managers of one object */
#define MANAGED_LIMIT_MIB 4u /* of their list, which each apply reads */

/* Whether a list may be kept. */
bool managed_fits(const struct json *list);

/* An object's list, NULL if too long; the second writes it as JSON without building it. */
struct json *managed_list(struct arena *a, const struct kind *k,
                          const struct json *object) must_check;
void managed_write(struct buf *out, struct arena *a, const struct kind *k,
                   const struct json *object);
/* Replaces the object's managers by those of the list, with the fields that the object has. False:
 * the list is malformed or too long, and nothing was changed. */
bool managed_take(struct arena *a, const struct kind *k, struct json *object,
                  const struct json *list) must_check;

bool managed_is_empty(const struct json *object);
void managed_clear(struct json *object);
bool managed_is_same(struct arena *a, const struct kind *k, const struct json *x,
                     const struct json *y);
/* Replaces the managers by the list. */
void managed_show(struct arena *a, const struct kind *k, struct json *object);

/* Sets the managers of next after a write other than apply that changed old (NULL at creation). A
 * write without a manager only takes fields away from others. */
void managed_track(struct arena *a, const struct apply *update, const struct json *old,
                   struct json *next);

/* The stored text, "" without managers; has neither quotation marks nor backslashes. */
void managed_store(struct buf *out, struct json *object);
void managed_load(struct arena *a, struct json *object, const char *text, size_t len);

#endif
