/* usage_read_test.c - what a pod uses: by its groups (files of either version) and by its processes
 * (a real one with the marks of a pod); and the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/podfolder.h"
#include "runtime/usage.h"

#define MIB (1 << 20)

struct fixture {
    char dir[48], uid[32];
    struct usage_reader *reader;
    struct usage_target target;
    pid_t child;
    int ask[2], answer[2];
};

static void put(const struct fixture *f, const char *path, const char *text)
{
    char full[256], folder[256];

    (void)snprintf(full, sizeof(full), "%s/%s", f->dir, path);
    (void)snprintf(folder, sizeof(folder), "%s", full);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(file_make_dirs(folder, 0700), 0);
    assert_int_equal(file_write_atomic(full, text, strlen(text), 0600), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    strcpy(f->dir, "/tmp/muster-read-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->uid, sizeof(f->uid), "uid-%d", (int)getpid());
    f->reader = usage_reader_new();
    assert_non_null(f->reader);
    f->target.uid = f->uid;
    f->target.dir = f->dir;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[80];

    usage_reader_free(f->reader);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->dir);
    assert_int_equal(system(command), 0);
    free(f);
    return 0;
}

static void write_run(struct fixture *f, const char *const *groups)
{
    const char *const argv[] = {"x", NULL}, *const env[] = {NULL};
    struct container_start c = {
        .name = "main", .argv = argv, .env = env, .cwd = "/", .cgroups = groups};
    struct pod_start p = {
        .ns = "ns", .name = "pod", .uid = f->uid, .containers = &c, .containers_len = 1};
    struct arena a = ARENA_INIT(1u << 20);
    struct buf text = BUF_INIT(1u << 20);

    json_write(&text, pod_start_to_json(&a, &p));
    put(f, POD_FILE_RUN, text.data);
    buf_release(&text);
    arena_release(&a);
}

static void look(struct fixture *f, int64_t now_s)
{
    usage_reader_look(f->reader, &f->target, 1, now_s * 1000);
}

static void assert_near(float v, double expected)
{
    if (isnan(v) || fabs((double)v - expected) > expected * 0.001 + 0.001)
        fail_msg("%g instead of %g", (double)v, expected);
}

static void groups_of_version_2(void **state)
{
    struct fixture *f = *state;
    char group[64];
    const char *const groups[] = {group, NULL};
    const struct usage_sample *s = &f->target.sample;

    (void)snprintf(group, sizeof(group), "%s/pod/main", f->dir);
    put(f, "pod/main/cpu.stat", "usage_usec 1000000\nuser_usec 1\n");
    put(f, "pod/main/memory.current", "104857600\n");
    put(f, "pod/main/memory.stat", "anon 52428800\nfile 1\ninactive_file 4194304\n");
    put(f, "pod/main/cgroup.procs", "");
    write_run(f, groups);
    look(f, 10);
    assert_int_equal(f->target.containers_len, 1);
    assert_true(isnan(s->v[USAGE_CPU])); /* no rate yet */
    assert_near(s->v[USAGE_MEMORY], 96.0 * MIB);
    put(f, "pod/main/cpu.stat", "usage_usec 4000000\nuser_usec 1\n");
    look(f, 12);
    assert_near(s->v[USAGE_CPU], 1.5);
    assert_near(s->v[USAGE_RSS], 50.0 * MIB);
    assert_near(f->target.containers[0].cpu, 1.5);
    assert_string_equal(f->target.containers[0].name, "main");
    assert_true(isnan(s->v[USAGE_NET_RX])); /* a plain folder has no counters */
    assert_true(isnan(s->v[USAGE_GPU]));
    assert_near(s->v[USAGE_DISK_WRITE], 0);
    assert_int_equal(f->target.pids_len, 0);
}

static void groups_of_version_1(void **state)
{
    struct fixture *f = *state;
    char cpu[64], memory[64];
    const char *const groups[] = {memory, cpu, NULL};
    const struct usage_sample *s = &f->target.sample;
    char pid[16];

    (void)snprintf(cpu, sizeof(cpu), "%s/cpu/main", f->dir);
    (void)snprintf(memory, sizeof(memory), "%s/memory/main", f->dir);
    (void)snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    put(f, "cpu/main/cpuacct.usage", "1000000000\n");
    put(f, "cpu/main/cpu.stat", "nr_periods 0\n"); /* has no usage */
    put(f, "memory/main/memory.usage_in_bytes", "10485760\n");
    put(f, "memory/main/memory.stat",
        "cache 0\ninactive_file 9\ntotal_rss 2097152\ntotal_inactive_file 1048576\n");
    put(f, "memory/main/cgroup.procs", pid);
    write_run(f, groups);
    look(f, 10);
    put(f, "cpu/main/cpuacct.usage", "1250000000\n");
    look(f, 11);
    assert_near(s->v[USAGE_CPU], 0.25);
    assert_near(s->v[USAGE_MEMORY], 9.0 * MIB);
    assert_near(s->v[USAGE_RSS], 2.0 * MIB);
    assert_int_equal(f->target.pids_len, 1);
    assert_int_equal(f->target.pids[0], getpid());
}

