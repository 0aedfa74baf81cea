/*
 * cel.h - the Common Expression Language as Kubernetes uses it: rules of installed kinds
 * (x-kubernetes-validations) and admission policies. Expressions read JSON values, have no side
 * effects and a bounded cost.
 *
 * The functions are those Kubernetes documents: strings, lists, maps, sets, regular expressions,
 * URLs, quantities, times, optionals. Others are refused at compile time. Not supported:
 * messages, ip(), cidr(), semver(), format(), authorizer.
 */
#ifndef MUSTER_API_CEL_H
#define MUSTER_API_CEL_H

#include "base/json.h"

#define CEL_TEXT_LIMIT (16u * 1024u)
#define CEL_CALL_COST 1000000 /* for one expression */

struct cel; /* a compiled expression, in its arena */

/* A name an expression may use. */
struct cel_variable {
    const char *name;
    const struct json *schema; /* structural schema of its value; NULL: unknown */
    bool optional;             /* its value is wrapped in an optional */
};

/* Compiles the text, checking names, functions and, where schemas are known, members. NULL with err
 * set (ERR_INVALID) on error. variables end with {0} and must outlive it. */
struct cel *cel_read(struct arena *a, const char *text, const struct cel_variable *variables,
                     struct err *err) must_check;
/* Whether it uses the variable. */
bool cel_uses(const struct cel *e, const char *variable);

struct cel_run {
    struct arena *arena;              /* for intermediate values */
    const struct json *const *values; /* one for each variable; NULL: absent */
    int64_t cost_left;                /* reduced by each call; CEL_CALL_COST for a single one */
    int64_t now_ms;
};

/* 1 or 0; negative with err set: it failed, cost too much or is not a bool. */
int cel_test(const struct cel *e, struct cel_run *run, struct err *err) must_check;
/* The result in the run's arena; types that JSON lacks become strings. NULL with err set. */
struct json *cel_value(const struct cel *e, struct cel_run *run, struct err *err) must_check;

#endif
