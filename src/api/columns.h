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

#define COLUMN_NAME                                                                                \
    {                                                                                              \
        .name = "Name", .type = "string", .format = "name",                                        \
        .doc = "Name must be unique within a namespace.", .path = ".metadata.name"                 \
    }
#define COLUMN_AGE                                                                                 \
    {                                                                                              \
        .name = "Age", .type = "string", .doc = "Time since the object was created.",              \
        .path = ".metadata.creationTimestamp", .render = column_age                                \
    }

#endif
