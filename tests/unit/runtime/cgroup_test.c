/* cgroup_test.c - control groups of both versions on trees of plain files, so that both are tested
 * on every machine; what a real kernel makes of it, tests/pods shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/cgroup.h"
#include "runtime/oom.h"
#include "runtime/proc.h"

struct tree {
    char root[32], command[64];
};

static int set_up(void **state)
{
    struct tree *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    strcpy(t->root, "/tmp/muster-cgroup-XXXXXX");
    assert_non_null(mkdtemp(t->root));
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct tree *t = *state;

    (void)snprintf(t->command, sizeof(t->command), "rm -rf %s", t->root);
    assert_int_equal(system(t->command), 0);
    free(t);
    return 0;
}

static const char *at(const struct tree *t, const char *path)
{
    static char out[8][512];
    static size_t next;
    char *p = out[next++ % ELEMS(out)];

    (void)snprintf(p, sizeof(out[0]), "%s/%s", t->root, path);
    return p;
}

static void put(const struct tree *t, const char *path, const char *text)
{
    char folder[512];

    (void)snprintf(folder, sizeof(folder), "%s", at(t, path));
    *strrchr(folder, '/') = '\0';
    assert_int_equal(file_make_dirs(folder, 0700), 0);
    assert_int_equal(file_write_atomic(at(t, path), text, strlen(text), 0600), 0);
}

static void assert_file(const struct tree *t, const char *path, const char *expected)
{
    struct buf text = BUF_INIT(4096);

    if (file_read(at(t, path), 4096, &text) != 0)
        fail_msg("%s is not there", path);
    assert_string_equal(text.data, expected);
    buf_release(&text);
}

static void assert_no_file(const struct tree *t, const char *path)
{
    assert_int_equal(access(at(t, path), F_OK), -1);
}

#define V1_MOUNTS                                                                                  \
    "31 23 0:28 / /cg rw,relatime - tmpfs tmpfs rw,mode=755\n"                                     \
    "32 31 0:29 / /cg/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"                            \
    "35 31 0:32 / /cg/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"                     \
    "36 31 0:33 / /cg/devices rw,relatime - cgroup cgroup rw,devices\n"                            \
    "41 31 0:38 / /cg/unified rw,relatime - cgroup2 cgroup2 rw\n"

static void make_v1(const struct tree *t)
{
    put(t, "proc/self/mountinfo", V1_MOUNTS);
    put(t, "proc/self/cgroup", "9:devices:/x\n4:memory:/job\n1:cpu,cpuacct:/\n0::/\n");
    assert_int_equal(file_make_dirs(at(t, "cg/memory/job"), 0700), 0);
    assert_int_equal(file_make_dirs(at(t, "cg/cpu"), 0700), 0);
    assert_int_equal(file_make_dirs(at(t, "cg/unified"), 0700), 0);
}

static void make_v2(const struct tree *t, const char *own)
{
    char line[256];

    put(t, "proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw,nsdelegate\n");
    (void)snprintf(line, sizeof(line), "0::%s\n", own);
    put(t, "proc/self/cgroup", line);
}

static const struct container_limits half = {
    .cpu_milli = 500, .cpu_request_milli = 250, .memory_bytes = 64 << 20};

static const struct container_start containers_u1[] = {
    {.name = "fetch", .init = true, .limits = {.cpu_request_milli = 1500}},
    {.name = "main", .limits = {.cpu_request_milli = 250}},
    {.name = "side", .limits = {.cpu_request_milli = 1750}},
};
static const struct pod_start pod_u1 = {
    .uid = "u1", .containers = containers_u1, .containers_len = ELEMS(containers_u1)};

static void init(struct cgroups *g, const struct tree *t)
{
    struct cgroups_options o = {
        .root = t->root, .name = "muster-1", .memory = at(t, "places"), .processors = 4};

    assert_int_equal(cgroups_init(g, &o), 0);
}

static void version_1_gets_its_files(void **state)
{
    struct tree *t = *state;
    struct arena a = ARENA_INIT(1u << 20);
    struct cgroups g;
    const char *const *folders;

    make_v1(t);
    init(&g, t);
    assert_null(cgroups_problem(&g));
    assert_int_equal(cgroups_pod_make(&g, &pod_u1, NULL), 0);
    folders = cgroups_container_make(&g, &a, "u1", "main", &half);
    assert_string_equal(folders[0], at(t, "cg/memory/job/muster-1/u1/main"));
    assert_string_equal(folders[1], at(t, "cg/cpu/muster-1/u1/main"));
    assert_string_equal(folders[2], at(t, "cg/unified/muster-1/u1/main"));
    assert_null(folders[3]);
    assert_file(t, "cg/cpu/muster-1/u1/main/cpu.cfs_quota_us", "50000");
    assert_file(t, "cg/cpu/muster-1/u1/main/cpu.cfs_period_us", "100000");
    assert_file(t, "cg/cpu/muster-1/u1/main/cpu.shares", "256");
    assert_file(t, "cg/cpu/muster-1/u1/cpu.shares", "2048");
    assert_file(t, "cg/cpu/muster-1/cpu.shares", "4096");
    assert_no_file(t, "cg/cpu/muster-1/u1/cpu.cfs_quota_us");
    assert_no_file(t, "cg/memory/job/muster-1/cpu.shares");
    assert_file(t, "cg/memory/job/muster-1/u1/main/memory.limit_in_bytes", "67108864");
    assert_file(t, "cg/memory/job/muster-1/u1/main/memory.memsw.limit_in_bytes", "67108864");
    assert_no_file(t, "cg/unified/muster-1/u1/main/memory.max");
    assert_int_equal(cgroup_enter(folders, false), 0);
    assert_file(t, "cg/memory/job/muster-1/u1/main/tasks", "0");
    cgroups_release(&g);
    arena_release(&a);
}

static void no_limit_writes_no_limit(void **state)
{
    struct tree *t = *state;
    struct arena a = ARENA_INIT(1u << 20);
    struct container_limits none = {0};
    struct cgroups g;

    make_v1(t);
    init(&g, t);
    assert_int_equal(cgroups_pod_make(&g, &pod_u1, NULL), 0);
    assert_non_null(cgroups_container_make(&g, &a, "u1", "main", &none));
    assert_no_file(t, "cg/cpu/muster-1/u1/main/cpu.cfs_quota_us");
    assert_no_file(t, "cg/memory/job/muster-1/u1/main/memory.limit_in_bytes");
    assert_file(t, "cg/cpu/muster-1/u1/main/cpu.shares", "2");
    cgroups_release(&g);
    arena_release(&a);
}

static void a_pod_weighs_what_may_run_at_once(void **state)
{
    struct container_start list[] = {
        {.name = "fetch", .init = true, .limits = {.cpu_request_milli = 3000}},
        {.name = "convert", .init = true, .limits = {.cpu_request_milli = 2000}},
        {.name = "main", .limits = {.cpu_request_milli = 500}},
        {.name = "side", .limits = {.cpu_request_milli = 500}},
    };
    struct pod_start pod = {.uid = "u1", .containers = list, .containers_len = ELEMS(list)};
    struct tree *t = *state;
    struct cgroups g;

    assert_int_equal(cgroup_pod_request_milli(&pod), 3000);
    list[3].limits.cpu_request_milli = INT64_MAX; /* of a user who wants it all */
    make_v1(t);
    init(&g, t);
    assert_int_equal(cgroups_pod_make(&g, &pod, NULL), 0);
    assert_file(t, "cg/cpu/muster-1/u1/cpu.shares", "262144");
    pod.containers_len = 0;
    assert_int_equal(cgroup_pod_request_milli(&pod), 0);
    assert_int_equal(cgroups_pod_make(&g, &pod, NULL), 0);
    assert_file(t, "cg/cpu/muster-1/u1/cpu.shares", "2");
    cgroups_release(&g);
}

