/*
 * worker.c - see worker.h. One thread, one poll loop, no libuv, little memory: there is one per pod
 * for as long as it trains. It must never wait for the daemon, nor for a full disk.
 *
 * What must not be forgotten is in the group's memory before it is acted upon; state.json follows.
 */
#include "runtime/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/console.h"
#include "runtime/container_end.h"
#include "runtime/end_message.h"
#include "runtime/hook.h"
#include "runtime/orphan.h"
#include "runtime/output.h"
#include "runtime/probe.h"
#include "runtime/proc.h"

/* How an orphan ended is known once the machine's init has reaped it, which may be slow. */
#define STATUS_WAIT_MS 60000
#define STATUS_RECHECK_MS 20
#define SIGNAL_GROUP (1u << 2) /* PIDFD_SIGNAL_PROCESS_GROUP, which Debian 12's headers lack */
/* The minimum between preStop and SIGKILL, and the maximum for postStart. */
#define PRE_STOP_REST_MS 2000
#define POST_START_MOST_MS (INT64_C(7) * 24 * 3600 * 1000)

/* Restarts: at once, then after 10 s, 20 s ... 5 min; starting over after a good run. */
#define BACKOFF_FIRST_MS 10000
#define BACKOFF_MOST_MS 300000
#define BACKOFF_FORGOTTEN_MS 600000

struct container {
    const struct container_start *start;
    struct container_state *state;
    struct container_state last; /* state->last, if set */
    struct group_slot *slot;
    struct output output;
    struct console *console; /* or NULL */
    char *text, *last_text;  /* messages of state and last */
    struct probe probes[PROBE_PURPOSES];
    struct hook hooks[HOOK_PURPOSES];
    int64_t exited_at_ms; /* when its exit was seen, before its status is known; 0: running */
};

struct worker {
    struct group *g;
    struct group_memory *m;
    pid_t keeper;
    struct arena arena;
    int signal_fd, keeper_fd;
    struct pod_record state;
    struct container *containers;
    struct output *outputs;
    size_t len;
    struct pod_note notes[POD_NOTES_LIMIT];
    int64_t last_note;
    bool alone;                     /* the keeper is dead */
    bool dirty;                     /* state.json must be written ... */
    enum pod_durability durability; /* ... with this durability */
};

static int64_t wall_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void changed(struct worker *w, enum pod_durability durability)
{
    w->dirty = true;
    if (durability == POD_SYNCED)
        w->durability = POD_SYNCED;
}

/* Messages live as long as the state that refers to them: a container may be restarted forever. */
static void set_message(struct container *c, const char *message)
{
    free(c->text);
    c->text = strdup(message ? message : "");
    c->state->message = c->text ? c->text : "";
}

/* The agent turns it into an event. The oldest are dropped. */
static void note(struct worker *w, bool warning, const char *reason, const char *message)
{
    struct pod_run *run = &w->state.run;

    if (run->notes_len == POD_NOTES_LIMIT) {
        free((char *)(uintptr_t)w->notes[0].message);
        memmove(w->notes, w->notes + 1, (POD_NOTES_LIMIT - 1) * sizeof(w->notes[0]));
        run->notes_len--;
    }
    w->notes[run->notes_len++] = (struct pod_note){
        .number = ++w->last_note, .warning = warning, .reason = reason, .message = strdup(message)};
    if (!w->notes[run->notes_len - 1].message)
        run->notes_len--;
    changed(w, POD_NOT_SYNCED);
}

/* --- ends --- */

static bool is_running(const struct container *c)
{
    return c->slot->under_way && !c->slot->ended;
}

static bool wants_restart(const struct worker *w, const struct container *c)
{
    if (w->m->stopping || c->state->phase != CONTAINER_TERMINATED)
        return false;
    switch (w->g->pod.restart) {
    case POD_RESTART_NEVER:
        return false;
    case POD_RESTART_ON_FAILURE:
        return c->state->exit_code != 0;
    case POD_RESTART_ALWAYS:
        return c->state->exit_code != 0 || !c->start->init;
    }
    return false;
}

static void record_end(struct worker *w, struct container *c, int exit_code, const char *reason,
                       const char *message)
{
    uint64_t lost = output_log(&c->output)->cri.lost_bytes;
    char *more = NULL;

    if (lost > 0 && asprintf(&more, "%s%s%" PRIu64 " bytes of its log could not be written",
                             message, *message ? "; " : "", lost) < 0)
        more = NULL;
    c->state->phase = CONTAINER_TERMINATED;
    c->state->exit_code = exit_code;
    c->state->finished_ms = wall_ms();
    c->state->reason = reason;
    c->state->ready = c->state->started = false;
    set_message(c, more ? more : message);
    free(more);
    if (cri_writer_sync(&c->output.writer) != 0)
        (void)fprintf(stderr, "the log of %s: fsync: %s\n", c->state->name, strerror(errno));
    changed(w, POD_SYNCED);
}

