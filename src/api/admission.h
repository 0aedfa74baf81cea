/* admission.h - the expressions of admission policies, and the variables they may use. */
#ifndef MUSTER_API_ADMISSION_H
#define MUSTER_API_ADMISSION_H

#include "api/cel.h"

enum admission_variable {
    ADMISSION_OBJECT,
    ADMISSION_OLD_OBJECT,
    ADMISSION_REQUEST,
    ADMISSION_NAMESPACE,
    ADMISSION_PARAMS,
    ADMISSION_VARIABLES,
    ADMISSION_VARIABLES_COUNT,
};

struct admission_scope {
    struct cel_variable of[ADMISSION_VARIABLES_COUNT + 1];
};

/* For the expressions of a policy: those behind its first `known` variables. */
struct admission_scope admission_scope(struct arena *a, const struct json *policy, size_t known);

#endif
