/* columns.h - cells that several kinds print alike. */
#ifndef MUSTER_API_COLUMNS_H
#define MUSTER_API_COLUMNS_H

#include "api/kind.h"

/* Age since creation as the real server renders it: "<unknown>" when there is no time. */
struct json *column_age(struct arena *a, const struct json *object, int64_t now_ms);
/* "45s" since the time, "<unknown>" for 0. */
struct json *column_since(struct arena *a, int64_t ms, int64_t now_ms);
/* A copy of a non-empty string, else NULL (prints <none>). */
struct json *column_string(struct arena *a, const struct json *v);
/* "a=b,c=d", or NULL when empty. */
struct json *column_map(struct arena *a, const struct json *map);

/* clang-format off */
/* After the doc come any further members of struct column. */
#define COLUMN(n, t, d, ...) {.name = (n), .type = (t), .doc = (d), ##__VA_ARGS__}
/* clang-format on */
#define COLUMN_NAME                                                                                \
    COLUMN("Name", "string", "Name must be unique within a namespace.", .path = ".metadata.name",  \
           .format = "name")
#define COLUMN_AGE                                                                                 \
    COLUMN("Age", "string", "Time since the object was created.",                                  \
           .path = ".metadata.creationTimestamp", .render = column_age)

#endif
