/* keeper.c - see keeper.h. It must be as robust as possible: it waits, forks and records, and
 * touches nothing that the worker writes. */
#include "runtime/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/orphan.h"
#include "runtime/output.h"
#include "runtime/proc.h"
#include "runtime/worker.h"

/* A worker that repeatedly dies right after its start is broken, not killed: it is delayed. */
#define QUICK_DEATH_MS 50
#define QUICK_DEATHS_LIMIT 5
#define QUICK_DEATHS_PAUSE_MS 500

static sigset_t signals_of_interest(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGTERM);
    return set;
}

static void settle_down(void)
{
    sigset_t set = signals_of_interest();

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    (void)prctl(PR_SET_NAME, "muster-keeper");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        (void)fprintf(stderr, "child subreaper: %s\n", strerror(errno));
}

static void pause_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&t, NULL);
}

static bool is_orphan(pid_t pid)
{
    struct proc_stat stat;

    return proc_stat_read(pid, &stat) == 0 && stat.parent != getpid();
}

/* For a new keeper that replaces a killed one, whose children have gone to the machine's init. */
static void trace_orphans(struct group *g)
{
    for (size_t i = 0; i < g->pod.containers_len; i++) {
        const struct group_slot *slot = &g->memory->slots[i];
        pid_t pid = GROUP_CLAIM_PID(slot->program);
        int rc;

        if (!slot->under_way || slot->ended || pid <= 0 || !is_orphan(pid))
            continue;
        if (orphan_is_told())
            return;
        rc = orphan_trace(group_program_fd(g, i), pid);
        if (rc != 0)
            (void)fprintf(stderr, "how %s ends will not be known: %s\n", g->pod.containers[i].name,
                          strerror(-rc));
    }
}

static pid_t fork_worker(struct group *g)
{
    pid_t pid;

    group_hold_programs(g);
    while ((pid = fork()) < 0)
        pause_ms(QUICK_DEATHS_PAUSE_MS); /* out of memory or processes: temporary */
    return pid;
}

/* Returns when it is gone. */
static void wait_for_worker(struct group *g, pid_t worker)
{
    sigset_t set = signals_of_interest();
    int status = -1;

    for (;;) {
        (void)group_reap(g, worker, &status);
        if (status != -1)
            return;
        if (sigwaitinfo(&set, NULL) == SIGTERM)
            (void)kill(worker, SIGTERM); /* our child, and not reaped yet */
    }
}

/* Acts as that keeper's worker. Returns when the keeper is dead, and we must take its place. */
static void work(struct group *g, pid_t keeper)
{
    worker_stay(g, keeper);
    if (getppid() == keeper)
        _exit(0);
    settle_down();
    trace_orphans(g);
}

/* --- the end --- */

static void kill_child(void *arg, pid_t pid)
{
    (void)arg;
    (void)kill(pid, SIGKILL);
}

static void clear_away(struct group *g)
{
    sigset_t set = signals_of_interest();

    while (group_reap(g, 0, NULL)) {
        proc_each_child(getpid(), kill_child, NULL);
        (void)sigwaitinfo(&set, NULL);
    }
}

/* Commands run in the pod from outside have other parents, which end them with their container; but
 * the pod is not over before they are. */
static void kill_executed(const struct group *g)
{
    char pair[128];

    if (!pod_is_executed(g->dir_fd))
        return;
    (void)snprintf(pair, sizeof(pair), POD_ENV_UID "=%s", g->pod.uid);
    proc_kill_by_env(pair, NULL);
}

/* The last record names the keeper: a reader can wait for our end, which frees the lock. */
static int write_final(struct group *g, struct arena *a)
{
    struct pod_record record;
    struct proc_stat stat;

    if (pod_record_read(g->dir_fd, a, &record, NULL) != 0)
        return -ENOENT;
    record.final = true;
    record.pid = getpid();
    record.start_ticks = proc_stat_read(getpid(), &stat) == 0 ? stat.start_ticks : 0;
    return pod_record_write(g->dir_fd, &record, POD_SYNCED);
}

/* The exit record is this process's purpose, so it waits for a full disk. */
static void say_final(struct group *g)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);

    while (write_final(g, &a) != 0) {
        if (faccessat(g->dir_fd, POD_FILE_RUN, F_OK, 0) != 0)
            break; /* the folder itself is gone */
        arena_reset(&a);
        pause_ms(1000);
    }
    arena_release(&a);
}

/* A log that ended on a full disk still gets a mark of what is missing: the space reserved for
 * stopping the pod is no longer needed. */
static void mark_gaps(struct group *g)
{
    for (size_t i = 0; i < g->pod.containers_len; i++) {
        struct output o;

        output_init(&o, g, i);
        if (output_log(&o)->cri.lost_bytes > output_log(&o)->cri.told_bytes) {
            pod_file_give_up_room(g->dir_fd, POD_FILE_STOP);
            output_begin_run(&o, output_log(&o)->run);
            output_end(&o);
        }
        output_release(&o);
    }
}

void keeper_stay(struct group *g)
{
    int quick = 0;

    settle_down();
    while (!g->memory->over) {
        int64_t begun = group_clock_ms();
        pid_t keeper = getpid(), worker = fork_worker(g);

        if (worker == 0) {
            work(g, keeper);
            continue;
        }
        wait_for_worker(g, worker);
        quick = group_clock_ms() - begun < QUICK_DEATH_MS ? quick + 1 : 0;
        if (quick > QUICK_DEATHS_LIMIT)
            pause_ms(QUICK_DEATHS_PAUSE_MS);
    }
    clear_away(g);
    kill_executed(g);
    mark_gaps(g);
    say_final(g);
}
