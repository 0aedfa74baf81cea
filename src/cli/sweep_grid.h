/* sweep_grid.h - the combinations of a sweep's parameters, and their commands. Pure. */
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

/* Parses "lr=0.1,0.01" and the like; each must occur in the command as {lr}. In the arena. */
int sweep_grid_read(struct arena *a, const struct option_list *sets, const char *const *command,
                    size_t command_len, struct sweep_grid *ret, struct err *err) must_check;
/* The parameter's value in job n, from 0; the last parameter varies fastest. */
const char *sweep_grid_value(const struct sweep_grid *g, size_t n, size_t parameter);
/* A word of the command with job n's values. NULL: out of memory. */
const char *sweep_grid_word(struct arena *a, const struct sweep_grid *g, size_t n,
                            const char *word);
/* "lr=0.1 bs=32" */
const char *sweep_grid_text(struct arena *a, const struct sweep_grid *g, size_t n);
/* Label values allow fewer characters: others become "_", at the ends "x". */
const char *sweep_label_value(struct arena *a, const char *value);

#endif
