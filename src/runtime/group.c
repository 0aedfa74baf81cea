/* group.c - see group.h. */
#include "runtime/group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/proc.h"

int64_t group_clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- making --- */

/* Our ends do not block; the program's own must. */
static int open_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0)
        return -errno;
    return 0;
}

static int open_descriptors(struct group *g)
{
    int rc = 0;

    g->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (g->event_fd < 0)
        return -errno;
    rc = open_pipe(g->staging);
    for (size_t i = 0; i < g->pod.containers_len && rc == 0; i++)
        for (int s = 0; s < CRI_STREAMS && rc == 0; s++)
            rc = open_pipe(g->pipes[i][s]);
    if (rc == 0) {
        g->fd_end = fcntl(g->event_fd, F_DUPFD_CLOEXEC, 0); /* the lowest that is free */
        rc = g->fd_end < 0 ? -errno : close(g->fd_end);
    }
    return rc;
}

int group_open(struct group *g, struct err *err)
{
    size_t size = sizeof(*g->memory) + g->pod.containers_len * sizeof(g->memory->slots[0]);
    int rc = open_descriptors(g);

    if (rc != 0)
        return err_set(err, ERR_INTERNAL, "cannot make the pod's pipes: %s", strerror(-rc));
    g->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (g->memory == MAP_FAILED) {
        g->memory = NULL;
        return err_set(err, ERR_INTERNAL, "out of memory");
    }
    return 0;
}

/* --- who is who --- */

void group_wake(const struct group *g)
{
    uint64_t one = 1;

    if (write(g->event_fd, &one, sizeof(one)) < 0)
        return; /* full: it is awake already */
}

bool group_is_own(const struct group *g, pid_t pid)
{
    return pid == g->memory->keeper || pid == g->memory->worker;
}

/* Of which container it is the program; NULL: of none. */
static struct group_slot *slot_of_program(const struct group *g, pid_t pid)
{
    for (size_t i = 0; i < g->pod.containers_len; i++) {
        struct group_slot *slot = &g->memory->slots[i];

        if (slot->under_way && !slot->ended && GROUP_CLAIM_PID(slot->program) == pid)
            return slot;
    }
    return NULL;
}

static bool is_minder(const struct group *g, pid_t pid)
{
    for (size_t i = 0; i < g->pod.containers_len; i++)
        if (g->memory->slots[i].under_way && !g->memory->slots[i].cleared &&
            GROUP_CLAIM_PID(g->memory->slots[i].minder) == pid)
            return true;
    return false;
}

bool group_claim(_Atomic uint64_t *claim, uint32_t ticket, pid_t pid)
{
    uint64_t expected = GROUP_CLAIM(ticket, 0);

    return atomic_compare_exchange_strong(claim, &expected, GROUP_CLAIM(ticket, pid)) ||
           expected == GROUP_CLAIM(ticket, pid);
}

static bool any_running(const struct group *g)
{
    for (size_t i = 0; i < g->pod.containers_len; i++)
        if (g->memory->slots[i].under_way && !g->memory->slots[i].ended)
            return true;
    return false;
}

/* --- ends --- */

static int wait_status(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED ? info->si_status << 8 : info->si_status;
}

/* The program's process group goes with it. It is killed while the dead leader still holds the
 * number; and its end is on record before anybody can lose it. */
static void record_end(struct group_slot *slot, const siginfo_t *info)
{
    (void)kill(-info->si_pid, SIGKILL);
    slot->status = wait_status(info);
    slot->ended = true;
}

bool group_reap(const struct group *g, pid_t watched, int *ret_status)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        struct group_slot *slot;

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno != ECHILD;
        if (info.si_pid == 0)
            return true;
        slot = slot_of_program(g, info.si_pid);
        if (slot)
            record_end(slot, &info);
        if (info.si_pid == watched)
            *ret_status = wait_status(&info);
        (void)waitpid(info.si_pid, NULL, 0);
        if (slot)
            group_wake(g);
    }
}

/* --- what is left behind --- */

/* A minder clears away after its container. Only when it was killed do children come to us: with
 * one container they are that one's; with several the environment tells, and what has none of it
 * goes with the last of them. */
static bool is_leftover(const struct group *g, pid_t pid)
{
    if (!any_running(g))
        return true;
    for (size_t i = 0; i < g->pod.containers_len; i++) {
        char pair[256];

        if (!g->memory->slots[i].ended)
            continue;
        (void)snprintf(pair, sizeof(pair), POD_ENV_CONTAINER "=%s", g->pod.containers[i].name);
        if (proc_has_env(pid, pair))
            return true;
    }
    return false;
}

struct sweep {
    const struct group *group;
    pid_t spared;
};

static void kill_leftover(void *arg, pid_t pid)
{
    const struct sweep *s = arg;
    const struct group *g = s->group;

    if (pid != s->spared && !group_is_own(g, pid) && !is_minder(g, pid) &&
        !slot_of_program(g, pid) && is_leftover(g, pid))
        (void)kill(pid, SIGKILL); /* our child: the number cannot be another's */
}

void group_sweep(const struct group *g, pid_t spared)
{
    struct sweep s = {.group = g, .spared = spared};

    proc_each_child(kill_leftover, &s);
}
