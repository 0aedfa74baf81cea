/*
 * line_match.h - whether a log line matches a search: by text or regular expression (PCRE2), and by
 * its level, derived from its words. The cost per line is bounded, in the thread's CPU time.
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
/* Lines tested from here on may take LINE_MATCH_STEP_MS together. Aborted as soon as stop (may be
 * NULL) is true. */
void line_match_begin(struct line_match *m, const atomic_bool *stop);
/* 1: it matches, at byte *ret_at; 0: it does not; -E2BIG: it would take too long; -ECANCELED:
 * stopped. Any thread, one at a time. */
int line_match_test(struct line_match *m, const char *text, size_t len, size_t *ret_at) must_check;

#endif
