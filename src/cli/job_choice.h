/* job_choice.h - the jobs a command applies to: by name, by label, or all of the namespace. */
#ifndef MUSTER_CLI_JOB_CHOICE_H
#define MUSTER_CLI_JOB_CHOICE_H

#include "cli/session.h"

struct job_choice {
    const char *selector;
    bool all, yes, dry_run;
};

/* clang-format off */
#define JOB_CHOICE_OPTIONS(own, member, what) \
    OPTION_OF_FLAG(own, member.all, "all", "every job in the namespace"), \
    OPTION_OF_TEXT(own, member.selector, "selector", "LABELS", "every job with these labels", \
                   .letter = 'l'), \
    OPTION_OF_FLAG(own, member.yes, "yes", "do not ask about --all and --selector", \
                   .letter = 'y'), \
    OPTION_OF_FLAG(own, member.dry_run, "dry-run", "only print what would be " what)
/* clang-format on */

typedef int job_choice_fn(void *arg, struct session *s, const struct kind *k,
                          const struct json *job, struct err *err);

/* Calls fn for each and prints "job.group/NAME DONE"; all are tried, and the first failure decides
 * the exit code. verb: "remove", done: "removed". Without names, asks on a terminal first. */
enum exit_code job_choice_each(struct cli *cli, const struct session_options *where,
                               const struct job_choice *choice, const struct args *args,
                               const char *verb, const char *done, job_choice_fn *fn, void *arg);

/* A job_choice_fn whose arg is a bool: pauses or resumes. A job of a sweep that waits for its turn
 * is controlled by the user from then on. */
job_choice_fn job_choice_set_paused;

#endif
