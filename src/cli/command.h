/*
 * command.h - a command is one file and one const struct command; cli/commands.c has the one table
 * of them.
 */
#ifndef MUSTER_CLI_COMMAND_H
#define MUSTER_CLI_COMMAND_H

#include "cli/options.h"
#include "cli/talk.h"

/* Part of the interface; `muster help exit-codes` lists them. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_JOB_FAILED = 3,
    EXIT_NOT_LOGGED_IN = 4,
    EXIT_NOT_FOUND = 5,
    EXIT_CONFLICT = 6,
    EXIT_NEVER_FITS = 7,
    EXIT_TIMED_OUT = 124,
    EXIT_INTERRUPTED = 130,
};

struct cli {
    struct arena arena; /* the command's */
    struct talk talk;
};

struct command {
    const char *name;
    const char *args;     /* "FILE", for the usage line; "" when none */
    const char *summary;  /* for the list of commands */
    const char *examples; /* lines */
    const char *help;     /* after them: lines, or NULL; translated (words.h) */
    const struct option_spec *options;
    const void *defaults; /* options_size bytes, NULL: zeroes */
    size_t options_size;
    size_t min_args, max_args;
    bool hidden;
    enum exit_code (*run)(struct cli *cli, const void *options, const struct args *args);
};

extern const struct command *const commands[]; /* ends with NULL */
const struct command *command_find(const char *name);

extern const struct command command_up, command_down, command_run, command_ps, command_logs,
    command_board, command_exec, command_mpi_launch, command_mpi_worker, command_rm, command_queue,
    command_kubeconfig, command_console, command_version, command_help, command_controller,
    command_scheduler, command_node, command_manifests, command_sweep, command_wait,
    command_validate, command_explain, command_events, command_stop, command_resume, command_scale,
    command_rerun, command_doctor, command_completion, command_notebook, command_top, command_ui,
    command_export, command_describe, command_pause, command_image;

/* The whole program except for `supervise`: argv[1] is the command. */
enum exit_code command_main(int argc, char **argv);

/* The help of one command, or of all for NULL. */
void command_print_help(const struct command *c, struct buf *out);
void command_print_exit_codes(struct buf *out);

/* Prints the error and returns the exit code for its reason. */
enum exit_code command_fail(struct cli *cli, const struct err *e);

#define CLI_ARENA_LIMIT_BYTES (256u * 1024u * 1024u)
#define CLI_TEXT_LIMIT_BYTES (256u * 1024u * 1024u)

#endif
