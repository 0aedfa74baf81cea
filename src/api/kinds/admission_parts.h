/* admission_parts.h - what the tables of admission policies and of webhooks share. */
#ifndef MUSTER_API_ADMISSION_PARTS_H
#define MUSTER_API_ADMISSION_PARTS_H

#include "api/admission.h"
#include "api/field_macros.h"
#include "api/problem.h"

#define ADMISSION_MEMORY_BYTES (16u * 1024u * 1024u) /* to read an object's expressions */
#define ADMISSION_LIST_LIMIT 64u

extern const char *const admission_operations[], *const admission_scopes[];
extern const char *const admission_policies[], *const admission_failures[];
extern const struct field admission_condition_fields[]; /* kind_admission_policy.c */
extern const struct field webhook_client_fields[];      /* kind_crd.c */

/* outer: the protobuf message with the operations, rule: the one in it with the rest. */
#define ADMISSION_RULE_FIELDS(outer, rule)                                                         \
    F_STRS("apiGroups", "Groups: \"\" is the core group, * all of them.", P_IN(rule, 1)),          \
        F_STRS("apiVersions", "Versions, or *.", P_IN(rule, 2),                                    \
               .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),                                         \
        F_STRS("operations", "CREATE, UPDATE, DELETE, CONNECT, or *.", P_IN(outer, 1),             \
               ONE_OF(admission_operations), .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),           \
        F_STRS("resources", "Resources: pods, pods/status, */*.", P_IN(rule, 3),                   \
               .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),                                         \
        F_STR("scope", "Cluster, Namespaced or *.", PZ_IN(rule, 4), ONE_OF(admission_scopes),      \
              DEFAULT("\"*\""))

void admission_check_rules(const struct json *rules, const struct field_path *at, struct err *err);
void admission_check_conditions(struct arena *a, const struct admission_scope *scope,
                                const struct json *list, const struct field_path *at,
                                struct err *err);

#endif
