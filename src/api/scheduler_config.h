/* scheduler_config.h - the settings in ConfigMap t9k-system/scheduler-config, and which of them are
 * not supported. */
#ifndef MUSTER_API_SCHEDULER_CONFIG_H
#define MUSTER_API_SCHEDULER_CONFIG_H

#include "base/json.h"

#define SCHEDULER_CONFIG_NAME "scheduler-config"

struct scheduler_config {
    bool preempts;
    bool spreads; /* instead of filling one node after the other */
};

/* Reads the ConfigMap; NULL means the defaults. say (may be NULL) receives each unsupported key and
 * each invalid value. */
struct scheduler_config scheduler_config_read(const struct json *map,
                                              void (*say)(void *arg, const char *text), void *arg);

#endif
