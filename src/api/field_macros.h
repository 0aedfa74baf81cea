/*
 * field_macros.h - how tables of fields are written: F_STR("name", "What it is.", REQUIRED).
 * Further members of struct field follow the doc.
 */
#ifndef MUSTER_API_FIELD_MACROS_H
#define MUSTER_API_FIELD_MACROS_H

#include "api/kind.h"

/* clang-format off */
#define F_PLAIN(t, n, d, ...) {.name = (n), .type = (t), .doc = (d), ##__VA_ARGS__}
#define F_LIST(t, n, d, ...) {.name = (n), .type = FIELD_LIST, .item = (t), .doc = (d), ##__VA_ARGS__}
#define F_MAP(t, n, d, ...) {.name = (n), .type = FIELD_MAP, .item = (t), .doc = (d), ##__VA_ARGS__}
#define F_STR(n, d, ...) F_PLAIN(FIELD_STRING, n, d, ##__VA_ARGS__)
#define F_BOOL(n, d, ...) F_PLAIN(FIELD_BOOL, n, d, ##__VA_ARGS__)
#define F_INT32(n, d, ...) F_PLAIN(FIELD_INT32, n, d, ##__VA_ARGS__)
#define F_INT64(n, d, ...) F_PLAIN(FIELD_INT64, n, d, ##__VA_ARGS__)
#define F_QUANTITY(n, d, ...) F_PLAIN(FIELD_QUANTITY, n, d, ##__VA_ARGS__)
#define F_TIME(n, d, ...) F_PLAIN(FIELD_TIME, n, d, ##__VA_ARGS__)
#define F_PORT(n, d, ...) F_PLAIN(FIELD_INT_OR_STRING, n, d, ##__VA_ARGS__)
#define F_OBJ(n, f, d, ...) F_PLAIN(FIELD_OBJECT, n, d, .fields = (f), ##__VA_ARGS__)
#define F_OBJS(n, f, d, ...) F_LIST(FIELD_OBJECT, n, d, .fields = (f), ##__VA_ARGS__)
#define F_STRS(n, d, ...) F_LIST(FIELD_STRING, n, d, ##__VA_ARGS__)
#define F_STR_MAP(n, d, ...) F_MAP(FIELD_STRING, n, d, ##__VA_ARGS__)
/* Common to most kinds: spec, status, and status.conditions (condition_fields of pod_fields.h). */
#define F_SPEC(f, ...) F_OBJ("spec", f, "Desired state.", P(2), ##__VA_ARGS__)
#define F_STATUS(f, ...) \
    F_OBJ("status", f, "Observed state.", P(3), .flags = FIELD_KEEP_UNKNOWN | FIELD_READ_ONLY, ##__VA_ARGS__)
#define F_CONDITIONS(f, d, ...) \
    F_OBJS("conditions", f, d, .flags = FIELD_KEEP_UNKNOWN, ##__VA_ARGS__)
/* The protobuf numbers differ: a metav1.Condition has 4, 5 and 6. */
#define F_CONDITION(when, why, says) \
    F_STR("type", "What the condition is about.", PZ(1), REQUIRED), \
    F_STR("status", "True, False or Unknown.", PZ(2), REQUIRED, ONE_OF(condition_states)), \
    F_STR("reason", "CamelCase reason of the last change, or \"-\".", P(why)), \
    F_STR("message", "Message about the last change.", P(says)), \
    F_TIME("lastTransitionTime", "When status last changed.", P(when))
/* clang-format on */

/* The protobuf field number. PZ: zero counts as set, because Go has a pointer there or always
 * writes the member. IN: inside a message that JSON does not have. */
#define P(n) .number = (n)
#define PZ(n) .number = (n), .keep_zero = true
#define P_IN(outer, n) .inside = (outer), .number = (n)
#define PZ_IN(outer, n) .inside = (outer), .number = (n), .keep_zero = true

#define REQUIRED .flags = FIELD_REQUIRED
#define DEFAULT(text) .default_json = (text)
#define ONE_OF(list) .values = (list)
#define AT_LEAST(n) .has_min = true, .min = (n)
#define BETWEEN(low, high) .has_min = true, .min = (low), .has_max = true, .max = (high)
#define PORT_NUMBER BETWEEN(1, 65535)
/* Patches merge elements by this member, which need not be unique. */
#define MERGED_BY(key) .merge_key = (key)
/* The member is unique as well. */
#define KEYED_BY(key) .list_key = (key)
/* Accepted and stored but without effect: setting it yields a warning with the reason. */
#define IGNORED(why) .ignored = (why)
/* Not all that it means on a cluster is done: setting it yields a warning, "FIELD what". */
#define PARTLY(what) .partly = (what)
#define NATURAL(text) .natural = (text)
/* A type shared by several tables: OpenAPI defines it once, under this name. */
#define CORE_TYPE(name) .schema_name = "io.k8s.api.core.v1." name

#endif
