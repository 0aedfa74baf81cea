/* table.h - meta.k8s.io Tables, which kubectl prints. */
#ifndef MUSTER_API_TABLE_H
#define MUSTER_API_TABLE_H

#include "api/kind.h"
#include "base/blob.h"

enum table_include { TABLE_INCLUDE_METADATA, TABLE_INCLUDE_OBJECT, TABLE_INCLUDE_NONE };

/* columnDefinitions */
struct json *table_columns(struct arena *a, const struct kind *k);
/* Writes one of rows. With text, from which the object was skimmed, the object needs no more than
 * k->row_parts. The cells are in a. */
void table_write_row(struct buf *out, struct arena *a, const struct kind *k,
                     const struct json *object, const struct blob *text, enum table_include include,
                     int64_t now_ms);
/* One cell of the object's row. */
struct json *table_cell(struct arena *a, const struct kind *k, const char *column,
                        const struct json *object, int64_t now_ms);
/* The text of a cell as kubectl would print it; for our CLI. */
const char *table_cell_text(struct arena *a, const struct json *cell);

#endif
