/* faults.c - which faults a run has, how often, and when those come that nobody's call triggers. */
#include <math.h>
#include <string.h>

#include "sim.h"

/* For faults of calls and the like: the highest probability each time. For those that come by
 * themselves: the shortest mean time between two, in seconds. */
static const struct {
    const char *name;
    double most;
    double in_runs; /* share of the runs that have it at all */
} table[FAULT_COUNT] = {
    [FAULT_EXIT_CODE] = {"replica exits with a code other than 0", 0.7, 0.9},
    [FAULT_NEVER_EXITS] = {"replica never exits", 0.5, 0.5},
    [FAULT_IGNORES_TERM] = {"replica ignores TERM", 0.5, 0.4},
    [FAULT_START_ERROR] = {"replica cannot be started", 0.15, 0.2},
    [FAULT_REQUEST_LOST] = {"request lost before its effect", 0.1, 0.4},
    [FAULT_REPLY_LOST] = {"reply lost after the effect", 0.1, 0.4},
    [FAULT_REQUEST_LATE] = {"request late (up to 15 s)", 0.1, 0.4},
    [FAULT_REPLY_LATE] = {"reply late (up to 15 s)", 0.1, 0.4},
    [FAULT_409] = {"409 Conflict", 0.1, 0.4},
    [FAULT_410] = {"410 Expired on list or watch", 0.2, 0.4},
    [FAULT_429] = {"429 Too Many Requests", 0.1, 0.4},
    [FAULT_5XX] = {"500, 503 or 504", 0.1, 0.4},
    [FAULT_WATCH_LATE] = {"watch event late (up to 15 s)", 0.1, 0.4},
    [FAULT_WATCH_CUT] = {"watch cut, events lost", 0.05, 0.4},
    [FAULT_WATCH_TWICE] = {"watch event told twice", 0.2, 0.4},
    [FAULT_WATCH_STALL] = {"watch stalls without an end", 0.01, 0.3},
    [FAULT_CONTROLLER_KILLED_AT_WRITE] = {"controller killed at a write", 0.05, 0.4},
    [FAULT_AGENT_KILLED_AT_ACTION] = {"agent killed at an action", 0.05, 0.4},
    [FAULT_SERVER_KILLED_AT_COMMIT] = {"server killed at a commit", 0.01, 0.3},
    [FAULT_DISK_SLOW] = {"disk slow (up to 3 s)", 0.1, 0.3},
    [FAULT_DISK_FULL] = {"disk full for a while", 0.01, 0.3},
    [FAULT_FOREIGN_POD] = {"foreign pod takes a replica's name", 0.5, 0.3},
    [FAULT_ENDS_AT_EVICTION] = {"replica ends as it is evicted", 0.7, 0.9},
    [FAULT_KILLED_AT_EVICTION] = {"a process killed after an eviction", 0.7, 0.5},
    [FAULT_CONTROLLER_KILLED] = {"controller killed at any time", 60, 0.4},
    [FAULT_AGENT_KILLED] = {"agent killed at any time", 60, 0.4},
    [FAULT_SERVER_KILLED] = {"server killed at any time", 120, 0.4},
    [FAULT_ALL_KILLED] = {"server, controller and agent killed", 120, 0.3},
    [FAULT_NODE_LOST] = {"node lost with its pods", 150, 0.35},
    [FAULT_NODE_SILENT] = {"node silent for minutes, its pods run", 150, 0.2},
    [FAULT_CLOCK_FORWARD] = {"clock jumps forward", 100, 0.3},
    [FAULT_CLOCK_BACK] = {"clock jumps back", 100, 0.3},
    [FAULT_POD_DELETED] = {"pod deleted by hand", 40, 0.4},
    [FAULT_POD_FORCE_DELETED] = {"pod deleted by hand without grace", 60, 0.3},
    [FAULT_JOB_DELETED] = {"job deleted", 200, 0.25},
    [FAULT_JOB_RECREATED] = {"job deleted and made anew at once", 120, 0.35},
    [FAULT_PAUSED] = {"job paused", 60, 0.4},
    [FAULT_RESUMED] = {"job resumed", 60, 0.9},
    [FAULT_RESIZED] = {"elastic job resized", 60, 0.8},
    [FAULT_POLICY_EDITED] = {"runPolicy edited", 100, 0.3},
    [FAULT_PREEMPTED] = {"job of a higher queue comes", 8, 0.6},
};

