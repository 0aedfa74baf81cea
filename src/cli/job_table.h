/* job_table.h - jobs as a table, as `muster ps` and `muster ui` show them. */
#ifndef MUSTER_CLI_JOB_TABLE_H
#define MUSTER_CLI_JOB_TABLE_H

#include "base/buf.h"
#include "base/json.h"

/* Columns that are not always there; most are added when a job has something to show in them. */
struct job_table_shape {
    bool all, queue, progress, wide, tags, note;
};

/* A header and a line for each of the list's items; width as for columns_write. */
void job_table_write(struct arena *a, const struct json *list, int64_t now_ms, size_t width,
                     struct job_table_shape shape, struct buf *out);
/* NULL: it is not in a queue. */
const char *job_table_queue(const struct json *job);

#endif
