/* query.h - the part of an address after '?': unescaped on demand, in an arena. */
#ifndef MUSTER_NET_QUERY_H
#define MUSTER_NET_QUERY_H

#include "base/arena.h"
#include "base/err.h"
#include "port/node.h"

/* Value of a parameter, "" of one without `=`; NULL when it is absent (or malformed). */
const char *query_param(struct arena *a, const char *query, const char *name) must_check;
/* A whole number between min and max; otherwise when it is absent. */
int query_number(struct arena *a, const char *query, const char *name, int64_t min, int64_t max,
                 int64_t otherwise, int64_t *ret, struct err *err) must_check;
/* A value that is a whole number, 0 or more; otherwise when it is NULL or "". */
int query_count(const char *name, const char *value, int64_t otherwise, int64_t *ret,
                struct err *err) must_check;
/* Of a flag: anything but "false" and "0" is one, also "", the name alone. NULL is none. */
bool query_flag(const char *value);

/* What a query asks of a container's log: follow, timestamps, previous, tailLines, limitBytes,
 * sinceSeconds, sinceTime; our own are attempt, offsets, from, and for a search: search, regex,
 * ignoreCase, level, back, count, lines. */
extern const char *const query_log_levels[LINE_LEVELS];
int query_log_options(struct arena *a, const char *query, int64_t now_ms,
                      struct node_log_options *ret, struct err *err) must_check;

/* Which streams and whether a terminal, by these names of the three; checked. */
int query_streams(struct arena *a, const char *query, const char *const names[NODE_STREAMS],
                  struct node_command *ret, struct err *err) must_check;
/* The words of a command: each `command`. */
#define QUERY_ARGV_LIMIT 1000u
int query_argv(struct arena *a, const char *query, struct node_command *ret,
               struct err *err) must_check;

#endif
