/* restart.c - decides whether a finished replica runs again. Pure. */
#include "core/restart.h"

#include <string.h>

/* The environment or the user stopped these; 138 is the program's own request to run again. */
static const uint8_t restartable_codes[] = {130, 137, 138, 143};

static const char *const policy_names[] = {
    [RESTART_NEVER] = "Never",
    [RESTART_ON_FAILURE] = "OnFailure",
    [RESTART_ALWAYS] = "Always",
    [RESTART_EXIT_CODE] = "ExitCode",
};

enum restart_policy restart_policy_of(const char *word)
{
    for (size_t i = 0; i < ELEMS(policy_names); i++)
        if (strcmp(policy_names[i], word) == 0)
            return (enum restart_policy)i;
    return RESTART_NEVER;
}

const char *restart_policy_name(enum restart_policy policy)
{
    return policy_names[policy];
}

static bool code_restartable(int exit_code, const struct json *more_codes)
{
    for (size_t i = 0; i < ELEMS(restartable_codes); i++)
        if (restartable_codes[i] == exit_code)
            return true;
    json_each (code, more_codes)
        if (json_int(code, -1) == exit_code && exit_code > 0)
            return true;
    return false;
}

bool restart_asked(enum restart_policy policy, bool failed, int exit_code,
                   const struct json *more_codes)
{
    switch (policy) {
    case RESTART_NEVER:
        return false;
    case RESTART_ALWAYS:
        return true;
    case RESTART_ON_FAILURE:
        return failed;
    case RESTART_EXIT_CODE:
        return failed && code_restartable(exit_code, more_codes);
    }
    unreachable();
}

int64_t restart_delay_seconds(int64_t restarts, int64_t last_seconds, int64_t ran_ms)
{
    if (restarts == 0 || ran_ms >= RESTART_RESET_MS)
        return 0;
    if (last_seconds <= 0)
        return 1;
    return min_i64(last_seconds * 2, RESTART_DELAY_MAX_SECONDS);
}
