/* app_fields.h - what kinds of browser programs (TensorBoard, Notebook) share: status, columns. */
#ifndef MUSTER_API_APP_FIELDS_H
#define MUSTER_API_APP_FIELDS_H

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_fields.h"

extern const char *const app_phases[];
extern const struct field app_pod_fields[];
extern const struct column app_columns[];

#define APP_STATUS_FIELDS                                                                          \
    F_STR("phase", "Initializing, Running, Paused (suspended, or unused for long) or Failed.",     \
          ONE_OF(app_phases)),                                                                     \
        F_STR("reason", "CamelCase reason why it does not run."),                                  \
        F_STR("message", "Why it does not run, and what to do about it."),                         \
        F_STR("url", "Its path on the console's address."),                                        \
        F_OBJ("pod", app_pod_fields, "The pod it runs in."),                                       \
        F_CONDITIONS(condition_fields, "Ready, Idle, Suspended.", KEYED_BY("type")),               \
        F_INT32("port", "The port it listens on, where pods share the machine's network."),        \
        F_TIME("startTime", "When it was created or resumed."),                                    \
        F_INT32("failures", "How often in a row its pod has ended."),                              \
        F_STR("failedPod", "UID of the last pod whose end was counted."),                          \
        F_TIME("retryTime", "When it will be retried."),                                           \
        F_INT64("observedGeneration", "The metadata.generation this status is based on.")

#endif