static int64_t next_backoff(const struct group_slot *slot, int64_t now)
{
    if (now - slot->started_at_ms >= BACKOFF_FORGOTTEN_MS)
        return 0;
    return slot->backoff_ms == 0 ? BACKOFF_FIRST_MS
                                 : min_i64(slot->backoff_ms * 2, BACKOFF_MOST_MS);
}

static void remember_as_last(struct container *c)
{
    free(c->last_text);
    c->last_text = c->text;
    c->text = NULL;
    c->last = *c->state;
    c->last.last = NULL;
    c->last.message = c->last_text ? c->last_text : "";
    c->state->last = &c->last;
    set_message(c, c->last.message);
}

/* The first restart is immediate: backoff_ms is the delay of the one after it. Idempotent, as a
 * worker may be killed in between. */
static void plan_restart(struct worker *w, struct container *c)
{
    int64_t now = group_clock_ms();
    int64_t wait = now - c->slot->started_at_ms >= BACKOFF_FORGOTTEN_MS ? 0 : c->slot->backoff_ms;
    char message[256];

    if (!wants_restart(w, c))
        return;
    if (c->slot->restart_at_ms == 0) {
        c->slot->backoff_ms = next_backoff(c->slot, now);
        c->slot->restart_at_ms = now + wait;
    }
    remember_as_last(c);
    wait = c->slot->restart_at_ms - now;
    if (wait > 0) {
        (void)snprintf(message, sizeof(message),
                       "back-off %" PRId64 "s restarting failed container=%s", (wait + 999) / 1000,
                       c->state->name);
        c->state->phase = CONTAINER_WAITING;
        c->state->reason = "CrashLoopBackOff";
        set_message(c, message);
        note(w, true, "BackOff", message);
    }
    changed(w, POD_SYNCED);
}

static int save_as(struct worker *w, enum pod_durability durability)
{
    int rc = pod_record_write(w->g->dir_fd, &w->state, durability);

    if (rc != 0)
        (void)fprintf(stderr, "%s: %s\n", POD_FILE_STATE, strerror(-rc));
    return rc;
}

/* Only what is in the folder may be forgotten; durability comes later. */
static void forget_start(struct worker *w, struct container *c)
{
    (void)save_as(w, POD_NOT_SYNCED);
    for (size_t i = 0; i < PROBE_PURPOSES; i++)
        probe_end(&c->probes[i]);
    for (size_t i = 0; i < HOOK_PURPOSES; i++)
        hook_end(&c->hooks[i]);
    c->exited_at_ms = 0;
    c->slot->under_way = false;
}

/* In pieces that the empty pipe takes without blocking. */
static void log_terminal(void *arg, const char *data, size_t len)
{
    struct container *c = arg;

    if (write(c->output.group->pipes[c->output.container][CRI_STDOUT][1], data, len) > 0)
        while (output_move(&c->output, CRI_STDOUT))
            ;
}

static void close_console(struct worker *w, struct container *c)
{
    console_close(c->console, w->g->dir_fd, c->start->name, log_terminal, c);
    c->console = NULL;
}

static void finish_container(struct worker *w, struct container *c)
{
    struct container_end end = {
        .start = c->start, .slot = c->slot, .log = output_log(&c->output), .dir_fd = w->g->dir_fd};
    struct arena scratch = ARENA_INIT(POD_ARENA_LIMIT_BYTES);

    close_console(w, c);
    output_end(&c->output);
    end.log = output_log(&c->output);
    container_end_explain(&end, &scratch);
    c->state->signal = end.signal;
    c->state->by_itself = !c->slot->told && !c->slot->killed && !c->slot->pre_stopped &&
                          !c->hooks[HOOK_PRE_STOP].begun;
    record_end(w, c, end.exit_code, end.reason, end.message);
    arena_release(&scratch);
    plan_restart(w, c);
    forget_start(w, c);
}

static void finish_unknown(struct worker *w, struct container *c)
{
    close_console(w, c);
    output_end(&c->output);
    record_end(w, c, 128 + SIGKILL, "SupervisorLost",
               "the program's supervisors were killed; how it ended is unknown");
    plan_restart(w, c);
    forget_start(w, c);
}

static void note_program(struct worker *w, struct container *c);

/* A killed worker had begun the start, and the program became known only later. */
static void note_late(struct worker *w, struct container *c)
{
    if (c->state->phase != CONTAINER_RUNNING && c->slot->failure.stage == LAUNCH_STAGE_NONE &&
        GROUP_CLAIM_PID(c->slot->program) > 0)
        note_program(w, c);
}

/* --- programs that run --- */

static int program_fd(const struct worker *w, const struct container *c)
{
    return group_program_fd(w->g, c->output.container);
}

static bool has_exited(const struct worker *w, const struct container *c)
{
    struct pollfd fd = {.fd = program_fd(w, c), .events = POLLIN};

    return fd.fd >= 0 && poll(&fd, 1, 0) != 0;
}

