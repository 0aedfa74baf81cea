/* job_events.h - events of a job, its PodGroup and its pods, including deleted ones. */
#ifndef MUSTER_CLI_JOB_EVENTS_H
#define MUSTER_CLI_JOB_EVENTS_H

#include "cli/session.h"

/* A List of Events, oldest first; job NULL: all of the session's namespace. */
int job_events_find(struct session *s, const struct json *job, bool warnings, struct json **ret,
                    struct err *err) must_check;
/* As a table; width as for columns_write. */
void job_events_write(const struct json *list, int64_t now_ms, size_t width, struct buf *out);

#endif
