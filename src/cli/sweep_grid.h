/* sweep_grid.h - the combinations of a sweep's parameters, and what one makes of a command. Pure.
 */
#ifndef MUSTER_CLI_SWEEP_GRID_H
#define MUSTER_CLI_SWEEP_GRID_H

#include "cli/options.h"

#define SWEEP_PARAMETERS_LIMIT 16u
#define SWEEP_JOBS_LIMIT 1000u

struct sweep_parameter {
    const char *name;
    const char **values;
    size_t len;
};

struct sweep_grid {
    struct sweep_parameter parameters[SWEEP_PARAMETERS_LIMIT];
    size_t parameters_len, jobs;
};

/* Of "lr=0.1,0.01" and the like; each must stand in the command as {lr}. In the arena. */
int sweep_grid_read(struct arena *a, const struct option_list *sets, const char *const *command,
                    size_t command_len, struct sweep_grid *ret, struct err *err) must_check;
/* The parameter's value in job n, counted from 0; the last parameter changes fastest. */
const char *sweep_grid_value(const struct sweep_grid *g, size_t n, size_t parameter);
/* A word of the command with job n's values in it. NULL: out of memory. */
const char *sweep_grid_word(struct arena *a, const struct sweep_grid *g, size_t n,
                            const char *word);
/* "lr=0.1 bs=32" */
const char *sweep_grid_text(struct arena *a, const struct sweep_grid *g, size_t n);
/* A label's value can hold less than a parameter's: what it cannot becomes "_", at its ends "x".
 */
const char *sweep_label_value(struct arena *a, const char *value);

#endif
