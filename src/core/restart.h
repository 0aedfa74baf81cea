/* restart.h - whether and when a finished replica runs again. Pure. */
#ifndef MUSTER_CORE_RESTART_H
#define MUSTER_CORE_RESTART_H

#include "base/json.h"

enum restart_policy { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS, RESTART_EXIT_CODE };

#define RESTART_DELAY_MAX_SECONDS 60
/* A replica that ran this long was healthy: its next failure counts as the first. */
#define RESTART_RESET_MS (10 * 60 * INT64_C(1000))

/* Unknown words mean "Never". */
enum restart_policy restart_policy_of(const char *word);
const char *restart_policy_name(enum restart_policy policy);

/* Whether the policy asks for another run, regardless of the budget. exit_code is -1 when unknown;
 * more_codes are runPolicy.restartableExitCodes or NULL. */
bool restart_asked(enum restart_policy policy, bool failed, int exit_code,
                   const struct json *more_codes);

/* The delay before the next run: none at first, then 1, 2, 4 .. 60 s. restarts and last_seconds:
 * their number so far, and the last delay. */
int64_t restart_delay_seconds(int64_t restarts, int64_t last_seconds, int64_t ran_ms);

#endif
