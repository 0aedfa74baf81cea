/*
 * log_search.h - searches a container's log, forwards or backwards from a position (port/node.h has
 * the format of results). Runs on pool threads, some megabytes at a time: a log of any size takes
 * bounded memory and never blocks the loop.
 */
#ifndef MUSTER_RUNTIME_LOG_SEARCH_H
#define MUSTER_RUNTIME_LOG_SEARCH_H

#include "loop/loop.h"
#include "port/node.h"

#define LOG_SEARCHES_LIMIT 32u /* open at once */

/* All searches of one node: a limited number run at once, the others take turns. */
struct log_searches {
    struct loop *loop;
    struct log_search *open[LOG_SEARCHES_LIMIT]; /* NULL: unused slot */
    size_t running;
    struct log_search *waiting; /* newest first */
    struct log_search *working;
};

/* Their streams are closed and this is being freed; running ones end by themselves, on the loop. */
void log_searches_end(struct log_searches *all);

/* What can be checked before the log is known: the expression, and the number of searches. */
int log_search_check(const struct log_searches *all, const struct node_log_search *s,
                     struct err *err) must_check;
/* pod_root: a folder with pods' folders. The stream is freed by its close. */
int log_search_open(struct log_searches *all, const char *pod_root, const char *pod_uid,
                    const char *container, const struct node_log_options *options,
                    struct stream **ret, struct err *err) must_check;

#endif
