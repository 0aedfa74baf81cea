/*
 * structural.h - kinds that are installed at run time: objects checked, defaulted and pruned by the
 * structural OpenAPI v3 schema of their CustomResourceDefinition, instead of by a table.
 *
 * Not done: rules in CEL (x-kubernetes-validations) are accepted and not evaluated; patterns are
 * POSIX extended expressions with \d \w \s \S \D \W understood, one that still does not compile
 * lets everything pass; lists are applied whole by server-side apply.
 */
#ifndef MUSTER_API_STRUCTURAL_H
#define MUSTER_API_STRUCTURAL_H

#include "api/kind.h"
#include "api/problem.h"

#define STRUCTURAL_DEPTH_LIMIT 64u
#define STRUCTURAL_UNIQUE_LIMIT 1024u /* elements of a set or map; compared pair by pair */
#define STRUCTURAL_PATTERN_LIMIT 4096u

/* Members the schema does not know are taken out; each is said to unknown (may be NULL) first. */
typedef void structural_unknown_fn(void *arg, const struct field_path *at);
void structural_prune(const struct json *schema, struct json *object,
                      structural_unknown_fn *unknown, void *arg);
void structural_set_defaults(struct arena *a, const struct json *schema, struct json *object);
void structural_validate(const struct json *schema, const struct json *object, struct err *err);

/* Is the schema itself one that can be served? Adds a cause per problem. */
void structural_check(const struct json *schema, const struct field_path *at, struct err *err);

#endif
