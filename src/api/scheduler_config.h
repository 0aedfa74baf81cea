/* scheduler_config.h - what ConfigMap t9k-system/scheduler-config sets; and what of it is not
 * carried out. */
#ifndef MUSTER_API_SCHEDULER_CONFIG_H
#define MUSTER_API_SCHEDULER_CONFIG_H

#include "base/json.h"

#define SCHEDULER_CONFIG_NAME "scheduler-config"

struct scheduler_config {
    bool preempts;
    bool spreads; /* instead of filling nodes one after the other */
};

/* Reads the ConfigMap; NULL: there is none. say (may be NULL) receives each key that is not carried
 * out, and each value that is none. */
struct scheduler_config scheduler_config_read(const struct json *map,
                                              void (*say)(void *arg, const char *text), void *arg);

#endif
