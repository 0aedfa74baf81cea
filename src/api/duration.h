/* duration.h - durations as written in queues: 12h, 1d12h, 90m, 0. */
#ifndef MUSTER_API_DURATION_H
#define MUSTER_API_DURATION_H

#include "base/base.h"

/* Numbers with the units y, w, d, h, m, s, ms, each at most once and in this order; or 0. -EINVAL
 * for anything else, and on overflow. */
int duration_parse_ms(const char *text, int64_t *ret) must_check;

#endif
