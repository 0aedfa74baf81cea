/* columns.h - cells shared by several kinds. */
#ifndef MUSTER_API_COLUMNS_H
#define MUSTER_API_COLUMNS_H

#include "api/kind.h"

/* Age since creation; "<unknown>" without a creation time. */
struct json *column_age(struct arena *a, const struct json *object, int64_t now_ms);
/* "45s" since the time, "<unknown>" for 0. */
struct json *column_since(struct arena *a, int64_t ms, int64_t now_ms);
/* A copy of a non-empty string, else NULL (prints <none>). */
struct json *column_string(struct arena *a, const struct json *v);
/* "a=b,c=d", or NULL when empty. */
struct json *column_map(struct arena *a, const struct json *map);

/* clang-format off */
/* Further members of struct column follow the doc. */
#define COLUMN(n, t, d, ...) {.name = (n), .type = (t), .doc = (d), ##__VA_ARGS__}
/* clang-format on */
#define COLUMN_NAME                                                                                \
    COLUMN("Name", "string", "Name must be unique within a namespace.", .path = ".metadata.name",  \
           .format = "name")
#define COLUMN_AGE                                                                                 \
    COLUMN("Age", "string", "Time since the object was created.",                                  \
           .path = ".metadata.creationTimestamp", .render = column_age)

#endif
