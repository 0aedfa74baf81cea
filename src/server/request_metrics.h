/*
 * request_metrics.h - how many requests were answered, and how fast, under the real server's names.
 * The watches, logs and connections that go on are counted when they begin, and have no duration.
 */
#ifndef MUSTER_SERVER_REQUEST_METRICS_H
#define MUSTER_SERVER_REQUEST_METRICS_H

#include "base/buf.h"
#include "server/request.h"

struct request_metrics;

struct request_metrics *request_metrics_new(void);
void request_metrics_unref(struct request_metrics *m); /* NULL is allowed */
void request_metrics_begin(struct request_metrics *m, struct server_request *r);
/* Before the answer, which may free r. */
void request_metrics_end(struct server_request *r, int code, bool goes_on);
void request_metrics_write(const struct request_metrics *m, struct buf *out);

#endif
