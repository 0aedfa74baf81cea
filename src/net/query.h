/* query.h - the query part of a URL: unescaped on demand, in an arena. */
#ifndef MUSTER_NET_QUERY_H
#define MUSTER_NET_QUERY_H

#include "base/arena.h"
#include "base/err.h"
#include "port/node.h"

/* The value of a parameter, "" without `=`; NULL when absent or malformed. */
const char *query_param(struct arena *a, const char *query, const char *name) must_check;
/* An integer between min and max; `otherwise` when absent. */
int query_number(struct arena *a, const char *query, const char *name, int64_t min, int64_t max,
                 int64_t otherwise, int64_t *ret, struct err *err) must_check;
/* A non-negative integer; `otherwise` when NULL or "". */
int query_count(const char *name, const char *value, int64_t otherwise, int64_t *ret,
                struct err *err) must_check;
/* A flag: true unless "false", "0" or NULL; "" (just the name) is true. */
bool query_flag(const char *value);

/* A container's log query: follow, timestamps, previous, tailLines, limitBytes, sinceSeconds,
 * sinceTime; our own are attempt, offsets, from, and for searches search, regex, ignoreCase, level,
 * back, count, lines. */
extern const char *const query_log_levels[LINE_LEVELS];
int query_log_options(struct arena *a, const char *query, int64_t now_ms,
                      struct node_log_options *ret, struct err *err) must_check;

/* The requested streams and terminal, by these names of the three; validated. */
int query_streams(struct arena *a, const char *query, const char *const names[NODE_STREAMS],
                  struct node_command *ret, struct err *err) must_check;
/* The words of a command: each `command` parameter. */
#define QUERY_ARGV_LIMIT 1000u
int query_argv(struct arena *a, const char *query, struct node_command *ret,
               struct err *err) must_check;
/* The ports to forward: each parameter of that name, with commas between ports. */
int query_ports(struct arena *a, const char *query, const char *name, struct node_ports *ret,
                struct err *err) must_check;

#endif
