/*
 * world.c - one run: the processes of the cluster, their deaths and returns, war and peace. Killed
 * is freed: none of them writes anything when it goes, as none could when killed.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine.h"
#include "base/hash.h"
#include "base/log.h"
#include "sim.h"

#define WAR_MS_MIN (2 * 60 * 1000)
#define WAR_MS_MAX (10 * 60 * 1000)
#define PEACE_MS (45 * 60 * 1000)
#define STEPS_LIMIT 2000000 /* a run that needs more goes in circles */

extern struct sim *writer_sim;

struct machine_size sim_machine;

/* In place of the agent's look at the real machine. */
void machine_read(struct machine *m)
{
    *m = (struct machine){.cpu_milli = sim_machine.cpus * 1000,
                          .memory_bytes = sim_machine.memory_bytes,
                          .gpus = sim_machine.gpus,
                          .gpu_set = (UINT64_C(1) << sim_machine.gpus) - 1,
                          .host_name = "node",
                          .machine_id = "0123",
                          .boot_id = "4567",
                          .kernel = "sim",
                          .os_image = "sim",
                          .arch = "amd64"};
}

/* --- the timeline ------------------------------------------------------------------------------
 */

void say(struct sim *s, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    int64_t now = sim_loop_now(s->loop);
    int n = snprintf(text, sizeof(text), "%7lld.%03lld  ", (long long)(now / 1000),
                     (long long)(now % 1000));

    va_start(args, fmt);
    (void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, args);
    va_end(args);
    s->hash = fnv1a_64(s->hash, text, strlen(text));
    if (s->verbose)
        puts(text);
}

void violate(struct sim *s, const char *fmt, ...)
{
    char text[sizeof(s->violation) - 40];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    say(s, "VIOLATION: %s", text);
    if (s->failed)
        return;
    s->failed = true;
    (void)snprintf(s->violation, sizeof(s->violation), "at %.3f s: %s",
                   (double)sim_loop_now(s->loop) / 1000.0, text);
}

struct call_soon {
    struct sim *sim;
    void (*fn)(struct sim *s);
};

static void on_soon(void *arg)
{
    struct call_soon c = *(struct call_soon *)arg;

    free(arg);
    if (!c.sim->peace)
        c.fn(c.sim);
}

void soon(struct sim *s, void (*fn)(struct sim *s))
{
    struct call_soon *c = malloc(sizeof(*c));

    assert(c);
    *c = (struct call_soon){.sim = s, .fn = fn};
    (void)clock_start(s->clock, rand_below(2), on_soon, c);
}

/* --- controller, agent, reader ------------------------------------------------------------------
 */

static void start_controller(void *arg)
{
    struct sim *s = arg;
    auto_err err = ERR_INIT;

    if (s->control)
        return;
    say(s, "sim   controller starts");
    s->controller_link = network_link(s->network, CLIENT_CONTROLLER);
    s->control = control_new(&(struct control_options){.transport = s->controller_link,
                                                       .clock = s->clock,
                                                       .parts = CONTROL_ALL | CONTROL_NODES,
                                                       .shared_network = true},
                             &err);
    assert(s->control);
}

static int64_t absence_ms(void)
{
    return rand_chance(0.6) ? rand_below(200) : rand_below(20000);
}

void world_kill_controller(struct sim *s)
{
    if (!s->control)
        return;
    say(s, "sim   controller killed");
    control_free(s->control);
    transport_free(s->controller_link);
    s->control = NULL;
    (void)clock_start(s->clock, absence_ms(), start_controller, s);
}

static void start_agent(void *arg)
{
    struct sim *s = arg;
    char pods[320];
    auto_err err = ERR_INIT;

    if (s->agent)
        return;
    say(s, "sim   agent starts");
    (void)snprintf(pods, sizeof(pods), "%s/pods", s->folder);
    s->agent_link = network_link(s->network, CLIENT_AGENT);
    s->agent = agent_new(&(struct agent_options){.loop = s->loop,
                                                 .transport = s->agent_link,
                                                 .pod_root = pods,
                                                 .node_name = "node",
                                                 .runtime = s->runtime},
                         &err);
    if (!s->agent) {
        fprintf(stderr, "agent: %s\n", err.text);
        abort();
    }
}

static void stop_agent(struct sim *s, int64_t absence)
{
    agent_free(s->agent);
    transport_free(s->agent_link);
    s->agent = NULL;
    sim_runtime_let_go(s->runtime);
    (void)clock_start(s->clock, absence, start_agent, s);
}

void world_kill_agent(struct sim *s)
{
    if (!s->agent)
        return;
    say(s, "sim   agent killed");
    stop_agent(s, absence_ms());
}

