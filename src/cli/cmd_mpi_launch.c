/*
 * cmd_mpi_launch.c - `muster mpi-launch`: the launcher of an MPIJob (core/mpi.h). Waits for the
 * workers, writes the hostfile and runs mpirun, whose output and exit code are the job's.
 *
 * On a single machine all workers have its address. Open MPI must not conclude that they are local:
 * names are not resolved, it communicates over the loopback, and ranks are not bound to processors
 * as if they had them to themselves.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/pod_messages.h"
#include "cli/command.h"
#include "cli/mpi_rsh.h"
#include "cli/mpi_wait.h"
#include "cli/mpi_watch.h"
#include "cli/program_path.h"
#include "client/pod_config.h"
#include "core/mpi.h"
#include "loop/file.h"

#define KEY_LIMIT_BYTES (16u * 1024u)
#define HOSTFILE_LIMIT_BYTES (4u * 1024u * 1024u)
#define WORDS_LIMIT (4 * OPTION_LIST_LIMIT)
#define EXIT_NO_MPIRUN 127
#define NO_MPIRUN_HINT "install MPI (Debian: openmpi-bin), or set spec.mpiConfig.home to its folder"
#define LOOPBACK_INTERFACE "lo"

struct launch_options {
    const char *ns, *implementation, *home, *ssh;
    struct option_list workers, mca, extra;
    int64_t slots, timeout_s;
};

static const struct launch_options defaults = {
    .slots = 1, .timeout_s = MPI_READY_TIMEOUT_SECONDS, .implementation = "openmpi"};

static const char *const implementations[] = {"openmpi", "intel", "mpich", NULL};

/* Each implementation's hostfile format. Intel MPI's -f accepts only names. */
static const struct hostfile_form {
    const char *implementation, *option, *before_slots;
} hostfile_forms[] = {
    {"openmpi", "--hostfile", " slots="},
    {"intel", "-machinefile", ":"},
    {"mpich", "-f", ":"},
};

static const struct option_spec options[] = {
    OPTION_OF_TEXT(struct launch_options, ns, "namespace", "NAME",
                   "of the workers (default: the launcher's own)"),
    OPTION_OF(OPTION_LIST, struct launch_options, workers, "worker", "POD",
              "a worker's pod; once for each"),
    OPTION_OF_INT(struct launch_options, slots, "slots", "N", "processes per worker (default: 1)"),
    OPTION_OF(OPTION_CHOICE, struct launch_options, implementation, "implementation",
              "openmpi|intel|mpich", "whose mpirun it is (default: openmpi)",
              .values = implementations),
    OPTION_OF_INT(struct launch_options, timeout_s, "timeout", "SECONDS",
                  "how long to wait for the workers (default: 300)"),
    OPTION_OF_TEXT(struct launch_options, home, "home", "DIR",
                   "where MPI is installed: DIR/bin/mpirun, else the one of PATH"),
    OPTION_OF_TEXT(struct launch_options, ssh, "ssh", "DIR",
                   "start programs by ssh, with the keys in DIR"),
    OPTION_OF(OPTION_LIST, struct launch_options, mca, "mca", "KEY=VALUE",
              "an Open MPI parameter; repeated"),
    OPTION_OF(OPTION_LIST, struct launch_options, extra, "extra", "ARG",
              "an argument for mpirun; repeated"),
    {0},
};

/* mpirun's command line under construction. */
struct words {
    struct arena *arena;
    const char *list[WORDS_LIMIT + 1];
    size_t len;
};

static void add(struct words *w, const char *word)
{
    if (!word || w->len == WORDS_LIMIT)
        w->arena->failed = true;
    else
        w->list[w->len++] = word;
}

/* --- the hostfile ---------------------------------------------------------------------- */

static bool is_openmpi(const struct launch_options *o)
{
    return strcmp(o->implementation, "openmpi") == 0;
}

static const struct hostfile_form *form_of(const struct launch_options *o)
{
    size_t i = 0;

    while (i < ELEMS(hostfile_forms) - 1 &&
           strcmp(hostfile_forms[i].implementation, o->implementation) != 0)
        i++;
    return &hostfile_forms[i];
}

/* An unnamed file that mpirun and its children can open while we run, and that vanishes afterwards.
 * Releases the text. */
static const char *write_file(struct arena *a, struct buf *text)
{
    int fd = memfd_create("mpi-launch", 0);
    const char *path = NULL;

    if (fd >= 0 && fchmod(fd, 0600) == 0 && !text->failed &&
        write(fd, text->data, text->len) == (ssize_t)text->len)
        path = arena_printf(a, "/proc/%d/fd/%d", (int)getpid(), fd);
    buf_release(text);
    return path;
}

