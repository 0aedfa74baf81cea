/* query.h - the part of an address after '?': unescaped on demand, in an arena. */
#ifndef MUSTER_CONSOLE_QUERY_H
#define MUSTER_CONSOLE_QUERY_H

#include "base/arena.h"
#include "base/err.h"

/* Value of a parameter, NULL when it is absent (or malformed). */
const char *query_param(struct arena *a, const char *query, const char *name) must_check;
/* A whole number between min and max; otherwise when it is absent. */
int query_number(struct arena *a, const char *query, const char *name, int64_t min, int64_t max,
                 int64_t otherwise, int64_t *ret, struct err *err) must_check;

#endif