const char *fault_name(enum fault f)
{
    return table[f].name;
}

/* Between a fiftieth of the most and the most, evenly in the logarithm. */
static double draw_share(void)
{
    double u = (double)rand_below(1000) / 1000.0;

    return pow(50.0, u) / 50.0;
}

void faults_draw(struct sim *s)
{
    bool calm = rand_chance(0.05); /* nothing but the jobs themselves */

    for (enum fault f = 0; f < FAULT_COUNT; f++) {
        bool has = rand_chance(table[f].in_runs);
        double share = draw_share();

        if (!has || (calm && f != FAULT_EXIT_CODE))
            s->rates[f] = 0;
        else
            s->rates[f] = f < FAULT_BY_TIME ? table[f].most * share : table[f].most / share;
    }
}

void fault_note(struct sim *s, enum fault f)
{
    s->fired[f]++;
}

bool fault(struct sim *s, enum fault f)
{
    bool jobs_own = f == FAULT_EXIT_CODE || f == FAULT_NEVER_EXITS || f == FAULT_IGNORES_TERM;

    if (s->rates[f] <= 0 || (s->peace && !jobs_own) || !rand_chance(s->rates[f]))
        return false;
    fault_note(s, f);
    return true;
}

/* --- by themselves */

static void jump(struct sim *s, int64_t sign)
{
    int64_t ms = sign * (rand_chance(0.5) ? rand_range(1, 5000) : rand_range(5000, 7200000));

    say(s, "clock jumps by %lld ms", (long long)ms);
    sim_loop_jump(s->loop, ms);
}

static void happen(struct sim *s, enum fault f)
{
    switch ((int)f) {
    case FAULT_CONTROLLER_KILLED:
        world_kill_controller(s);
        break;
    case FAULT_AGENT_KILLED:
        world_kill_agent(s);
        break;
    case FAULT_SERVER_KILLED:
        world_kill_server(s);
        break;
    case FAULT_ALL_KILLED:
        world_kill_server(s);
        world_kill_controller(s);
        world_kill_agent(s);
        break;
    case FAULT_NODE_LOST:
        world_lose_node(s);
        break;
    case FAULT_NODE_SILENT:
        world_silence_node(s);
        break;
    case FAULT_CLOCK_FORWARD:
        jump(s, 1);
        break;
    case FAULT_CLOCK_BACK:
        jump(s, -1);
        break;
    default:
        user_act(s->user, f);
        return; /* notes it when it was done */
    }
    fault_note(s, f);
}

struct source {
    struct sim *sim;
    enum fault fault;
};

static struct source sources[FAULT_COUNT];

static void come(void *arg);

static void come_later(struct source *src)
{
    struct sim *s = src->sim;
    double u = ((double)rand_below(1000000) + 1) / 1000001.0;

    (void)clock_start(s->clock, (int64_t)(-log(u) * s->rates[src->fault] * 1000), come, src);
}

static void come(void *arg)
{
    struct source *src = arg;

    if (src->sim->peace)
        return;
    happen(src->sim, src->fault);
    come_later(src);
}

void faults_start(struct sim *s)
{
    for (enum fault f = FAULT_BY_TIME; f < FAULT_COUNT; f++) {
        sources[f] = (struct source){.sim = s, .fault = f};
        if (s->rates[f] > 0)
            come_later(&sources[f]);
    }
}