static const char *write_hostfile(struct arena *a, const struct launch_options *o)
{
    struct buf text = BUF_INIT(HOSTFILE_LIMIT_BYTES);

    for (size_t i = 0; i < o->workers.len; i++)
        buf_addf(&text, "%s%s%lld\n", o->workers.items[i], form_of(o)->before_slots,
                 (long long)o->slots);
    return write_file(a, &text);
}

/* --- ssh ------------------------------------------------------------------------------- */

#define HOST_KEY_ALIAS "mpi-worker"
#define SSH_ATTEMPTS 60 /* one a second: a worker may be ready before its sshd listens */

static const char *copy_key(struct arena *a, const struct launch_options *o, const char *name,
                            const char *before, struct err *err)
{
    struct buf text = BUF_INIT(KEY_LIMIT_BYTES), line = BUF_INIT(KEY_LIMIT_BYTES);
    const char *path = arena_printf(a, "%s/%s", o->ssh, name);
    int rc = path ? file_read(path, KEY_LIMIT_BYTES, &text) : -ENOMEM;

    buf_addf(&line, "%s%.*s", before, (int)text.len, text.data ? text.data : "");
    buf_release(&text);
    if (rc < 0) {
        buf_release(&line);
        (void)err_set(err, ERR_INTERNAL, "%s cannot be read: %s", path ? path : name,
                      strerror(-rc));
        return NULL;
    }
    return write_file(a, &line);
}

/* Names are pod names and need not resolve; every worker has the job's key. */
static int set_up_ssh(struct arena *a, const struct launch_options *o,
                      const struct mpi_workers *workers, struct err *err)
{
    struct buf text = BUF_INIT(HOSTFILE_LIMIT_BYTES);
    const char *key = copy_key(a, o, MPI_KEY_PRIVATE, "", err), *path;
    const char *known = key ? copy_key(a, o, MPI_KEY_PUBLIC, HOST_KEY_ALIAS " ", err) : NULL;

    if (!known)
        return -1;
    for (size_t i = 0; i < o->workers.len; i++)
        buf_addf(&text, "Host %s\n HostName %s\n", o->workers.items[i], workers->addresses[i]);
    buf_addf(&text,
             "Host *\n Port %d\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n"
             " HostKeyAlias " HOST_KEY_ALIAS "\n StrictHostKeyChecking yes\n BatchMode yes\n"
             " LogLevel ERROR\n ConnectionAttempts %d\n",
             MPI_SSH_PORT, key, known, SSH_ATTEMPTS);
    path = write_file(a, &text);
    return path && setenv(MPI_RSH_SSH, path, 1) == 0
               ? 0
               : err_set(err, ERR_INTERNAL, "the configuration of ssh cannot be written");
}

/* --- mpirun ---------------------------------------------------------------------------- */

/* If started by its full path, Open MPI expects to be installed under the same prefix in the
 * workers: only for users who specify it. */
static const char *find_mpirun(struct cli *cli, const struct launch_options *o,
                               const char **ret_name)
{
    const char *path = o->home ? arena_printf(&cli->arena, "%s/bin/mpirun", o->home) : NULL;

    *ret_name = path;
    if (program_is_executable(path))
        return path;
    *ret_name = "mpirun";
    path = program_find(&cli->arena, "mpirun");
    if (path && o->home)
        talk_note(&cli->talk, "there is no %s/bin/mpirun here: using %s", o->home, path);
    if (path)
        return path;
    talk_errorf(&cli->talk, "mpirun was not found%s%s%s in PATH; " NO_MPIRUN_HINT,
                o->home ? ": there is no " : "", o->home ? o->home : "",
                o->home ? "/bin/mpirun, and none" : "");
    return NULL;
}

/* --- its command line ------------------------------------------------------------------ */

static bool user_set(const struct launch_options *o, const char *key)
{
    size_t len = strlen(key);

    for (size_t i = 0; i < o->mca.len; i++)
        if (strncmp(o->mca.items[i], key, len) == 0 && o->mca.items[i][len] == '=')
            return true;
    for (size_t i = 0; i < o->extra.len; i++)
        if (strcmp(o->extra.items[i], key) == 0) /* -mca KEY VALUE, or an option */
            return true;
    return false;
}

static void add_mca(struct words *w, const struct launch_options *o, const char *key,
                    const char *value)
{
    if (user_set(o, key))
        return;
    add(w, "-mca");
    add(w, key);
    add(w, value);
}

static void add_user_mca(struct words *w, const char *pair)
{
    size_t len = strcspn(pair, "=");

    add(w, "-mca");
    add(w, arena_strndup(w->arena, pair, len));
    add(w, pair[len] ? pair + len + 1 : "");
}

