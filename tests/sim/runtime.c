/*
 * runtime.c - port/runtime.h with pods that are timers: they begin, run for a while or for ever,
 * end with some code, and take TERM well or not at all. Pods outlive the agent, not the machine.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define LAUNCHER_END "-launcher" /* of its pod's name, also where it only sleeps */

struct sim_runtime {
    struct runtime base;
    struct sim *sim;
    struct map processes; /* uid -> process */
    int64_t next_pid;
};

static struct sim_runtime *runtime_of(struct runtime *r)
{
    return container_of(r, struct sim_runtime, base);
}

static void process_free(void *value)
{
    struct process *p = value;
    struct clock *c = p->sim->clock;

    clock_stop(c, p->begin);
    clock_stop(c, p->end);
    clock_stop(c, p->kill);
    clock_stop(c, p->tell);
    for (size_t i = 0; i < p->run.containers_len; i++)
        free((char *)p->containers[i].name);
    free(p->containers);
    free(p->ns);
    free(p->name);
    free(p->uid);
    free(p->port);
    free(p->rank);
    free(p->gpus);
    free(p);
}

static void on_tell(void *arg)
{
    struct process *p = arg;
    struct runtime *r = p->sim->runtime;

    p->tell = NULL;
    if (r->on_change && p->held)
        r->on_change(r->on_change_arg, p->uid);
}

static void tell(struct process *p)
{
    if (!p->tell)
        p->tell = clock_start(p->sim->clock, rand_below(3), on_tell, p);
}

static void process_end(struct process *p, int code, const char *reason)
{
    struct clock *c = p->sim->clock;

    clock_stop(c, p->begin);
    clock_stop(c, p->end);
    clock_stop(c, p->kill);
    p->begin = p->end = p->kill = NULL;
    p->exit_code = code;
    p->run.alive = false;
    p->run.known = true;
    for (size_t i = 0; i < p->run.containers_len; i++) {
        struct container_state *state = &p->containers[i];

        state->phase = CONTAINER_TERMINATED;
        state->ready = state->started = false;
        state->exit_code = state->init ? 0 : code;
        state->signal = code > 128 ? code - 128 : 0;
        state->reason = state->init || code == 0 ? "Completed" : reason;
        state->finished_ms = clock_now_ms(c);
        state->by_itself = !p->stopping;
    }
    say(p->sim, "proc  %s/%s ends with %d", p->ns, p->name, code);
    observer_ended(p->sim->observer, p, false);
    tell(p);
}

static void on_end(void *arg)
{
    struct process *p = arg;

    p->end = NULL;
    process_end(p, p->exit_code, "Error");
}

static void on_kill(void *arg)
{
    struct process *p = arg;

    p->kill = NULL;
    process_end(p, 137, "Error");
}

static int draw_exit_code(struct sim *s)
{
    static const int codes[] = {1, 1, 2, 3, 127, 130, 137, 138, 139, 143, 255};

    if (!fault(s, FAULT_EXIT_CODE))
        return 0;
    return codes[rand_below(ELEMS(codes))];
}

static int64_t draw_duration_ms(void)
{
    if (rand_chance(0.3))
        return rand_range(1, 2000);
    return rand_chance(0.1) ? rand_range(60000, 900000) : rand_range(2000, 120000);
}

static void on_begin(void *arg)
{
    struct process *p = arg;
    struct sim *s = p->sim;

    p->begin = NULL;
    if (fault(s, FAULT_START_ERROR)) {
        process_end(p, 128, "StartError");
        return;
    }
    p->run.known = true;
    for (size_t i = 0; i < p->run.containers_len; i++) {
        p->containers[i].phase = CONTAINER_RUNNING;
        p->containers[i].ready = p->containers[i].started = true;
        p->containers[i].pid = runtime_of(s->runtime)->next_pid++;
        p->containers[i].start_ticks = sim_loop_now(s->loop);
        p->containers[i].started_ms = clock_now_ms(s->clock);
    }
    p->exit_code = draw_exit_code(s);
    p->ignores_term = fault(s, FAULT_IGNORES_TERM);
    /* Those that serve end only when something is wrong. */
    if (!p->stopping && !fault(s, FAULT_NEVER_EXITS) && (!p->serves || p->exit_code != 0))
        p->end = clock_start(s->clock, draw_duration_ms(), on_end, p);
    say(s, "proc  %s/%s runs as %lld", p->ns, p->name, (long long)p->containers[0].pid);
    tell(p);
}

