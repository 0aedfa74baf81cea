/*
 * follow.h - shows the output and state of jobs until they end. Each attempt of each replica is one
 * log, identified by its pod's UID: a replaced replica continues under the same prefix, and no line
 * is repeated or lost when a connection breaks or the daemon is restarted.
 */
#ifndef MUSTER_CLI_FOLLOW_H
#define MUSTER_CLI_FOLLOW_H

#include "cli/session.h"

struct follow_options {
    const char *replica;      /* "worker-1": only this one; NULL: all */
    bool timestamps;          /* print them */
    struct line_match *match; /* only these lines; NULL: all */
    bool raw;                 /* unmodified even on a terminal */
    bool prefix;              /* "worker-0 | " before each line */
    int64_t tail_lines;       /* of each log at first; -1: all */
    const char *since;        /* only lines from this time on; NULL: all */
    bool quiet;               /* no lines about the job's phase */
    bool leave_hopeless;      /* stop waiting for a job that can never fit */
    bool every_attempt;       /* from the first on; otherwise from the current one */
    bool without_logs;        /* only the state of jobs, all in one namespace */
    const char *until;        /* without logs: a phase, or FOLLOW_UNTIL_DELETED; NULL: the end */
    int64_t timeout_ms;       /* 0: none */
};

#define FOLLOW_UNTIL_DELETED "deleted"

struct follow_target {
    const struct kind *kind; /* a job kind, or kind_pod for one pod */
    const char *ns, *name, *uid;
};

enum follow_end {
    FOLLOW_SUCCEEDED,
    FOLLOW_FAILED,     /* at least one did not succeed; the reason was printed */
    FOLLOW_DELETED,    /* one was deleted while running */
    FOLLOW_NEVER_FITS, /* one waits for more than exists */
    FOLLOW_TIMED_OUT,
    FOLLOW_INTERRUPTED, /* Ctrl-C */
    FOLLOW_BROKEN,      /* an error of our own, in err */
};

/* Returns when every target has ended and its logs are complete. */
enum follow_end follow(struct cli *cli, struct session *s, const struct follow_target *targets,
                       size_t targets_len, const struct follow_options *options,
                       struct err *err) must_check;

/* The exit code of a command that waited for them; FOLLOW_BROKEN is command_fail's. */
enum exit_code follow_exit_code(enum follow_end end);

/* "worker-0" from a pod's labels, else its name; with "/container" when it has several. In the
 * arena. */
const char *follow_label(struct arena *a, const struct json *pod, const char *container);
/* Whether a pod is the replica the user means. */
bool follow_wanted(const struct json *pod, const char *replica);

#endif