static void version_2_goes_up_to_what_can_be_divided(void **state)
{
    struct tree *t = *state;
    struct arena a = ARENA_INIT(1u << 20);
    struct cgroups g;

    make_v2(t, "/app.slice/run.scope");
    put(t, "cg/app.slice/cgroup.controllers", "cpuset cpu io memory pids\n");
    put(t, "cg/app.slice/run.scope/cgroup.controllers", "cpu memory pids\n");
    /* it has processes: nothing can be handed down from it */
    assert_int_equal(file_make_dirs(at(t, "cg/app.slice/run.scope/cgroup.subtree_control"), 0700),
                     0);
    init(&g, t);
    assert_null(cgroups_problem(&g));
    assert_file(t, "cg/app.slice/cgroup.subtree_control", "+cpu +memory +pids");
    assert_file(t, "cg/app.slice/muster-1/cgroup.subtree_control", "+cpu +memory +pids");
    assert_int_equal(cgroups_pod_make(&g, &pod_u1, NULL), 0);
    assert_file(t, "cg/app.slice/muster-1/u1/cgroup.subtree_control", "+cpu +memory +pids");
    assert_file(t, "cg/app.slice/muster-1/u1/pids.max", "32768");
    assert_non_null(cgroups_container_make(&g, &a, "u1", "main", &half));
    assert_file(t, "cg/app.slice/muster-1/u1/main/cpu.max", "50000 100000");
    assert_file(t, "cg/app.slice/muster-1/u1/main/cpu.weight", "10");
    assert_file(t, "cg/app.slice/muster-1/u1/cpu.weight", "79");
    assert_file(t, "cg/app.slice/muster-1/cpu.weight", "157");
    assert_no_file(t, "cg/app.slice/muster-1/u1/cpu.max");
    assert_file(t, "cg/app.slice/muster-1/u1/main/memory.max", "67108864");
    assert_file(t, "cg/app.slice/muster-1/u1/main/memory.swap.max", "0");
    assert_no_file(t, "cg/app.slice/muster-1/u1/main/cgroup.subtree_control");
    cgroups_release(&g);
    arena_release(&a);
}

