/* pattern.h - regular expressions of schemas and rules, in bounded time. */
#ifndef MUSTER_API_PATTERN_H
#define MUSTER_API_PATTERN_H

#include "base/base.h"

#define PATTERN_LIMIT_BYTES 4096u

struct pattern;

/* NULL: invalid or too long, or out of memory. */
struct pattern *pattern_new(const char *text) must_check;
void pattern_free(struct pattern *p);
/* 1: found, between *ret_start and *ret_end; 0: not found; -E2BIG: it takes too long. */
int pattern_find(const struct pattern *p, const char *text, size_t len, size_t from,
                 size_t *ret_start, size_t *ret_end) must_check;

#endif
