/* cmd_exec.c - `muster exec`: a command in a pod, or in a replica of a job. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/object.h"
#include "cli/exec_pump.h"
#include "cli/session.h"
#include "cli/words.h"

struct exec_options {
    struct session_options session;
    const char *container, *replica;
    bool input, tty;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct exec_options, input, "stdin", "pass standard input on to it",
                   .letter = 'i'),
    OPTION_OF_FLAG(struct exec_options, tty, "tty", "give it this terminal", .letter = 't'),
    OPTION_OF_TEXT(struct exec_options, container, "container", "NAME",
                   "the container, if the pod has several", .letter = 'c'),
    OPTION_OF_TEXT(struct exec_options, replica, "replica", "NAME",
                   "the job's replica: worker-1 (default: the first that runs)"),
    SESSION_OPTIONS(struct exec_options, session),
    {0},
};

static bool ends_with(const char *name, const char *replica)
{
    size_t n = strlen(name), m = strlen(replica);

    return n > m && name[n - m - 1] == '-' && strcmp(name + n - m, replica) == 0;
}

static bool fits(const struct json *pod, const char *replica)
{
    return !object_is_deleting(pod) && json_string_is(json_at(pod, "status", "phase"), "Running") &&
           (!replica || ends_with(object_name(pod), replica));
}

static int pick_replica(struct session *s, const struct json *job, const char *replica,
                        const char **ret, struct err *err)
{
    struct json *pods = NULL;
    int rc = session_list(s, &kind_pod, s->ns, NULL, &pods, err);

    if (rc)
        return rc;
    json_each (pod, json_get(pods, "items"))
        if (object_is_controlled_by(pod, object_uid(job)) && fits(pod, replica)) {
            *ret = object_name(pod);
            return 0;
        }
    rc = err_set(err, ERR_NOT_FOUND, words("'%s' has no running replica%s%s"), object_name(job),
                 replica ? " " : "", replica ? replica : "");
    err_hint(err, words("'muster describe %s' says why"), object_name(job));
    return rc;
}

/* The pod itself, or one of those the named object controls. */
static int find_pod(struct session *s, const struct exec_options *o, const char *word,
                    const char **ret, struct err *err)
{
    const struct kind *k = NULL;
    struct json *object = NULL;
    int rc = session_find_object(s, word, &k, &object, err);

    if (rc)
        return rc;
    *ret = object_name(object);
    return k == &kind_pod ? 0 : pick_replica(s, object, o->replica, ret, err);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct exec_options *o = values;
    struct exec_client_options how = {
        .container = o->container,
        .argv = args->list + 1,
        .wants_stdin = o->input || o->tty,
        .tty = o->tty && isatty(STDIN_FILENO),
    };
    struct session s = {0};
    auto_err err = ERR_INIT;
    int code = -1;

    if (session_open(cli, &o->session, &s, &err) == 0 &&
        find_pod(&s, o, args->list[0], &how.pod, &err) == 0) {
        how.ns = s.ns;
        how.config = &s.config;
        code = exec_pump_run(&how, &err);
    }
    session_close(&s);
    return code < 0 ? command_fail(cli, &err) : (enum exit_code)code;
}

const struct command command_exec = {
    .name = "exec",
    .args = "POD|JOB -- COMMAND [ARG...]",
    .summary = "Run a command in a pod, or in a replica of a job",
    .examples = "  muster exec -it mnist -- bash\n"
                "  muster exec mnist --replica worker-1 -- nvidia-smi\n",
    .help = "Exits with the command's exit code.\n",
    .options = options,
    .options_size = sizeof(struct exec_options),
    .min_args = 2,
    .max_args = ARGS_LIMIT - 1,
    .run = run,
};
