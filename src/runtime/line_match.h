/*
 * line_match.h - whether a line of a log is one that is looked for: by a text or a regular
 * expression (PCRE2), and by its level, which its words tell. What one line may cost is bounded.
 */
#ifndef MUSTER_RUNTIME_LINE_MATCH_H
#define MUSTER_RUNTIME_LINE_MATCH_H

#include "port/node.h"

struct line_match;

/* The error says what is wrong with the expression, and where. */
struct line_match *line_match_new(const struct node_log_search *s, struct err *err) must_check;
void line_match_free(struct line_match *m);
/* 1: it is, from the byte *ret_at on; 0: it is not; -E2BIG: it would take too long to find out. Any
 * thread, one at a time. */
int line_match_test(const struct line_match *m, const char *text, size_t len,
                    size_t *ret_at) must_check;

#endif