/* To its process group, or to the process itself while it has none. */
static void signal_program(const struct worker *w, const struct container *c, int signum)
{
    int fd = program_fd(w, c);

    if (fd < 0 || pidfd_send_signal(fd, signum, NULL, SIGNAL_GROUP) == 0)
        return;
    if (errno == EINVAL && kill(-GROUP_CLAIM_PID(c->slot->program), signum) == 0)
        return; /* before Linux 6.9 */
    (void)pidfd_send_signal(fd, signum, NULL, 0);
}

/* Its children have gone to the machine's init, too. */
static void clear_after_orphan(const struct worker *w, const struct container *c)
{
    char uid[256], name[256];

    (void)snprintf(uid, sizeof(uid), POD_ENV_UID "=%s", w->g->pod.uid);
    (void)snprintf(name, sizeof(name), POD_ENV_CONTAINER "=%s", c->start->name);
    proc_kill_by_env(uid, name);
}

/* If one of us is its parent, its end is recorded at once. A process with another parent is an
 * orphan. */
static void look_at_orphan(struct worker *w, struct container *c)
{
    pid_t pid = GROUP_CLAIM_PID(c->slot->program);
    int64_t now = group_clock_ms();
    struct proc_stat stat;
    int status;

    if (c->exited_at_ms == 0)
        c->exited_at_ms = now;
    if (proc_stat_read(pid, &stat) == 0 && stat.state == 'Z' &&
        (stat.parent == w->keeper || stat.parent == getpid()))
        return;
    if (c->slot->ended) /* while we looked */
        return;
    if (orphan_status(program_fd(w, c), pid, &status)) {
        signal_program(w, c, SIGKILL); /* whatever is left of the group */
        clear_after_orphan(w, c);
        group_record_end(w->g, c->output.container, status);
    } else if (now - c->exited_at_ms >= STATUS_WAIT_MS) {
        clear_after_orphan(w, c);
        finish_unknown(w, c);
    }
}

static void look_at_container(struct worker *w, struct container *c)
{
    if (!c->slot->under_way)
        return;
    note_late(w, c);
    if (!c->slot->ended && has_exited(w, c))
        look_at_orphan(w, c);
    if (c->slot->under_way && c->slot->ended && !group_sweep(w->g, w->keeper))
        finish_container(w, c);
}

/* --- probes --- */

static const char *const probe_words[PROBE_PURPOSES] = {
    [PROBE_STARTUP] = "Startup", [PROBE_LIVENESS] = "Liveness", [PROBE_READINESS] = "Readiness"};

static bool has_probe(const struct container *c, enum probe_purpose purpose)
{
    return c->start->probes[purpose].kind != PROBE_NONE;
}

static void begin_probes(struct container *c, int64_t now)
{
    for (size_t i = 0; i < PROBE_PURPOSES; i++)
        probe_begin(&c->probes[i], &c->start->probes[i], now);
}

/* Draws conclusions from the answers so far. */
static void judge_probes(struct worker *w, struct container *c)
{
    bool running = c->state->phase == CONTAINER_RUNNING && c->slot->post_started;
    bool started = running && (!has_probe(c, PROBE_STARTUP) || c->state->started ||
                               c->probes[PROBE_STARTUP].passed);
    const struct probe *readiness = &c->probes[PROBE_READINESS];
    bool ready = started && (!has_probe(c, PROBE_READINESS) || readiness->passed ||
                             (c->state->ready && !readiness->failed));

    if (started != c->state->started || ready != c->state->ready)
        changed(w, POD_NOT_SYNCED);
    c->state->started = started;
    c->state->ready = ready;
}

/* preStop, TERM, grace period, KILL for one container; the pod's policy decides about a restart.
 * grace_seconds < 0: the pod's. */
static void end_container(struct worker *w, struct container *c, const char *failed,
                          int64_t grace_seconds)
{
    char message[256];

    if (c->slot->kill_at_ms != 0 || w->m->stopping)
        return;
    (void)snprintf(message, sizeof(message), "Container %s failed %s%s", c->state->name, failed,
                   w->g->pod.restart == POD_RESTART_NEVER ? "" : ", will be restarted");
    note(w, false, "Killing", message);
    if (grace_seconds < 0)
        grace_seconds = w->g->pod.grace_seconds;
    c->slot->kill_at_ms = max_i64(group_clock_ms() + min_i64(grace_seconds, INT32_MAX) * 1000, 1);
}

