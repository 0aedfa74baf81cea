/* table.h - meta.k8s.io Tables, which kubectl prints. */
#ifndef MUSTER_API_TABLE_H
#define MUSTER_API_TABLE_H

#include "api/kind.h"

enum table_include { TABLE_INCLUDE_METADATA, TABLE_INCLUDE_OBJECT, TABLE_INCLUDE_NONE };

/* An empty table: kind, apiVersion ("meta.k8s.io/v1"), metadata {}, columnDefinitions, rows []. */
struct json *table_new(struct arena *a, const struct kind *k, bool with_columns);
void table_add_row(struct arena *a, struct json *table, const struct kind *k,
                   const struct json *object, enum table_include include, int64_t now_ms);
/* The same row as text, of an object with k->row_parts at least. It has cells in a. */
void table_write_row(struct buf *out, struct arena *a, const struct kind *k,
                     const struct json *object, enum table_include include, int64_t now_ms);
/* One cell of the object's row. */
struct json *table_cell(struct arena *a, const struct kind *k, const char *column,
                        const struct json *object, int64_t now_ms);
/* The text of a cell as kubectl would print it; for our CLI. */
const char *table_cell_text(struct arena *a, const struct json *cell);

#endif
