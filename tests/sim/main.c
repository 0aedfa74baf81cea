/*
 * main.c - runs seeds, each in a process of its own: a crash is that seed's failure, and every seed
 * starts from the same state.
 *
 *   sim SEEDS          seeds 1..SEEDS on all cores, then a table of how often each fault came
 *   sim --seed K       that one, with its timeline
 *   sim --from A B     seeds A..B
 *   sim --queues SEEDS seeds of the world of queues alone: a hundred times as fast
 *
 * The last line is `N passed, M failed`. Some seeds are run twice; their timelines must be equal.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "queues.h"
#include "sim.h"

#define WORKERS_LIMIT 64
#define SEED_SECONDS_LIMIT 300 /* of one run; sanitized and on a busy machine */
#define REPEAT_EVERY 50        /* how often a seed is run twice */
#define FAILURES_SHOWN 20

/* What a run tells its parent. */
struct result {
    bool done, failed;
    uint32_t fired[FAULT_COUNT];
    uint64_t hash, steps;
    char violation[1024];
};

struct worker {
    pid_t pid;
    uint64_t seed;
    bool repeat;
    struct result *result; /* shared memory */
    uint64_t first_hash;
};

struct totals {
    uint64_t passed, failed, fired[FAULT_COUNT], runs[FAULT_COUNT], steps, repeated;
};

static char folder[128];
static bool only_queues;

static void fill(struct result *r, const struct sim *s)
{
    r->failed = s->failed;
    r->hash = s->hash;
    r->steps = s->steps;
    memcpy(r->fired, s->fired, sizeof(r->fired));
    memcpy(r->violation, s->violation, sizeof(r->violation));
    r->done = true;
}

static void run_one(uint64_t seed, bool verbose, const char *name, struct result *r)
{
    static struct sim s;

    (void)snprintf(s.folder, sizeof(s.folder), "%s/%s", folder, name);
    (void)mkdir(s.folder, 0700);
    (void)alarm(SEED_SECONDS_LIMIT);
    if (!only_queues)
        sim_run(&s, seed, verbose);
    if (!s.failed)
        queues_run(&s, seed, verbose);
    fill(r, &s);
}

static void start(struct worker *w, size_t slot, uint64_t seed)
{
    w->seed = seed;
    memset(w->result, 0, sizeof(*w->result));
    fflush(stdout);
    w->pid = fork();
    if (w->pid < 0) {
        perror("fork");
        exit(2);
    }
    if (w->pid == 0) {
        char name[32];

        (void)snprintf(name, sizeof(name), "%zu", slot);
        run_one(seed, false, name, w->result);
        exit(0); /* with what a sanitizer has to say at the end */
    }
}

static void show_failure(const struct totals *t, uint64_t seed, const char *why)
{
    if (t->failed <= FAILURES_SHOWN)
        printf("seed %llu: %s\n          rerun: make sim SEED=%llu\n", (unsigned long long)seed,
               why, (unsigned long long)seed);
}

