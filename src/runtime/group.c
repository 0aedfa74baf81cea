/* group.c - see group.h. */
#include "runtime/group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/orphan.h"
#include "runtime/proc.h"

int64_t group_clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- making --- */

/* Our ends are non-blocking; the program's must block. */
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

/* --- identifying processes --- */

/* Tells the worker to look. */
static void wake_worker(const struct group *g)
{
    uint64_t one = 1;

    if (write(g->event_fd, &one, sizeof(one)) < 0)
        return; /* full: it is already awake */
}

/* The container whose program it is; containers_len: none. */
static size_t container_of_program(const struct group *g, pid_t pid)
{
    size_t i = 0;

    for (; i < g->pod.containers_len; i++) {
        const struct group_slot *slot = &g->memory->slots[i];

        if (slot->under_way && !slot->ended && GROUP_CLAIM_PID(slot->program) == pid)
            break;
    }
    return i;
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

/* --- programs --- */

static void let_go(struct group *g, size_t container)
{
    if (g->held[container].ticket != 0)
        (void)close(g->held[container].fd);
    g->held[container].ticket = 0;
}

int group_program_fd(struct group *g, size_t container)
{
    const struct group_slot *slot = &g->memory->slots[container];
    pid_t pid = GROUP_CLAIM_PID(slot->program);
    int fd;

    if (g->held[container].ticket == slot->ticket)
        return g->held[container].fd;
    let_go(g, container);
    fd = pid > 0 ? pidfd_open(pid, 0) : -1;
    /* Ends are recorded before reaping: if it is not recorded yet, the pid was still its own. */
    if (fd >= 0 && (slot->ended || !slot->under_way)) {
        (void)close(fd);
        fd = -1;
    }
    if (fd >= 0) {
        g->held[container].fd = fd;
        g->held[container].ticket = slot->ticket;
    }
    return fd;
}

void group_hold_programs(struct group *g)
{
    for (size_t i = 0; i < g->pod.containers_len; i++)
        if (g->memory->slots[i].under_way && !g->memory->slots[i].ended)
            (void)group_program_fd(g, i);
        else
            let_go(g, i);
}

/* --- ends --- */

static int wait_status(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED ? info->si_status << 8 : info->si_status;
}

void group_record_end(struct group *g, size_t container, int status)
{
    struct group_slot *slot = &g->memory->slots[container];

    slot->status = status;
    slot->ended = true;
}

bool group_reap(struct group *g, pid_t watched, int *ret_status)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        size_t container;

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno != ECHILD;
        if (info.si_pid == 0)
            return true;
        if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) {
            orphan_go_on(info.si_pid);
            continue;
        }
        container = container_of_program(g, info.si_pid);
        if (container < g->pod.containers_len) {
            (void)kill(-info.si_pid, SIGKILL); /* while the dead leader still holds the number */
            group_record_end(g, container, wait_status(&info));
        }
        if (info.si_pid == watched)
            *ret_status = wait_status(&info);
        (void)waitpid(info.si_pid, NULL, 0);
        wake_worker(g);
    }
}

/* --- leftovers --- */

struct sweep {
    const struct group *group;
    pid_t parent;
    bool found;
};

/* With one container everything inherited is its; with several the environment tells, and a process
 * without it belongs to the last of them. */
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

/* The keeper reaps its own children: a pid that is still its child is held by a pidfd before
 * killing. */
static void kill_leftover(void *arg, pid_t pid)
{
    struct sweep *s = arg;
    struct proc_stat stat;
    int fd;

    if (pid == getpid() || container_of_program(s->group, pid) < s->group->pod.containers_len ||
        !is_leftover(s->group, pid))
        return;
    fd = pidfd_open(pid, 0);
    if (fd >= 0 && proc_stat_read(pid, &stat) == 0 && stat.parent == s->parent) {
        s->found = true;
        (void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
    }
    if (fd >= 0)
        (void)close(fd);
}

bool group_sweep(const struct group *g, pid_t keeper)
{
    struct sweep s = {.group = g, .parent = getpid()};

    proc_each_child(s.parent, kill_leftover, &s);
    s.parent = keeper;
    proc_each_child(s.parent, kill_leftover, &s);
    return s.found;
}
