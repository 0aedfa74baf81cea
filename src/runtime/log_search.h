/*
 * log_search.h - looks for lines in a container's log, from one of its places on or back
 * (port/node.h has what comes of it). On pool threads, some megabytes at a time: a log of any size
 * takes a bounded piece of memory and never the loop.
 */
#ifndef MUSTER_RUNTIME_LOG_SEARCH_H
#define MUSTER_RUNTIME_LOG_SEARCH_H

#include "loop/loop.h"
#include "port/node.h"

#define LOG_SEARCHES_LIMIT 32u /* open at once */

/* All searches of one place: so many work at once, the others wait for their turn. */
struct log_searches {
    struct loop *loop;
    struct log_search *open[LOG_SEARCHES_LIMIT]; /* NULL: a free place */
    size_t running;
    struct log_search *waiting; /* the newest first */
    struct log_search *working;
};

/* Their streams are closed, and all of this is going; who is at work ends by itself, on the loop.
 */
void log_searches_end(struct log_searches *all);

/* What can be said before it is known whose log it is: of the expression, and of too many. */
int log_search_check(const struct log_searches *all, const struct node_log_search *s,
                     struct err *err) must_check;
/* pod_root: a folder with pods' folders. The stream is freed by its close. */
int log_search_open(struct log_searches *all, const char *pod_root, const char *pod_uid,
                    const char *container, const struct node_log_options *options,
                    struct stream **ret, struct err *err) must_check;

#endif
