/* pod_failure.h - applies a Job's podFailurePolicy to a failed pod. Pure. */
#ifndef MUSTER_CORE_POD_FAILURE_H
#define MUSTER_CORE_POD_FAILURE_H

#include "base/json.h"

enum failure_action { FAILURE_COUNT, FAILURE_IGNORE, FAILURE_FAIL_INDEX, FAILURE_FAIL_JOB };

/* policy NULL: it counts. ret_why: a sentence about the matching rule, if any. */
enum failure_action pod_failure_action(struct arena *a, const struct json *policy,
                                       const struct json *pod, const char **ret_why);

#endif