static void judge(struct worker *w, struct totals *t, int status)
{
    const struct result *r = w->result;
    char why[1200] = "";

    if (!r->done || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        (void)snprintf(why, sizeof(why), "crashed or hung (%s %d)",
                       WIFSIGNALED(status) ? "signal" : "exit",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (r->done && r->failed)
        (void)snprintf(why, sizeof(why), "%s", r->violation);
    else if (w->repeat && r->hash != w->first_hash)
        (void)snprintf(why, sizeof(why), "the same seed gave another timeline");
    if (*why) {
        t->failed++;
        show_failure(t, w->seed, why);
    }
    if (w->repeat) {
        t->repeated++;
        return; /* counted when it ran first */
    }
    t->passed += !*why;
    t->steps += r->steps;
    for (size_t f = 0; f < FAULT_COUNT; f++) {
        t->fired[f] += r->fired[f];
        t->runs[f] += r->fired[f] > 0;
    }
}

static void run_all(uint64_t from, uint64_t to, struct totals *t)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t workers = (size_t)min_i64(max_i64(cores, 1), WORKERS_LIMIT), busy = 0;
    struct worker pool[WORKERS_LIMIT] = {0};
    struct result *results = mmap(NULL, sizeof(*results) * WORKERS_LIMIT, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t next = from;

    if (results == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    while (next <= to || busy) {
        int status;
        pid_t pid;

        for (size_t i = 0; i < workers && next <= to; i++)
            if (!pool[i].pid) {
                pool[i].result = &results[i];
                start(&pool[i], i, next++);
                busy++;
            }
        pid = wait(&status);
        if (pid < 0)
            break;
        for (size_t i = 0; i < workers; i++) {
            struct worker *w = &pool[i];

            if (w->pid != pid)
                continue;
            judge(w, t, status);
            w->first_hash = w->result->hash;
            w->repeat = !w->repeat && w->result->done && w->seed % REPEAT_EVERY == 1;
            w->pid = 0;
            if (w->repeat)
                start(w, i, w->seed);
            else
                busy--;
        }
    }
    (void)munmap(results, sizeof(*results) * WORKERS_LIMIT);
}

static void show_table(const struct totals *t, uint64_t runs, double seconds)
{
    printf("\n%-44s %10s %10s\n", "fault", "times", "of runs");
    for (enum fault f = 0; f < FAULT_COUNT; f++)
        printf("%-44s %10llu %9.1f%%\n", fault_name(f), (unsigned long long)t->fired[f],
               100.0 * (double)t->runs[f] / (double)runs);
    printf("\n%llu seeds, %llu events, %.1f s; %llu seeds run twice for the same timeline\n",
           (unsigned long long)runs, (unsigned long long)t->steps, seconds,
           (unsigned long long)t->repeated);
}

static void remove_folder(void)
{
    char command[200];

    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command) != 0)
        fprintf(stderr, "sim: %s is left\n", folder);
}

static void make_folder(void)
{
    const char *at = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    (void)snprintf(folder, sizeof(folder), "%s/muster-sim-XXXXXX", at);
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
}

static int show_seed(uint64_t seed)
{
    static struct result r;

    run_one(seed, true, "one", &r);
    printf("timeline %016llx, %llu events\n", (unsigned long long)r.hash,
           (unsigned long long)r.steps);
    for (enum fault f = 0; f < FAULT_COUNT; f++)
        if (r.fired[f])
            printf("  %5u  %s\n", r.fired[f], fault_name(f));
    if (r.failed)
        printf("seed %llu: %s\n", (unsigned long long)seed, r.violation);
    printf("%d passed, %d failed\n", !r.failed, r.failed);
    remove_folder();
    return r.failed;
}

static uint64_t number(const char *text)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (*end || n == 0) {
        fprintf(stderr, "sim: not a number of 1 or more: %s\n", text);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    struct totals t = {0};
    struct timespec before, after;
    uint64_t from = 1, to = 0;

    log_set_level(LOG_LEVEL_ERROR);
    if (argc > 2 && strcmp(argv[1], "--queues") == 0) {
        only_queues = true;
        argv++;
        argc--;
    }
    if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
        make_folder();
        if (getenv("SIM_LOG"))
            log_set_level(LOG_LEVEL_DEBUG);
        return show_seed(number(argv[2]));
    }
    if (argc == 4 && strcmp(argv[1], "--from") == 0) {
        from = number(argv[2]);
        to = number(argv[3]);
    } else if (argc == 2) {
        to = number(argv[1]);
    } else {
        fprintf(stderr, "usage: sim [--queues] SEEDS | --seed K | --from A B\n");
        return 2;
    }
    make_folder();
    clock_gettime(CLOCK_MONOTONIC, &before);
    run_all(from, to, &t);
    clock_gettime(CLOCK_MONOTONIC, &after);
    remove_folder();
    show_table(&t, to - from + 1,
               (double)(after.tv_sec - before.tv_sec) +
                   (double)(after.tv_nsec - before.tv_nsec) / 1e9);
    printf("%llu passed, %llu failed\n", (unsigned long long)t.passed,
           (unsigned long long)t.failed);
    return t.failed > 0;
}
