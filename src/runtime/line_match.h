/*
 * line_match.h - whether a line of a log is one that is looked for: by a text or a regular
 * expression (PCRE2), and by its level, which its words tell. What one line may cost is bounded, in
 * the thread's CPU time.
 */
#ifndef MUSTER_RUNTIME_LINE_MATCH_H
#define MUSTER_RUNTIME_LINE_MATCH_H

#include <stdatomic.h>

#include "port/node.h"

#define LINE_MATCH_LINE_MS 250
#define LINE_MATCH_STEP_MS 1000

struct line_match;

/* The error says what is wrong with the expression, and where. */
struct line_match *line_match_new(const struct node_log_search *s, struct err *err) must_check;
void line_match_free(struct line_match *m);
int64_t line_match_cpu_ns(void); /* of this thread */
/* Lines tested from here on may take LINE_MATCH_STEP_MS together. stop (or NULL): given up as soon
 * as it is true. */
void line_match_begin(struct line_match *m, const atomic_bool *stop);
/* 1: it is, from the byte *ret_at on; 0: it is not; -E2BIG: it would take too long to find out;
 * -ECANCELED: stopped. Any thread, one at a time. */
int line_match_test(struct line_match *m, const char *text, size_t len, size_t *ret_at) must_check;

#endif