static char *variable(const struct pod_start *pod, const char *name)
{
    const struct container_start *c = &pod->containers[pod->containers_len - 1];
    size_t n = strlen(name);

    for (const char *const *e = c->env; e && *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return strdup(*e + n + 1);
    return NULL;
}

static bool runs(const struct pod_start *pod, const char *command)
{
    const struct container_start *c = &pod->containers[pod->containers_len - 1];

    for (const char *const *word = c->argv; *word; word++)
        if (strcmp(*word, command) == 0)
            return true;
    return false;
}

static struct process *process_new(struct sim *s, const struct pod_start *pod)
{
    struct process *p = calloc(1, sizeof(*p));
    size_t name_len = strlen(pod->name);

    assert(p);
    p->sim = s;
    p->ns = strdup(pod->ns);
    p->name = strdup(pod->name);
    p->uid = strdup(pod->uid);
    p->containers = calloc(pod->containers_len, sizeof(*p->containers));
    assert(p->containers);
    for (size_t i = 0; i < pod->containers_len; i++)
        p->containers[i] = (struct container_state){.name = strdup(pod->containers[i].name),
                                                    .init = pod->containers[i].init,
                                                    .reason = "",
                                                    .message = ""};
    p->run = (struct pod_run){.ns = p->ns,
                              .name = p->name,
                              .uid = p->uid,
                              .alive = true,
                              .containers = p->containers,
                              .containers_len = pod->containers_len};
    p->port = variable(pod, "MASTER_PORT");
    p->rank = variable(pod, "RANK");
    p->gpus = variable(pod, "CUDA_VISIBLE_DEVICES");
    p->launches = name_len > strlen(LAUNCHER_END) &&
                  strcmp(pod->name + name_len - strlen(LAUNCHER_END), LAUNCHER_END) == 0;
    p->serves = runs(pod, "mpi-worker");
    p->held = true;
    return p;
}

static void maybe_kill_agent(struct sim *s)
{
    if (fault(s, FAULT_AGENT_KILLED_AT_ACTION))
        soon(s, world_kill_agent);
}

static int op_start(struct runtime *r, const struct pod_start *pod, struct err *err)
{
    struct sim_runtime *sr = runtime_of(r);
    struct process *p;

    if (map_gets(&sr->processes, pod->uid))
        return err_set(err, ERR_ALREADY_EXISTS, "started before"), -EEXIST;
    p = process_new(sr->sim, pod);
    if (map_puts(&sr->processes, p->uid, p, NULL) < 0)
        abort();
    say(sr->sim, "proc  %s/%s starts (%.8s, port %s, gpus %s)", p->ns, p->name, p->uid,
        p->port ? p->port : "-", p->gpus ? p->gpus : "-");
    observer_started(sr->sim->observer, p);
    p->begin = clock_start(sr->sim->clock, rand_range(0, 40), on_begin, p);
    maybe_kill_agent(sr->sim);
    return 0;
}

static int op_stop(struct runtime *r, const char *uid, int64_t grace_seconds, struct err *err)
{
    struct process *p = map_gets(&runtime_of(r)->processes, uid);
    struct sim *s;

    (void)err;
    if (!p || !p->run.alive)
        return 0;
    s = p->sim;
    observer_stopped(s->observer, p);
    clock_stop(s->clock, p->kill);
    p->kill = clock_start(s->clock, grace_seconds * 1000 + rand_below(3), on_kill, p);
    if (!p->stopping && !p->ignores_term) {
        clock_stop(s->clock, p->end);
        p->exit_code = rand_chance(0.8) ? 143 : rand_chance(0.5) ? 0 : 1;
        p->end = clock_start(s->clock, rand_chance(0.5) ? rand_below(100) : rand_below(40000),
                             on_end, p);
    }
    p->stopping = true;
    say(s, "proc  %s/%s is told to stop (%lld s)", p->ns, p->name, (long long)grace_seconds);
    maybe_kill_agent(s);
    return 0;
}

static const struct pod_run *op_find(struct runtime *r, const char *uid)
{
    struct process *p = map_gets(&runtime_of(r)->processes, uid);

    if (p)
        p->held = true;
    return p ? &p->run : NULL;
}

static void op_each(struct runtime *r, void (*fn)(void *arg, const struct pod_run *run), void *arg)
{
    map_for_each (n, &runtime_of(r)->processes) {
        const struct process *p = n->value;

        if (p->held)
            fn(arg, &p->run);
    }
}

static void op_each_uid(struct runtime *r, void (*fn)(void *arg, const char *uid), void *arg)
{
    map_for_each (n, &runtime_of(r)->processes)
        fn(arg, n->key);
}

static void op_rest(struct runtime *r, const char *uid)
{
    struct process *p = map_gets(&runtime_of(r)->processes, uid);

    if (p && !p->run.alive)
        p->held = false;
}

static int op_remove(struct runtime *r, const char *uid, struct err *err)
{
    struct sim_runtime *sr = runtime_of(r);
    struct process *p = map_gets(&sr->processes, uid);

    if (!p)
        return 0;
    if (p->run.alive)
        return err_set(err, ERR_CONFLICT, "it is alive"), -EBUSY;
    (void)map_removes(&sr->processes, uid);
    process_free(p);
    maybe_kill_agent(sr->sim);
    return 0;
}

static bool op_has_mounts(struct runtime *r)
{
    (void)r;
    return false;
}

static void op_free(struct runtime *r)
{
    struct sim_runtime *sr = runtime_of(r);

    map_release(&sr->processes, process_free);
    free(sr);
}

static const struct runtime_ops ops = {.start = op_start,
                                       .stop = op_stop,
                                       .find = op_find,
                                       .each = op_each,
                                       .each_uid = op_each_uid,
                                       .rest = op_rest,
                                       .remove = op_remove,
                                       .has_mounts = op_has_mounts,
                                       .free = op_free};

struct runtime *sim_runtime_new(struct sim *s)
{
    struct sim_runtime *sr = calloc(1, sizeof(*sr));

    assert(sr);
    sr->base.ops = &ops;
    sr->sim = s;
    sr->next_pid = 100;
    return &sr->base;
}

void sim_runtime_let_go(struct runtime *r)
{
    map_for_each (n, &runtime_of(r)->processes) {
        struct process *p = n->value;

        p->held = false;
    }
}

void sim_runtime_lose_all(struct runtime *r)
{
    struct sim_runtime *sr = runtime_of(r);

    while (sr->processes.count) {
        struct process *p = map_first(&sr->processes)->value;

        (void)map_removes(&sr->processes, p->uid);
        observer_ended(sr->sim->observer, p, true);
        process_free(p);
    }
}

void sim_runtime_hurry(struct runtime *r, const char *uid)
{
    struct process *p = map_gets(&runtime_of(r)->processes, uid);

    if (!p || !p->run.alive || p->begin || p->stopping || p->serves)
        return;
    clock_stop(p->sim->clock, p->end);
    p->end = clock_start(p->sim->clock, rand_below(20), on_end, p);
}

void sim_runtime_each(struct runtime *r, void (*fn)(void *arg, struct process *p), void *arg)
{
    map_for_each (n, &runtime_of(r)->processes)
        fn(arg, n->value);
}