static void take_answer(struct worker *w, struct container *c, enum probe_purpose purpose)
{
    struct probe *p = &c->probes[purpose];
    char message[PROBE_TEXT_SIZE + 64];

    if (p->bad == 1 || (p->bad > 0 && p->bad == p->how->failure_threshold)) {
        (void)snprintf(message, sizeof(message), "%s probe failed: %s", probe_words[purpose],
                       p->text + 1);
        note(w, true, "Unhealthy", message);
    }
    if (p->failed && purpose != PROBE_READINESS)
        end_container(w, c, purpose == PROBE_STARTUP ? "startup probe" : "liveness probe",
                      p->how->grace_seconds);
    if (purpose == PROBE_STARTUP && p->passed) {
        begin_probes(c, c->slot->started_at_ms); /* the others count from the start, too */
        probe_end(p);
        c->state->started = true;
        changed(w, POD_NOT_SYNCED);
    }
}

/* Processes that may listen on the pod's ports. A program whose parents were killed has no ancestor
 * here. */
static struct pod_members members_of(const struct worker *w, const struct container *c)
{
    struct pod_members m = {.pod = &w->g->pod,
                            .roots = {getpid()},
                            .roots_len = 1,
                            .program = GROUP_CLAIM_PID(c->slot->program),
                            .program_fd = program_fd(w, c)};

    if (!w->alone)
        m.roots[m.roots_len++] = w->keeper;
    for (size_t i = 0; i < w->g->pod.containers_len; i++) {
        pid_t pid = GROUP_CLAIM_PID(w->g->memory->slots[i].program);

        if (pid > 1 && !w->g->memory->slots[i].ended)
            m.roots[m.roots_len++] = pid;
    }
    return m;
}

static void run_probes(struct worker *w, struct container *c)
{
    int64_t now = group_clock_ms();
    struct pod_members pod;
    bool waits = has_probe(c, PROBE_STARTUP) && !c->state->started;

    if (!is_running(c) || c->state->phase != CONTAINER_RUNNING || !c->slot->post_started)
        return;
    pod = members_of(w, c);
    for (size_t i = 0; i < PROBE_PURPOSES; i++) {
        if (waits == (i == PROBE_STARTUP))
            probe_ask(&c->probes[i], c->start, &pod, now);
        if (probe_answer(&c->probes[i], now))
            take_answer(w, c, (enum probe_purpose)i);
    }
    judge_probes(w, c);
}

/* --- hooks --- */

static bool has_hook(const struct container *c, enum hook_purpose purpose)
{
    return c->start->hooks[purpose].kind != PROBE_NONE;
}

static enum hook_outcome run_hook(struct worker *w, struct container *c, enum hook_purpose purpose,
                                  int64_t most_ms)
{
    struct hook *h = &c->hooks[purpose];
    struct pod_members pod = members_of(w, c);
    enum hook_outcome outcome = hook_run(h, &c->start->hooks[purpose], c->start, &pod, most_ms);
    char message[PROBE_TEXT_SIZE + 64];

    if (outcome == HOOK_BAD) {
        (void)snprintf(message, sizeof(message), "%s of container %s failed: %s",
                       purpose == HOOK_POST_START ? "postStart" : "preStop", c->state->name,
                       hook_words(h));
        note(w, true, purpose == HOOK_POST_START ? "FailedPostStartHook" : "FailedPreStopHook",
             message);
    }
    return outcome;
}

/* Until it is done the container is not ready or probed, and later ones are not started. */
static void run_post_start(struct worker *w, struct container *c)
{
    enum hook_outcome outcome;

    if (c->slot->post_started || c->state->phase != CONTAINER_RUNNING || !is_running(c) ||
        w->m->stopping)
        return;
    outcome = has_hook(c, HOOK_POST_START) ? run_hook(w, c, HOOK_POST_START, POST_START_MOST_MS)
                                           : HOOK_GOOD;
    if (outcome == HOOK_RUNNING)
        return;
    c->slot->post_started = true;
    if (outcome == HOOK_BAD)
        end_container(w, c, "postStart", -1);
    judge_probes(w, c);
}

/* --- starts --- */

static void note_program(struct worker *w, struct container *c)
{
    struct proc_stat stat;
    pid_t pid = GROUP_CLAIM_PID(c->slot->program);

    c->state->phase = CONTAINER_RUNNING;
    c->state->pid = pid;
    c->state->start_ticks = proc_stat_read(pid, &stat) == 0 ? stat.start_ticks : 0;
    c->state->started_ms = c->slot->started_ms;
    c->state->finished_ms = 0;
    c->state->exit_code = c->state->signal = 0;
    c->state->by_itself = false;
    c->state->reason = "";
    c->state->restart_count = c->slot->run;
    set_message(c, "");
    begin_probes(c, c->slot->started_at_ms);
    c->state->ready = c->state->started = false;
    run_post_start(w, c);
    judge_probes(w, c);
    changed(w, POD_NOT_SYNCED);
}