/* Long enough for the controllers to give the node up, while its pods go on. */
void world_silence_node(struct sim *s)
{
    if (!s->agent)
        return;
    say(s, "sim   node falls silent, its pods go on");
    stop_agent(s, rand_range(200000, 420000));
}

void world_lose_node(struct sim *s)
{
    if (!s->agent)
        return;
    say(s, "sim   node lost, all its pods with it");
    sim_runtime_lose_all(s->runtime);
    stop_agent(s, rand_range(1000, 300000));
}

/* --- the server --------------------------------------------------------------------------------
 */

static void start_server(void *arg)
{
    struct sim *s = arg;
    struct store_options options = {.window_events = s->seed % 3 == 0 ? 12 : 0,
                                    .ready_bytes = s->seed % 2};
    auto_err err = ERR_INIT;

    if (s->server)
        return;
    s->server_dying = false;
    writer_sim = s;
    s->store = store_open(s->loop, s->database, &options, &err);
    if (!s->store) {
        fprintf(stderr, "store: %s\n", err.text);
        abort();
    }
    observer_opened(s->observer, s->store);
    s->server = server_new(
        &(struct server_options){.loop = s->loop, .store = s->store, .clock = s->clock}, &err);
    assert(s->server);
    network_connect(s->network, s->server);
    say(s, "sim   server starts at revision %lld", (long long)store_revision(s->store));
}

static void stop_server(struct sim *s)
{
    s->server_dying = true;
    network_break(s->network);
    server_free(s->server);
    store_close(s->store);
    s->server = NULL;
    s->store = NULL;
}

void world_kill_server(struct sim *s)
{
    if (!s->server)
        return;
    say(s, "sim   server killed");
    stop_server(s);
    (void)clock_start(s->clock, rand_chance(0.7) ? rand_below(500) : rand_below(30000),
                      start_server, s);
}

/* --- a run -------------------------------------------------------------------------------------
 */

static void draw_machine(void)
{
    sim_machine = (struct machine_size){.cpus = rand_range(2, 12),
                                        .memory_bytes = rand_range(4, 32) << 30,
                                        .gpus = rand_chance(0.5) ? rand_range(1, 4) : 0};
}

static void begin(struct sim *s, uint64_t seed, bool verbose)
{
    rand_seed(seed * 0x9e3779b97f4a7c15u + 1);
    s->seed = seed;
    s->verbose = verbose;
    s->hash = FNV1A_64_START;
    s->loop = loop_new(NULL);
    s->clock = loop_clock(s->loop);
    (void)snprintf(s->database, sizeof(s->database), "%s/muster.db", s->folder);
    draw_machine();
    faults_draw(s);
    s->observer = observer_new(s);
    s->network = network_new(s);
    s->runtime = sim_runtime_new(s);
    say(s, "sim   seed %llu: %lld CPUs, %lld GPUs", (unsigned long long)seed,
        (long long)sim_machine.cpus, (long long)sim_machine.gpus);
    start_server(s);
    start_controller(s);
    start_agent(s);
    s->user = user_new(s);
    s->reader = reader_new(s);
    faults_start(s);
}

static void run_until(struct sim *s, int64_t until_ms)
{
    while (!s->failed && sim_loop_next(s->loop) >= 0 && sim_loop_next(s->loop) <= until_ms) {
        if (++s->steps > STEPS_LIMIT) {
            violate(s, "more than %d events: something goes in circles", STEPS_LIMIT);
            return;
        }
        (void)sim_loop_step(s->loop);
    }
}

static void make_peace(struct sim *s)
{
    say(s, "sim   peace: no more faults");
    s->peace = true;
    s->disk_full_until = 0;
    start_server(s);
    start_controller(s);
    start_agent(s);
    user_settle(s->user);
}

static void end(struct sim *s)
{
    user_free(s->user);
    reader_free(s->reader);
    if (s->control) {
        control_free(s->control);
        transport_free(s->controller_link);
    }
    if (s->agent) {
        agent_free(s->agent);
        transport_free(s->agent_link);
    }
    if (s->server)
        stop_server(s);
    network_free(s->network);
    s->runtime->ops->free(s->runtime);
    observer_free(s->observer);
    loop_free(s->loop);
    (void)unlink(s->database);
}

void sim_run(struct sim *s, uint64_t seed, bool verbose)
{
    int64_t war;

    begin(s, seed, verbose);
    war = rand_range(WAR_MS_MIN, WAR_MS_MAX);
    run_until(s, war);
    if (!s->failed)
        make_peace(s);
    run_until(s, war + PEACE_MS);
    if (!s->failed)
        observer_judge(s->observer);
    if (!s->failed)
        reader_judge(s->reader);
    end(s);
}
