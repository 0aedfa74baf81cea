/* metrics.h - metrics in Prometheus' text format. */
#ifndef MUSTER_NET_METRICS_H
#define MUSTER_NET_METRICS_H

#include "base/buf.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

void metrics_add(struct buf *out, const char *name, const char *type, const char *help,
                 double value);
void metrics_add_process(struct buf *out); /* this process's own */

#endif
