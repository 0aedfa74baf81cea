/* job_events.h - events of an object; for a job including those of its PodGroup and pods. */
#ifndef MUSTER_CLI_JOB_EVENTS_H
#define MUSTER_CLI_JOB_EVENTS_H

#include "cli/session.h"

/* A List of Events, oldest first; object NULL: all of the session's namespace. */
int job_events_find(struct session *s, const struct json *object, bool warnings, struct json **ret,
                    struct err *err) must_check;
/* As a table; width as for columns_write. */
void job_events_write(const struct json *list, int64_t now_ms, size_t width, struct buf *out);

#endif
