/*
 * structural.h - kinds installed at run time: objects are validated, defaulted and pruned by the
 * structural OpenAPI v3 schema of their CustomResourceDefinition instead of a table.
 *
 * Not supported: CEL rules (x-kubernetes-validations) are accepted but not evaluated; patterns are
 * POSIX extended expressions plus \d \w \s \S \D \W, and one that still does not compile matches
 * everything; server-side apply replaces lists whole.
 */
#ifndef MUSTER_API_STRUCTURAL_H
#define MUSTER_API_STRUCTURAL_H

#include "api/kind.h"
#include "api/problem.h"

#define STRUCTURAL_DEPTH_LIMIT 64u
#define STRUCTURAL_UNIQUE_LIMIT 1024u /* elements of a set or map, which are compared pairwise */
#define STRUCTURAL_PATTERN_LIMIT 4096u

/* Removes members the schema does not have, after passing each to unknown (may be NULL). */
typedef void structural_unknown_fn(void *arg, const struct field_path *at);
void structural_prune(const struct json *schema, struct json *object,
                      structural_unknown_fn *unknown, void *arg);
void structural_set_defaults(struct arena *a, const struct json *schema, struct json *object);
void structural_validate(const struct json *schema, const struct json *object, struct err *err);

/* Checks whether the schema itself can be served. Adds a cause per problem. */
void structural_check(const struct json *schema, const struct field_path *at, struct err *err);

#endif