static void what_is_missing_is_said(void **state)
{
    struct tree *t = *state;
    struct arena a = ARENA_INIT(1u << 20);
    struct cgroups g;

    init(&g, t); /* no /proc at all */
    assert_string_equal(cgroups_problem(&g), "this machine shows no control groups");
    cgroups_release(&g);
    make_v2(t, "/user.slice/session.scope"); /* whose folder is not there, nor can be made */
    init(&g, t);
    assert_non_null(strstr(cgroups_problem(&g), "may not divide the control group it runs in"));
    assert_int_equal(cgroups_pod_make(&g, &pod_u1, NULL), 0);
    assert_null(*cgroups_container_make(&g, &a, "u1", "main", &half));
    cgroups_release(&g);
    put(t, "cg/user.slice/session.scope/cgroup.controllers", "cpu pids\n");
    init(&g, t);
    assert_non_null(strstr(cgroups_problem(&g), "no memory controller"));
    cgroups_release(&g);
    arena_release(&a);
}

static bool only_u1_lives(void *arg, const char *uid)
{
    (void)arg;
    return strcmp(uid, "u1") == 0;
}

/* The group of a pod of another daemon that lives: ourselves. */
static void living(char *out, size_t size)
{
    char name[CGROUP_NAME_BYTES];

    cgroup_daemon_name(name);
    (void)snprintf(out, size, "cg/cpu/%s/pod", name);
}

/* The group of a pod of a daemon that is gone: the first process began at another time. */
static void gone(char *out, size_t size, unsigned long long other)
{
    struct stat st;

    assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
    (void)snprintf(out, size, "cg/cpu/muster-%llu-1-1", (unsigned long long)st.st_ino + other);
}

static void leftovers_of_earlier_daemons_go(void **state)
{
    struct tree *t = *state;
    struct cgroups g;
    char living_name[128], gone_name[128], hidden_name[128], places[256];

    make_v1(t);
    assert_int_equal(file_make_dirs(at(t, "cg/cpu/muster-1/u1/main"), 0700), 0);
    assert_int_equal(file_make_dirs(at(t, "cg/cpu/muster-1/u2/main"), 0700), 0);
    living(living_name, sizeof(living_name));
    assert_int_equal(file_make_dirs(at(t, living_name), 0700), 0);
    gone(gone_name, sizeof(gone_name), 0);
    gone(hidden_name, sizeof(hidden_name), 1); /* of a container whose processes we do not see */
    assert_int_equal(file_make_dirs(at(t, gone_name), 0700), 0);
    assert_int_equal(file_make_dirs(at(t, hidden_name), 0700), 0);
    /* one that ran in another group left its places behind */
    assert_int_equal(file_make_dirs(at(t, "cg/memory/before/muster-1/u3/main"), 0700), 0);
    (void)snprintf(places, sizeof(places), "0 2 %s\n0 2 /nowhere\n0 1 %s\n",
                   at(t, "cg/memory/before/muster-1"), at(t, "cg/cpu/muster-1"));
    put(t, "places", places);
    init(&g, t);
    cgroups_clean(&g, only_u1_lives, NULL);
    assert_int_equal(access(at(t, "cg/cpu/muster-1/u1/main"), F_OK), 0);
    assert_no_file(t, "cg/cpu/muster-1/u2");
    assert_no_file(t, "cg/memory/before/muster-1");
    assert_int_equal(access(at(t, living_name), F_OK), 0);
    assert_int_equal(access(at(t, gone_name), F_OK), 0); /* it may be starting */
    cgroups_remove_abandoned(&g);
    assert_no_file(t, gone_name);
    assert_int_equal(access(at(t, hidden_name), F_OK), 0);
    assert_int_equal(access(at(t, living_name), F_OK), 0);
    cgroups_pod_remove(&g, "u1");
    assert_no_file(t, "cg/cpu/muster-1/u1");
    cgroups_pod_remove(&g, ".."); /* a name that leads out is not followed */
    assert_int_equal(access(at(t, living_name), F_OK), 0);
    cgroups_release(&g);
}

