/*
 * cel.h - the Common Expression Language as Kubernetes uses it: rules of installed kinds
 * (x-kubernetes-validations) and admission policies. Expressions are of JSON values, end always,
 * and change nothing; what they may cost is bounded.
 *
 * The functions are those Kubernetes documents: strings, lists, maps, sets, regular expressions,
 * URLs, quantities, times, optionals. Others are refused when the expression is read. Not there:
 * messages, ip(), cidr(), semver(), format(), authorizer.
 */
#ifndef MUSTER_API_CEL_H
#define MUSTER_API_CEL_H

#include "base/json.h"

#define CEL_TEXT_LIMIT (16u * 1024u)
#define CEL_CALL_COST 1000000 /* of one expression */

struct cel; /* an expression that was read; in its arena */

/* A name an expression may use. */
struct cel_variable {
    const char *name;
    const struct json *schema; /* of its value, structural OpenAPI; NULL: not known */
    bool optional;             /* the value is in an optional */
};

/* Reads and checks the text: names, functions and, where schemas are known, members. NULL with err
 * set (ERR_INVALID) when it is not right. variables end with {0} and must outlive it. */
struct cel *cel_read(struct arena *a, const char *text, const struct cel_variable *variables,
                     struct err *err) must_check;
/* Whether it uses the variable. */
bool cel_uses(const struct cel *e, const char *variable);

struct cel_run {
    struct arena *arena;              /* for what is made on the way */
    const struct json *const *values; /* one for each variable; NULL: absent */
    int64_t cost_left;                /* taken from; CEL_CALL_COST for one alone */
    int64_t now_ms;
};

/* 1 or 0; negative with err set: it failed, cost too much or is no bool. */
int cel_test(const struct cel *e, struct cel_run *run, struct err *err) must_check;
/* The result as JSON in the run's arena; of what JSON does not have the text. NULL with err set. */
struct json *cel_value(const struct cel *e, struct cel_run *run, struct err *err) must_check;

#endif
