/*
 * structural.h - kinds that are installed at run time: objects checked, defaulted and pruned by the
 * structural OpenAPI v3 schema of their CustomResourceDefinition, instead of by a table.
 * Rules in CEL (x-kubernetes-validations) are run (structural_rules.c); what all rules of an object
 * may cost is bounded. A pattern that is no regular expression lets everything pass.
 */
#ifndef MUSTER_API_STRUCTURAL_H
#define MUSTER_API_STRUCTURAL_H

#include "api/kind.h"
#include "api/problem.h"

#define STRUCTURAL_DEPTH_LIMIT 64u
#define STRUCTURAL_UNIQUE_LIMIT 1024u /* elements of a set or map; compared pair by pair */
#define STRUCTURAL_RULES_COST 2000000 /* of one object */

/* Members the schema does not know are taken out; each is said to unknown (may be NULL) first. */
typedef void structural_unknown_fn(void *arg, const struct field_path *at);
void structural_prune(const struct json *schema, struct json *object,
                      structural_unknown_fn *unknown, void *arg);
void structural_set_defaults(struct arena *a, const struct json *schema, struct json *object);
/* old is NULL at a creation. */
void structural_validate(const struct json *schema, const struct json *object,
                         const struct json *old, struct err *err);

/* Is the schema itself one that can be served? Adds a cause per problem. */
void structural_check(const struct json *schema, const struct field_path *at, struct err *err);

/* The rules of one part of a schema; correlatable: there can be an old value to compare with. */
void structural_check_rules(const struct json *schema, const struct field_path *at,
                            bool correlatable, struct err *err);
void structural_test_rules(const struct json *schema, const struct json *object,
                           const struct json *old, struct err *err);

#endif