/* From here on the claim in the slot tells a survivor what came of it. */
static void begin_start(struct container *c)
{
    struct group_slot *slot = c->slot;

    slot->run = (uint32_t)c->state->restart_count;
    slot->ticket++;
    slot->program = GROUP_CLAIM(slot->ticket, 0);
    slot->failure = (struct launch_failure){.stage = LAUNCH_STAGE_NONE};
    slot->ended = slot->killed = false;
    slot->killed_why = "";
    slot->kill_at_ms = slot->restart_at_ms = slot->spared_until_ms = 0;
    slot->post_started = slot->pre_stopped = slot->told = false;
    slot->oom = oom_count_read("");
    slot->oom.group = oom_group_kills(c->start);
    slot->started_ms = wall_ms();
    slot->started_at_ms = group_clock_ms();
    slot->under_way = true;
}

/* In the child that will be the program: it claims itself, so that it is known however early its
 * worker is killed. */
static bool claim_start(void *arg)
{
    struct group_slot *slot = arg;

    return group_claim(&slot->program, slot->ticket, getpid());
}

/* Without one, for want of descriptors, it starts all the same. */
static void open_console(struct worker *w, struct container *c, struct launch_pipes *pipes)
{
    close_console(w, c);
    if (!c->start->stdin_open && !c->start->tty)
        return;
    c->console = console_open(w->g->dir_fd, c->start);
    if (!c->console)
        return;
    pipes->in = console_take_program_fd(c->console);
    pipes->terminal = console_is_terminal(c->console);
    if (pipes->terminal)
        pipes->out = pipes->err = pipes->in;
}

static void start_container(struct worker *w, struct container *c)
{
    struct container_start start = *c->start;
    struct launch_pipes pipes = {.in = -1,
                                 .out = w->g->pipes[c->output.container][CRI_STDOUT][1],
                                 .err = w->g->pipes[c->output.container][CRI_STDERR][1]};
    struct launch_hooks hooks = {.born = claim_start, .arg = c->slot, .failure = &c->slot->failure};
    struct launch_result r;
    struct arena scratch = ARENA_INIT(POD_ARENA_LIMIT_BYTES);

    output_begin_run(&c->output, (uint32_t)c->state->restart_count);
    end_message_clear(c->start);
    begin_start(c);
    open_console(w, c, &pipes);
    start.env = pod_marked_env(&scratch, c->start->env, w->g->pod.uid, c->start->name);
    launch(&start, &pipes, &hooks, &scratch, &r);
    file_close(&pipes.in);
    if (r.pid == 0 && GROUP_CLAIM_PID(c->slot->program) <= 0) {
        c->slot->under_way = false;
        close_console(w, c);
        c->state->by_itself = true;
        record_end(w, c, r.exit_code, "StartError", r.message);
        plan_restart(w, c);
    } else {
        if (r.pid > 0)
            (void)group_claim(&c->slot->program, c->slot->ticket, r.pid);
        if (c->slot->failure.stage == LAUNCH_STAGE_NONE)
            note_program(w, c);
    }
    arena_release(&scratch);
}

/* Init containers one after the other, each only after its predecessor succeeded; then the rest
 * together. */
static bool may_start(const struct worker *w, size_t i)
{
    const struct container *c = &w->containers[i];

    if (w->m->stopping || c->slot->under_way)
        return false;
    if (c->slot->restart_at_ms != 0)
        return group_clock_ms() >= c->slot->restart_at_ms;
    if (c->state->phase != CONTAINER_WAITING)
        return false;
    for (size_t k = 0; k < i; k++)
        if (is_running(&w->containers[k]) && !w->containers[k].slot->post_started)
            return false;
    for (size_t k = 0; k < i && w->containers[k].start->init; k++)
        if (w->containers[k].state->phase != CONTAINER_TERMINATED ||
            w->containers[k].state->exit_code != 0 || w->containers[k].slot->restart_at_ms != 0)
            return false;
    return true;
}

static void start_next(struct worker *w)
{
    for (size_t i = 0; i < w->len; i++)
        if (may_start(w, i)) {
            struct container *c = &w->containers[i];

            if (c->slot->restart_at_ms != 0)
                c->state->restart_count++;
            start_container(w, c);
        }
}

static bool is_over(const struct worker *w)
{
    bool blocked = w->m->stopping;

    for (size_t i = 0; i < w->len; i++) {
        const struct container *c = &w->containers[i];

        if (c->slot->under_way || (c->slot->restart_at_ms != 0 && !w->m->stopping) ||
            (c->state->phase == CONTAINER_WAITING && !blocked))
            return false;
        blocked = blocked || (c->start->init && c->state->exit_code != 0);
    }
    return true;
}

/* --- stopping --- */

static void earlier(int64_t *at, int64_t other)
{
    if (other != 0 && (*at == 0 || other < *at))
        *at = other;
}

/* When it will be killed, monotonic; 0: not scheduled. */
static int64_t kill_time(const struct worker *w, const struct container *c)
{
    int64_t at = w->m->stopping ? w->m->kill_at_ms : 0;

    earlier(&at, c->slot->kill_at_ms);
    return at == 0 ? 0 : max_i64(at, c->slot->spared_until_ms);
}