static void add_one_machine(struct words *w, const struct launch_options *o)
{
    add_mca(w, o, "oob_tcp_if_include", LOOPBACK_INTERFACE);
    if (!user_set(o, "btl_tcp_if_exclude"))
        add_mca(w, o, "btl_tcp_if_include", LOOPBACK_INTERFACE);
    /* Workers do not know of each other's processes on the same processors. */
    if ((int64_t)o->workers.len * o->slots > sysconf(_SC_NPROCESSORS_ONLN))
        add_mca(w, o, "mpi_yield_when_idle", "1");
    if (!user_set(o, "--bind-to") && !user_set(o, "-bind-to") && !user_set(o, "--bind-to-core")) {
        add(w, "--bind-to");
        add(w, "none");
    }
}

/* Open MPI 5 starts its daemons with PRRTE, which has its own names for these; version 4 does not
 * know them. It finds its interfaces itself: restricted to the loopback it would find none. User
 * settings stay. */
static void set_prrte(struct words *w, const char *agent, const char *fork_agent)
{
    const char *const variables[][2] = {
        {"PRTE_MCA_plm_ssh_agent", agent},          {"PRTE_MCA_plm_ssh_no_tree_spawn", "1"},
        {"PRTE_MCA_prte_fork_agent", fork_agent},   {"PRTE_MCA_prte_do_not_resolve", "1"},
        {"PRTE_MCA_prte_keep_fqdn_hostnames", "1"},
    };

    for (size_t i = 0; i < ELEMS(variables); i++)
        if (variables[i][1] && setenv(variables[i][0], variables[i][1], 0) != 0)
            w->arena->failed = true;
}

static void add_openmpi(struct words *w, const struct launch_options *o, bool one_machine,
                        const char *exe)
{
    const char *agent = arena_printf(w->arena, "%s %s", exe, MPI_RSH_COMMAND);
    /* Workers reached by ssh need no muster. */
    const char *fork_agent = o->ssh ? NULL : arena_printf(w->arena, "%s %s", exe, MPI_RANK_COMMAND);

    set_prrte(w, agent, fork_agent);
    if (fork_agent &&
        !user_set(o, "plm_rsh_agent")) /* another launcher does not pass on what ranks need */
        add_mca(w, o, "orte_fork_agent", fork_agent);
    add_mca(w, o, "plm_rsh_agent", agent);
    /* The launcher starts all of them: only its pod has the token for it. */
    add_mca(w, o, "plm_rsh_no_tree_spawn", "1");
    add_mca(w, o, "if_base_do_not_resolve", "1");
    add_mca(w, o, "orte_keep_fqdn_hostnames", "1"); /* pod names may contain dots */
    if (one_machine)
        add_one_machine(w, o);
    if (geteuid() == 0 && !user_set(o, "--allow-run-as-root"))
        add(w, "--allow-run-as-root");
    for (size_t i = 0; i < o->mca.len; i++)
        add_user_mca(w, o->mca.items[i]);
}

/* Ranks get their worker's environment, as with Open MPI, not the launcher's with its names and
 * token; the user may override that. */
static void add_no_environment(struct words *w, const struct launch_options *o)
{
    static const char *const others[] = {"-genvall", "-genvnone", "-genvlist", "-genvexcl"};

    for (size_t i = 0; i < ELEMS(others); i++)
        if (user_set(o, others[i]))
            return;
    add(w, "-genvnone");
}

/* Hydra takes the rest from the environment. A host with this machine's name is still one of its
 * workers: nothing is started locally instead (autofork). */
static void add_hydra(struct cli *cli, struct words *w, const struct launch_options *o,
                      const char *exe)
{
    const char *const variables[][2] = {
        {"HYDRA_LAUNCHER", "ssh"},        {"I_MPI_HYDRA_BOOTSTRAP", "ssh"},
        {"HYDRA_LAUNCHER_EXEC", exe},     {"I_MPI_HYDRA_BOOTSTRAP_EXEC", exe},
        {"HYDRA_LAUNCHER_AUTOFORK", "0"}, {"I_MPI_HYDRA_BOOTSTRAP_AUTOFORK", "0"},
    };

    for (size_t i = 0; i < ELEMS(variables); i++)
        if (setenv(variables[i][0], variables[i][1], 1) != 0)
            w->arena->failed = true;
    add_no_environment(w, o);
    if (o->mca.len > 0)
        talk_warn(&cli->talk, "mca parameters are Open MPI's: they are left out for %s",
                  o->implementation);
}

/* With a code that looks like a signal's the log's last line would not be taken for the reason. */
static void leave_message(const char *cause)
{
    const char *path = getenv(MESSAGE_VARIABLE);
    FILE *f = path ? fopen(path, "ae") : NULL;

    if (!f)
        return;
    (void)fprintf(f, "error: %s\n", cause);
    (void)fclose(f);
}

