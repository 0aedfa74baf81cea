/* job_table.h - a table of jobs, for `muster ps` and `muster ui`. */
#ifndef MUSTER_CLI_JOB_TABLE_H
#define MUSTER_CLI_JOB_TABLE_H

#include "base/buf.h"
#include "base/json.h"

/* Optional columns; most are added when a job has something to show in them. */
struct job_table_shape {
    bool all, queue, progress, wide, runtime, tags, note;
    bool no_kind; /* to leave room for WHY */
};

/* A header and a line for each of the list's items; width as for columns_write. */
void job_table_write(struct arena *a, const struct json *list, int64_t now_ms, size_t width,
                     struct job_table_shape shape, struct buf *out);
/* NULL: not in a queue. */
const char *job_table_queue(const struct json *job);

#endif