static void our_own_limits_are_the_tightest_above_us(void **state)
{
    struct tree *t = *state;
    int64_t cpu, memory;

    make_v1(t);
    cgroup_own_limits(t->root, &cpu, &memory);
    assert_int_equal(cpu, -1);
    assert_int_equal(memory, -1);
    put(t, "cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(t, "cg/memory/job/memory.limit_in_bytes", "1073741824\n");
    put(t, "cg/cpu/cpu.cfs_quota_us", "150000\n");
    put(t, "cg/cpu/cpu.cfs_period_us", "100000\n");
    cgroup_own_limits(t->root, &cpu, &memory);
    assert_int_equal(cpu, 1500);
    assert_int_equal(memory, 1 << 30);
    make_v2(t, "/a/b");
    put(t, "cg/a/b/memory.max", "max\n");
    put(t, "cg/a/b/cpu.max", "max 100000\n");
    put(t, "cg/a/memory.max", "4096\n");
    put(t, "cg/a/cpu.max", "25000 100000\n");
    cgroup_own_limits(t->root, &cpu, &memory);
    assert_int_equal(cpu, 250);
    assert_int_equal(memory, 4096);
}

static void a_mount_may_begin_at_our_group(void **state)
{
    struct tree *t = *state;
    struct cgroup_own own[4];

    put(t, "proc/self/mountinfo",
        "30 23 0:26 /docker/c1 /cg/memory rw - cgroup cgroup rw,memory\n"
        "31 23 0:27 /docker/c1 /cg/cpu rw - cgroup cgroup rw,cpu\n");
    put(t, "proc/self/cgroup", "4:memory:/docker/c1/sub\n3:cpu:/elsewhere\n2:pids:/\n");
    assert_int_equal(cgroup_find_own(t->root, own, ELEMS(own)), 2);
    assert_string_equal(own[0].folder, at(t, "cg/memory/sub"));
    assert_string_equal(own[1].folder, at(t, "cg/cpu"));
}

static void the_end_is_explained_by_the_group(void **state)
{
    struct tree *t = *state;
    struct arena a = ARENA_INIT(1u << 20);
    const char *folders[] = {at(t, "cpu"), at(t, "memory"), NULL};
    struct container_start c = {.cgroups = folders, .limits = {.memory_bytes = 512 << 20}};
    const char *reason = "Error", *message = "";

    assert_false(oom_explain_end(&a, &c, 0, 137, "", &reason, &message)); /* no counter */
    put(t, "memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    assert_false(oom_explain_end(&a, &c, 0, 1, "", &reason, &message));
    assert_true(oom_explain_end(&a, &c, 0, 137, "", &reason, &message));
    assert_string_equal(reason, "Error");
    assert_string_equal(message, "not for lack of memory: the kernel counts no such kill");
    put(t, "memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    assert_true(oom_explain_end(&a, &c, 0, 137, "x", &reason, &message));
    assert_string_equal(reason, "OOMKilled");
    assert_string_equal(message, "ran out of memory: limit 512Mi");
    assert_false(oom_explain_end(&a, &c, 0, 0, "", &reason, &message)); /* it went well after all */
    c.limits.memory_bytes = 0;
    assert_true(oom_explain_end(&a, &c, 0, 137, "", &reason, &message));
    assert_string_equal(message, "ran out of memory: the machine's memory");
    assert_int_equal(unlink(at(t, "memory/memory.oom_control")), 0);
    put(t, "memory/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n");
    assert_true(oom_explain_end(&a, &c, 0, 1, "RuntimeError: worker died", &reason, &message));
    /* run again in the same group: what was counted before is not its own */
    assert_int_equal(oom_group_kills(&c), 2);
    assert_false(oom_explain_end(&a, &c, 2, 1, "", &reason, &message));
    assert_string_equal(message, "RuntimeError: worker died; a process it had started ran out of "
                                 "memory: the machine's memory");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_1_gets_its_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_limit_writes_no_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pod_weighs_what_may_run_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_2_goes_up_to_what_can_be_divided, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leftovers_of_earlier_daemons_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(our_own_limits_are_the_tightest_above_us, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_mount_may_begin_at_our_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_is_explained_by_the_group, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