/* Its time counts towards the grace period; afterwards the program has at least
 * PRE_STOP_REST_MS. */
static bool pre_stop_is_over(struct worker *w, struct container *c)
{
    struct group_slot *slot = c->slot;
    int64_t now = group_clock_ms(), left;

    if (slot->pre_stopped || !has_hook(c, HOOK_PRE_STOP))
        return true;
    left = kill_time(w, c) - now - (slot->spared_until_ms ? PRE_STOP_REST_MS : 0);
    if (left > 0) {
        if (slot->spared_until_ms == 0)
            slot->spared_until_ms = now + left + PRE_STOP_REST_MS;
        if (run_hook(w, c, HOOK_PRE_STOP, left) == HOOK_RUNNING)
            return false;
    }
    hook_end(&c->hooks[HOOK_PRE_STOP]);
    slot->pre_stopped = true;
    slot->spared_until_ms = now + PRE_STOP_REST_MS;
    return true;
}

static void stop_container(struct worker *w, struct container *c)
{
    if (kill_time(w, c) == 0 || !is_running(c) || c->slot->told || c->slot->killed ||
        has_exited(w, c) || proc_is_exiting(GROUP_CLAIM_PID(c->slot->program)) /* on its own */ ||
        !pre_stop_is_over(w, c))
        return;
    c->slot->told = true;
    signal_program(w, c, SIGTERM);
}

/* A container waiting for its restart keeps its last end. */
static void give_up_restarts(struct worker *w)
{
    for (size_t i = 0; i < w->len; i++) {
        struct container *c = &w->containers[i];

        if (c->slot->restart_at_ms == 0 || c->slot->under_way)
            continue;
        c->slot->restart_at_ms = 0;
        if (c->state->phase == CONTAINER_WAITING && c->state->last) {
            const struct container_state *before = c->last.last;

            *c->state = c->last;
            c->state->last = before;
            set_message(c, c->last.message);
        }
        changed(w, POD_NOT_SYNCED);
    }
}

static void begin_stop(struct worker *w)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    const struct json *v = pod_file_read_json(w->g->dir_fd, POD_FILE_STOP, &a, NULL);
    int64_t grace = json_get_int(v, "graceSeconds", w->g->pod.grace_seconds);
    int64_t kill_at = group_clock_ms() + max_i64(0, min_i64(grace, INT32_MAX)) * 1000;

    arena_release(&a);
    if (!w->m->stopping || (w->m->kill_at_ms != 0 && kill_at < w->m->kill_at_ms))
        w->m->kill_at_ms = kill_at;
    w->m->stopping = true;
    for (size_t i = 0; i < w->len; i++) {
        int64_t *spared = &w->containers[i].slot->spared_until_ms;

        *spared = grace <= 0 ? 0 : min_i64(*spared, kill_at + PRE_STOP_REST_MS);
    }
    give_up_restarts(w);
}

static void kill_when_due(struct worker *w)
{
    for (size_t i = 0; i < w->len; i++) {
        struct container *c = &w->containers[i];

        if (!is_running(c) || c->slot->killed || kill_time(w, c) == 0 ||
            group_clock_ms() < kill_time(w, c))
            continue;
        c->slot->killed = true;
        c->slot->killed_why = "it did not end in its grace period";
        signal_program(w, c, SIGKILL);
    }
}

/* --- the loop --- */

