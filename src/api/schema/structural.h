/*
 * structural.h - kinds installed at run time: objects are validated, defaulted and pruned by the
 * structural OpenAPI v3 schema of their CustomResourceDefinition instead of a table.
 *
 * Its CEL rules (x-kubernetes-validations) are evaluated within a cost limit per object
 * (structural_rules.c). A pattern that does not compile matches everything.
 */
#ifndef MUSTER_API_STRUCTURAL_H
#define MUSTER_API_STRUCTURAL_H

#include "api/kind.h"
#include "api/problem.h"

#define STRUCTURAL_DEPTH_LIMIT 64u
#define STRUCTURAL_UNIQUE_LIMIT 1024u /* elements of a set or map, which are compared pairwise */
#define STRUCTURAL_RULES_COST 2000000 /* for one object */

/* Removes members the schema does not have, after passing each to unknown (may be NULL). */
typedef void structural_unknown_fn(void *arg, const struct field_path *at);
void structural_prune(const struct json *schema, struct json *object,
                      structural_unknown_fn *unknown, void *arg);
void structural_set_defaults(struct arena *a, const struct json *schema, struct json *object);
/* old is NULL at creation. */
void structural_validate(const struct json *schema, const struct json *object,
                         const struct json *old, struct err *err);

/* Checks whether the schema itself can be served. Adds a cause per problem. */
void structural_check(const struct json *schema, const struct field_path *at, struct err *err);

/* The rules of one part of a schema; correlatable: there can be an old value to compare with. */
void structural_check_rules(const struct json *schema, const struct field_path *at,
                            bool correlatable, struct err *err);
void structural_test_rules(const struct json *schema, const struct json *object,
                           const struct json *old, struct err *err);

#endif