/* Burns so much CPU each time it is asked to, holds 32 MiB, and answers. */
static void be_pod(const struct fixture *f)
{
    char *memory = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rusage before, now;
    char c = 0;

    memset(memory, 1, 32 * MIB);
    while (write(f->answer[1], &c, 1) == 1 && read(f->ask[0], &c, 1) == 1) {
        (void)getrusage(RUSAGE_SELF, &before);
        do {
            (void)getrusage(RUSAGE_SELF, &now);
        } while ((now.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                     (now.ru_utime.tv_usec - before.ru_utime.tv_usec) +
                     (now.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
                     (now.ru_stime.tv_usec - before.ru_stime.tv_usec) <
                 200000);
    }
    _exit(0);
}

/* The marks must be in the environment a process was started with: so it is the test itself, run
 * once more. */
static void start_pod(struct fixture *f)
{
    char uid[64], ask[16], answer[16], c;

    assert_int_equal(pipe(f->ask), 0);
    assert_int_equal(pipe(f->answer), 0);
    f->child = fork();
    assert_true(f->child >= 0);
    if (f->child == 0) {
        char *argv[] = {(char[]){"usage_read_test"}, ask, answer, NULL};
        char *env[] = {uid, (char[]){POD_ENV_CONTAINER "=main"}, NULL};

        (void)close(f->ask[1]);
        (void)close(f->answer[0]);
        (void)snprintf(uid, sizeof(uid), POD_ENV_UID "=%s", f->uid);
        (void)snprintf(ask, sizeof(ask), "%d", f->ask[0]);
        (void)snprintf(answer, sizeof(answer), "%d", f->answer[1]);
        (void)execve("/proc/self/exe", argv, env);
        _exit(1);
    }
    (void)close(f->ask[0]);
    (void)close(f->answer[1]);
    assert_int_equal(read(f->answer[0], &c, 1), 1);
}

static void processes_by_their_marks(void **state)
{
    struct fixture *f = *state;
    const struct usage_sample *s = &f->target.sample;
    char c = 0;

    write_run(f, NULL);
    start_pod(f);
    look(f, 10);
    assert_int_equal(f->target.pids_len, 1);
    assert_int_equal(f->target.pids[0], f->child);
    assert_int_equal(write(f->ask[1], &c, 1), 1);
    assert_int_equal(read(f->answer[0], &c, 1), 1);
    look(f, 11); /* by our clock one second later */
    assert_in_range((int)(s->v[USAGE_CPU] * 1000), 150, 400);
    assert_in_range((int)(s->v[USAGE_MEMORY] / MIB), 32, 64);
    assert_true(isnan(s->v[USAGE_NET_RX]));
    assert_true(s->v[USAGE_DISK_READ] >= 0);
    (void)close(f->ask[1]);
    assert_int_equal(waitpid(f->child, NULL, 0), f->child);
    look(f, 12);
    assert_int_equal(f->target.pids_len, 0);
    assert_near(s->v[USAGE_CPU], 0);
    assert_near(s->v[USAGE_MEMORY], 0);
    (void)close(f->answer[0]);
}

static void the_machine(void **state)
{
    struct fixture *f = *state;
    struct usage_node n = {0};
    struct usage_sample s;
    long tick = sysconf(_SC_CLK_TCK);
    char text[128];

    (void)snprintf(text, sizeof(text), "cpu  %ld 0 %ld 500 9 0 0 0 0 0\ncpu0 1 1\n", tick, tick);
    put(f, "proc/stat", text);
    put(f, "proc/meminfo",
        "MemTotal: 4096 kB\nMemFree: 9 kB\nMemAvailable: 1024 kB\n"
        "AnonPages: 512 kB\n");
    put(f, "proc/net/dev",
        "Inter-|   Receive\n face |bytes\n    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
        "  eth0: 1000 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n");
    put(f, "proc/diskstats",
        "   8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n"
        "   8 1 sda1 1 0 10 0 1 0 20 0 0 0 0\n"
        "   7 0 loop0 1 0 10 0 1 0 20 0 0 0 0\n");
    put(f, "sys/block/sda/x", "");
    put(f, "sys/block/loop0/x", "");
    usage_node_look(&n, f->dir, 1000, &s);
    assert_true(isnan(s.v[USAGE_CPU]));
    assert_near(s.v[USAGE_MEMORY], 3.0 * MIB);
    assert_near(s.v[USAGE_RSS], 0.5 * MIB);
    (void)snprintf(text, sizeof(text), "cpu  %ld 0 %ld 900 9 0 0 0 0 0\n", 2 * tick, 2 * tick);
    put(f, "proc/stat", text);
    put(f, "proc/net/dev", "  eth0: 3000 1 0 0 0 0 0 0 700 1 0 0 0 0 0 0\n");
    put(f, "proc/diskstats", "   8 0 sda 1 0 12 0 1 0 30 0 0 0 0\n");
    usage_node_look(&n, f->dir, 3000, &s);
    assert_near(s.v[USAGE_CPU], 1);
    assert_near(s.v[USAGE_NET_RX], 1000);
    assert_near(s.v[USAGE_NET_TX], 100);
    assert_near(s.v[USAGE_DISK_READ], 512);
    assert_near(s.v[USAGE_DISK_WRITE], 2560);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_of_version_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_version_1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_by_their_marks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_machine, set_up, tear_down),
    };

    if (argc == 3) {
        struct fixture f = {.ask = {atoi(argv[1])}, .answer = {0, atoi(argv[2])}};

        be_pod(&f);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
