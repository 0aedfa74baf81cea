/* timefmt.h - RFC 3339 times and Kubernetes age strings. Pure: reads no clock. Times are ms since
 * the epoch, UTC. */
#ifndef MUSTER_BASE_TIMEFMT_H
#define MUSTER_BASE_TIMEFMT_H

#include "base/base.h"

#define TIME_TEXT_SIZE 40

/* "2026-11-15T08:00:00Z": what metadata and status times look like. */
const char *time_format(int64_t ms, char out[TIME_TEXT_SIZE]);
/* "2026-11-15T08:00:00.123456Z": MicroTime of Lease and Event. */
const char *time_format_micro(int64_t ms, char out[TIME_TEXT_SIZE]);
/* Log stamps: nanoseconds, nine digits. */
const char *time_format_nano(int64_t sec, int64_t nsec, char out[TIME_TEXT_SIZE]);
/* Accepts fractions of any length and numeric zones; -EINVAL for anything else. */
int time_parse(const char *text, int64_t *ret_ms) must_check;
/* Ages as kubectl prints them: 45s, 9m53s, 5h12m, 3d4h, 2y319d; <invalid> when in the future. */
const char *time_age(int64_t span_ms, char out[TIME_TEXT_SIZE]);

#endif
