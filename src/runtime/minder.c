/* minder.c - see minder.h. It is forked by a process that runs and has everything open: no
 * allocation, no buffered output here. */
#include "runtime/minder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/keeper.h"
#include "runtime/proc.h"

static sigset_t signals_of_interest(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, KEEPER_PARENT_SIGNAL);
    return set;
}

static void settle_down(const struct group *g)
{
    sigset_t set = signals_of_interest();

    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    (void)signal(SIGTERM, SIG_IGN);
    (void)prctl(PR_SET_NAME, "muster-minder");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)close_range((unsigned)g->fd_end, ~0u, 0);
    (void)prctl(PR_SET_PDEATHSIG, KEEPER_PARENT_SIGNAL);
}

/* Our parent died. If neither the keeper nor the worker is our parent now, both may be gone: then
 * we are the last who can put somebody in their place. Whoever is too many leaves by himself. */
static void look_up(struct group *g)
{
    pid_t pid;

    if (group_is_own(g, getppid()))
        return;
    pid = fork();
    if (pid == 0)
        keeper_replace(g);
    if (pid > 0)
        g->memory->keeper = pid; /* at once: what is not the group's is killed with the program */
}

static void kill_descendant(void *arg, pid_t pid)
{
    if (!group_is_own(arg, pid))
        (void)kill(pid, SIGKILL); /* our child: the number cannot be another's */
}

struct count {
    struct group *group;
    unsigned left;
};

static void count_descendant(void *arg, pid_t pid)
{
    struct count *c = arg;

    c->left += !group_is_own(c->group, pid);
}

static bool has_descendants(struct group *g)
{
    struct count c = {.group = g, .left = 0};

    proc_each_child(count_descendant, &c);
    return c.left > 0;
}

static _Noreturn void mind(const struct minder *m)
{
    sigset_t set = signals_of_interest();

    for (;;) {
        bool children = group_reap(m->group, 0, NULL);

        if (m->slot->ended && children)
            proc_each_child(kill_descendant, m->group);
        if (m->slot->ended && (!children || !has_descendants(m->group)))
            break;
        if (!m->slot->ended && !children)
            break; /* it was no child of ours any more, or never was */
        if (sigwaitinfo(&set, NULL) == KEEPER_PARENT_SIGNAL)
            look_up(m->group);
    }
    m->slot->cleared = m->slot->ended;
    group_wake(m->group);
    _exit(0);
}

void minder_stay(void *arg, pid_t (*fork_program)(void *plan), void *plan)
{
    struct minder *m = arg;
    pid_t pid;

    if (!group_claim(&m->slot->minder, m->ticket, getpid()))
        _exit(0);
    pid = fork_program(plan);
    if (pid == 0) {
        if (!group_claim(&m->slot->program, m->ticket, getpid()))
            _exit(0);
        return;
    }
    settle_down(m->group);
    if (pid < 0) {
        m->slot->failure = (struct launch_failure){.stage = LAUNCH_STAGE_FORK, .errnum = errno};
        _exit(0);
    }
    /* Also by us, so that its end is known for what it is however early it comes. */
    (void)group_claim(&m->slot->program, m->ticket, pid);
    look_up(m->group); /* the worker may have died before we asked to be told */
    mind(m);
}