static void handle_signals(struct worker *w)
{
    struct signalfd_siginfo info;

    while (read(w->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo == SIGTERM)
            begin_stop(w);
}

static int poll_timeout(const struct worker *w)
{
    int64_t at = 0;

    for (size_t i = 0; i < w->len; i++) {
        const struct container *c = &w->containers[i];

        for (size_t k = 0; k < PROBE_PURPOSES; k++)
            if (is_running(c) &&
                (k == PROBE_STARTUP) == (has_probe(c, PROBE_STARTUP) && !c->state->started))
                earlier(&at, probe_wake_ms(&c->probes[k]));
        for (size_t k = 0; k < HOOK_PURPOSES; k++)
            if (is_running(c) && c->hooks[k].probe.fd >= 0)
                earlier(&at, probe_wake_ms(&c->hooks[k].probe));
        if (is_running(c) && c->hooks[HOOK_PRE_STOP].begun)
            earlier(&at, c->slot->spared_until_ms - PRE_STOP_REST_MS);
        if (is_running(c) && !c->slot->killed)
            earlier(&at, kill_time(w, c));
        if (!c->slot->under_way)
            earlier(&at, c->slot->restart_at_ms);
        else if (c->exited_at_ms != 0)
            earlier(&at, group_clock_ms() + STATUS_RECHECK_MS);
    }
    if (at == 0)
        return -1;
    return (int)min_i64(max_i64(at - group_clock_ms(), 0), INT32_MAX);
}

/* Reads what the programs wrote. Returns when something else has happened, or at the deadline. */
static void wait_for_events(struct worker *w)
{
    enum { SIGNALS, WAKE, KEEPER, OWN };
    struct pollfd fds[OWN + POD_CONTAINERS_LIMIT *
                                (1 + PROBE_PURPOSES + HOOK_PURPOSES + CONSOLE_FDS + CRI_STREAMS)];
    nfds_t probes = OWN + (nfds_t)w->len, hooks = probes + (nfds_t)w->len * PROBE_PURPOSES;
    nfds_t consoles = hooks + (nfds_t)w->len * HOOK_PURPOSES;
    nfds_t pipes = consoles + (nfds_t)w->len * CONSOLE_FDS;
    nfds_t n = pipes + (nfds_t)w->len * CRI_STREAMS;
    uint64_t count;

    fds[SIGNALS] = (struct pollfd){.fd = w->signal_fd, .events = POLLIN};
    fds[WAKE] = (struct pollfd){.fd = w->g->event_fd, .events = POLLIN};
    fds[KEEPER] = (struct pollfd){.fd = w->keeper_fd, .events = POLLIN};
    for (size_t i = 0; i < w->len; i++) {
        const struct container *c = &w->containers[i];

        /* a program known to have ended is polled from time to time */
        fds[OWN + i] = (struct pollfd){
            .fd = is_running(c) && c->exited_at_ms == 0 ? program_fd(w, c) : -1, .events = POLLIN};
        for (size_t k = 0; k < PROBE_PURPOSES; k++)
            fds[probes + i * PROBE_PURPOSES + k] = (struct pollfd){.fd = c->probes[k].fd,
                                                                   .events = POLLIN};
        for (size_t k = 0; k < HOOK_PURPOSES; k++)
            fds[hooks + i * HOOK_PURPOSES + k] = (struct pollfd){.fd = c->hooks[k].probe.fd,
                                                                 .events = POLLIN};
        console_poll(c->console, fds + consoles + i * CONSOLE_FDS);
        for (size_t s = 0; s < CRI_STREAMS; s++)
            fds[pipes + i * CRI_STREAMS + s] = (struct pollfd){.fd = w->g->pipes[i][s][0],
                                                               .events = POLLIN};
    }
    for (;;) {
        bool other = false;

        if (poll(fds, n, poll_timeout(w)) <= 0)
            return;
        for (size_t i = 0; i < w->len * CRI_STREAMS; i++)
            if (fds[pipes + i].revents)
                (void)output_move(&w->containers[i / CRI_STREAMS].output,
                                  (enum cri_stream)(i % CRI_STREAMS));
        for (nfds_t i = 0; i < pipes; i++)
            other = other || fds[i].revents;
        if (other)
            break;
    }
    for (size_t i = 0; i < w->len; i++)
        console_step(w->containers[i].console, fds + consoles + i * CONSOLE_FDS, log_terminal,
                     &w->containers[i]);
    if (fds[WAKE].revents && read(w->g->event_fd, &count, sizeof(count)) < 0)
        return;
    w->alone = w->alone || fds[KEEPER].revents;
    if (fds[SIGNALS].revents)
        handle_signals(w);
}

/* Handles everything that has happened. Returns whether the pod is over. */
static bool advance(struct worker *w)
{
    (void)group_reap(w->g, 0, NULL);
    kill_when_due(w);
    for (size_t i = 0; i < w->len; i++)
        look_at_container(w, &w->containers[i]);
    for (size_t i = 0; i < w->len; i++)
        run_post_start(w, &w->containers[i]);
    start_next(w);
    for (size_t i = 0; i < w->len; i++) {
        run_probes(w, &w->containers[i]);
        stop_container(w, &w->containers[i]);
    }
    return is_over(w);
}

static void save(struct worker *w)
{
    if (!w->dirty)
        return;
    w->dirty = save_as(w, w->durability) != 0;
    w->durability = POD_NOT_SYNCED;
}

/* The keeper makes the last record durable, and marks it as the last. */
static void save_last(struct worker *w)
{
    w->dirty = true;
    w->durability = POD_NOT_SYNCED;
    for (;;) {
        struct timespec second = {.tv_sec = 1, .tv_nsec = 0};

        save(w);
        if (!w->dirty || faccessat(w->g->dir_fd, POD_FILE_RUN, F_OK, 0) != 0)
            return;
        (void)nanosleep(&second, NULL);
    }
}

/* --- resuming --- */

static void init_container(struct worker *w, size_t i, const struct container_state *known)
{
    struct container *c = &w->containers[i];

    *c = (struct container){.start = &w->g->pod.containers[i],
                            .state = &w->state.run.containers[i],
                            .slot = &w->m->slots[i]};
    for (size_t k = 0; k < HOOK_PURPOSES; k++)
        hook_init(&c->hooks[k]);
    begin_probes(c, c->slot->started_at_ms);
    *c->state = known ? *known
                      : (struct container_state){.name = c->start->name, .init = c->start->init};
    c->state->name = c->start->name;
    c->state->image_id = c->start->image_id;
    c->state->reason = c->state->reason ? c->state->reason : "";
    set_message(c, c->state->message);
    if (c->state->last) {
        c->last = *c->state->last;
        c->last.last = NULL;
        c->last_text = strdup(c->last.message);
        c->last.message = c->last_text ? c->last_text : "";
        c->state->last = &c->last;
    }
    output_init(&c->output, w->g, i);
}

/* The folder may be behind the memory: the worker was killed in between. */
static void catch_up(struct worker *w, struct container *c)
{
    struct group_slot *slot = c->slot;

    if (!slot->under_way)
        return;
    if (group_claim(&slot->program, slot->ticket, GROUP_CANCELLED)) {
        slot->under_way = false; /* the start was not made, and can no longer be made late */
        return;
    }
    if (c->state->phase == CONTAINER_TERMINATED && (uint32_t)c->state->restart_count < slot->run)
        remember_as_last(c); /* as had been done; it already runs */
    slot->restart_at_ms = 0;
    note_late(w, c);
}

static void take_up(struct worker *w)
{
    struct pod_record old = {.final = false};
    bool known = pod_record_read(w->g->dir_fd, &w->arena, &old, NULL) == 0 &&
                 old.run.containers_len == w->len;
    struct proc_stat stat;

    w->state.run.ns = w->g->pod.ns;
    w->state.run.name = w->g->pod.name;
    w->state.run.uid = w->g->pod.uid;
    w->state.run.owner = w->g->pod.owner;
    w->state.run.attempt = w->g->pod.attempt;
    w->state.run.containers_len = w->len;
    w->state.pid = getpid();
    w->state.start_ticks = proc_stat_read(getpid(), &stat) == 0 ? stat.start_ticks : 0;
    w->state.keeper_pid = w->keeper;
    w->state.run.notes = w->notes;
    for (size_t i = 0; known && i < old.run.notes_len; i++) {
        w->last_note = old.run.notes[i].number - 1;
        note(w, old.run.notes[i].warning, arena_strdup(&w->arena, old.run.notes[i].reason),
             old.run.notes[i].message);
    }
    for (size_t i = 0; i < w->len; i++)
        init_container(w, i, known ? &old.run.containers[i] : NULL);
    for (size_t i = 0; i < w->len; i++)
        w->outputs[i] = w->containers[i].output;
    output_recover(w->g, w->outputs);
    for (size_t i = 0; i < w->len; i++)
        w->containers[i].output = w->outputs[i];
    for (size_t i = 0; i < w->len; i++)
        catch_up(w, &w->containers[i]);
    if (faccessat(w->g->dir_fd, POD_FILE_STOP, F_OK, 0) == 0)
        begin_stop(w);
    changed(w, POD_NOT_SYNCED);
    if (known)
        save(w); /* our identity, before anything else */
}

static bool prepare(struct worker *w)
{
    sigset_t set;

    (void)prctl(PR_SET_NAME, "muster-pod");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    w->keeper_fd = pidfd_open(w->keeper, 0);
    w->alone = getppid() != w->keeper; /* only after this the pid is certainly its own */
    w->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    w->containers = arena_alloc(&w->arena, w->len * sizeof(*w->containers));
    w->outputs = arena_alloc(&w->arena, w->len * sizeof(*w->outputs));
    w->state.run.containers = arena_alloc(&w->arena, w->len * sizeof(*w->state.run.containers));
    return w->signal_fd >= 0 && w->keeper_fd >= 0 && !w->alone && !arena_failed(&w->arena);
}

static void release(struct worker *w)
{
    for (size_t i = 0; i < w->len; i++) {
        struct container *c = &w->containers[i];

        close_console(w, c);
        output_release(&c->output);
        for (size_t k = 0; k < PROBE_PURPOSES; k++)
            probe_end(&c->probes[k]);
        for (size_t k = 0; k < HOOK_PURPOSES; k++)
            hook_end(&c->hooks[k]);
        free(c->text);
        free(c->last_text);
    }
    for (size_t i = 0; i < w->state.run.notes_len; i++)
        free((char *)(uintptr_t)w->notes[i].message);
}

static void work(struct worker *w)
{
    bool over = false;

    take_up(w);
    while (!w->alone && !(over = advance(w))) {
        save(w);
        wait_for_events(w);
    }
    if (over) {
        save_last(w);
        w->m->over = true;
    } else {
        save(w);
    }
    release(w);
}

void worker_stay(struct group *g, pid_t keeper)
{
    struct worker w = {.g = g,
                       .m = g->memory,
                       .keeper = keeper,
                       .arena = ARENA_INIT(POD_ARENA_LIMIT_BYTES),
                       .len = g->pod.containers_len};

    if (prepare(&w))
        work(&w);
    file_close(&w.signal_fd);
    file_close(&w.keeper_fd);
    arena_release(&w.arena);
}