static enum exit_code run_mpirun(struct cli *cli, const char *path, const char *const *argv,
                                 struct mpi_ranks *ranks)
{
    const char *cause = NULL;
    auto_err err = ERR_INIT;
    int code = mpi_watch_run(path, argv, ranks, &cli->arena, &cause, &err);

    if (code < 0) {
        talk_error(&cli->talk, &err);
        return (enum exit_code)EXIT_NO_MPIRUN;
    }
    if (cause) {
        talk_errorf(&cli->talk, "%s", cause);
        leave_message(cause);
    }
    return (enum exit_code)code;
}

/* Hydra has no parameter for it. Its contexts after a colon have options before the program: for
 * those only its exit code is available, which is correct. */
static void add_rank_command(struct words *w, const struct launch_options *o,
                             const struct args *args, const char *exe)
{
    if (is_openmpi(o) || o->ssh || args->list[0][0] == '-')
        return;
    add(w, exe);
    add(w, MPI_RANK_COMMAND);
}

static enum exit_code launch(struct cli *cli, const struct launch_options *o,
                             const struct args *args, const struct mpi_workers *workers,
                             struct mpi_ranks *ranks)
{
    struct words *w = arena_alloc(&cli->arena, sizeof(*w));
    const char *hostfile = write_hostfile(&cli->arena, o), *exe = getenv("MUSTER_EXE");
    const char *name, *path = find_mpirun(cli, o, &name);

    if (!path)
        return (enum exit_code)EXIT_NO_MPIRUN;
    if (!w || !hostfile || !exe || !*exe) {
        talk_errorf(&cli->talk, "the hostfile cannot be written, or MUSTER_EXE is not set");
        return EXIT_FAILED;
    }
    w->arena = &cli->arena;
    add(w, name);
    add(w, form_of(o)->option);
    add(w, hostfile);
    if (is_openmpi(o))
        add_openmpi(w, o, workers->one_machine, exe);
    else
        add_hydra(cli, w, o, exe);
    for (size_t i = 0; i < o->extra.len; i++)
        add(w, o->extra.items[i]);
    add_rank_command(w, o, args, exe);
    for (size_t i = 0; i < args->len; i++)
        add(w, args->list[i]);
    if (arena_failed(&cli->arena)) {
        talk_errorf(&cli->talk, "the command line is too long");
        return EXIT_FAILED;
    }
    return run_mpirun(cli, path, w->list, ranks);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct launch_options *o = values;
    struct client_config config;
    struct mpi_workers workers;
    struct mpi_ranks *ranks;
    enum exit_code code;
    auto_err err = ERR_INIT;
    struct mpi_wait wait = {.config = &config,
                            .workers = o->workers.items,
                            .workers_len = o->workers.len,
                            .timeout_seconds = o->timeout_s,
                            .by_ssh = o->ssh,
                            .talk = &cli->talk};

    if (o->workers.len == 0) {
        talk_errorf(&cli->talk, "there is no worker: --worker=POD is needed");
        return EXIT_USAGE;
    }
    if (pod_config_load(&cli->arena, &config, &err)) {
        talk_errorf(&cli->talk, "%s; %s", err.text, err.hint ? err.hint : "");
        return EXIT_NOT_LOGGED_IN;
    }
    wait.ns = o->ns ? o->ns : config.ns ? config.ns : "default";
    if (mpi_wait_for_workers(&cli->arena, &wait, &workers, &err)) {
        talk_error(&cli->talk, &err);
        return (enum exit_code)MPI_EXIT_NOT_READY;
    }
    puts("services are ready!");
    (void)fflush(stdout);
    if (setenv("MUSTER_NAMESPACE", wait.ns, 1) != 0 || setenv(MPI_HWLOC, MPI_HWLOC_VALUE, 0) != 0 ||
        (workers.container && setenv(MPI_RSH_CONTAINER, workers.container, 1) != 0)) {
        talk_errorf(&cli->talk, "out of memory");
        return EXIT_FAILED;
    }
    ranks = o->ssh && set_up_ssh(&cli->arena, o, &workers, &err) < 0
                ? NULL
                : mpi_ranks_new(workers.one_machine, &err);
    if (!ranks) {
        talk_error(&cli->talk, &err);
        return EXIT_FAILED;
    }
    code = launch(cli, o, args, &workers, ranks);
    mpi_ranks_free(ranks);
    return code;
}

const struct command command_mpi_launch = {
    .name = MPI_LAUNCH_COMMAND,
    .args = "-- PROGRAM [ARG...]",
    .summary = "Wait for an MPIJob's workers and run mpirun: what its launcher runs",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct launch_options),
    .min_args = 1,
    .max_args = ARGS_LIMIT,
    .hidden = true,
    .run = run,
};
