/*
 * follow.h - shows what jobs print and how they fare, until they end. Each attempt of each replica
 * is one log, known by its pod's UID: a replica that is replaced goes on under the same prefix, and
 * no line comes twice or is lost when a connection breaks or the daemon is restarted.
 */
#ifndef MUSTER_CLI_FOLLOW_H
#define MUSTER_CLI_FOLLOW_H

#include "cli/session.h"

struct follow_options {
    const char *replica;      /* "worker-1": only this one; NULL: all */
    bool timestamps;          /* print them */
    struct line_match *match; /* only these lines; NULL: all */
    bool raw;                 /* to a terminal, too, as it was written */
    bool prefix;              /* "worker-0 | " before each line */
    int64_t tail_lines;       /* of each log to begin with; -1: all */
    const char *since;        /* of each log only what was written from this time on; NULL: all */
    bool quiet;               /* no lines about the job's phase */
    bool leave_hopeless;      /* a job that can never fit is not waited for */
    bool every_attempt;       /* from the first on; else from the one that is there to begin with */
    bool without_logs;        /* of jobs: only how they fare, all in one namespace */
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
    FOLLOW_FAILED,     /* at least one did not succeed; it was said why */
    FOLLOW_DELETED,    /* one was deleted while it ran */
    FOLLOW_NEVER_FITS, /* one waits for more than there is */
    FOLLOW_TIMED_OUT,
    FOLLOW_INTERRUPTED, /* Ctrl-C */
    FOLLOW_BROKEN,      /* our own trouble, in err */
};

/* Returns when every target has ended and its logs are complete. */
enum follow_end follow(struct cli *cli, struct session *s, const struct follow_target *targets,
                       size_t targets_len, const struct follow_options *options,
                       struct err *err) must_check;

/* What a command exits with that was to wait for them; FOLLOW_BROKEN is command_fail's. */
enum exit_code follow_exit_code(enum follow_end end);

/* "worker-0" of a pod's labels, else its name; with "/container" when it has several. In the arena.
 */
const char *follow_label(struct arena *a, const struct json *pod, const char *container);
/* Whether a pod is the replica the user means. */
bool follow_wanted(const struct json *pod, const char *replica);

#endif
