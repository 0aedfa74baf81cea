/* kept_test.c - logs of pods that are gone: found by attempt, bounded per job and in all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/kept.h"
#include "runtime/podfolder.h"

#define FILE_BYTES 8192

static char root[64];
static const char *ns = "default";

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/muster-kept-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

static const char *path_of(const char *name, const char *uid)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s/%s/%s", root, ns, name, uid);
    return path;
}

/* when: the order in which they were left. */
static void keep(const char *name, const char *uid, const char *owner, int64_t attempt, int when)
{
    static char text[FILE_BYTES];
    struct pod_record record = {
        .run = {.ns = ns, .name = name, .uid = uid, .owner = owner, .attempt = attempt}};
    struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    int fd;

    assert_int_equal(file_make_dirs(path_of(name, uid), 0700), 0);
    fd = open(path_of(name, uid), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pod_file_write(fd, "main.0.0.log", text, sizeof(text), POD_NOT_SYNCED), 0);
    assert_int_equal(pod_record_write(fd, &record, POD_NOT_SYNCED), 0);
    pod_file_give_up_room(fd, POD_FILE_STATE); /* as when a pod is put aside */
    assert_int_equal(futimens(fd, times), 0);
    assert_int_equal(close(fd), 0);
}

static bool is_kept(const char *name, const char *uid)
{
    return access(path_of(name, uid), F_OK) == 0;
}

static void the_newest_or_an_attempt_is_found(void **state)
{
    char dir[128], uid[KEPT_UID_SIZE];

    (void)state;
    keep("w-0", "a", "job", 0, 1000);
    keep("w-0", "b", "job", 1, 2000);
    keep("w-0", "c", "job", 2, 3000);
    (void)snprintf(dir, sizeof(dir), "%s/default/w-0", root);
    assert_true(kept_find(dir, "", NODE_ANY_ATTEMPT, uid));
    assert_string_equal(uid, "c");
    assert_true(kept_find(dir, "c", NODE_ANY_ATTEMPT, uid));
    assert_string_equal(uid, "b");
    assert_true(kept_find(dir, "", 0, uid));
    assert_string_equal(uid, "a");
    assert_false(kept_find(dir, "", 3, uid));
    assert_false(kept_find("/no/such/folder", "", NODE_ANY_ATTEMPT, uid));
}

/* A file takes two blocks of 4 KiB, a record one. */
/* Neither by chance, with a pod of the same name, nor by saying the same owner. */
static void another_namespace_takes_no_room_of_a_jobs(void **state)
{
    struct kept_limits limits = {.group_bytes = 2 * FILE_BYTES,
                                 .total_bytes = 1 << 30,
                                 .group_folders = 1,
                                 .total_folders = 100};

    (void)state;
    keep("w-0", "a", "job", 0, 1000);
    keep("alone", "b", NULL, -1, 1000);
    ns = "other";
    keep("w-0", "c", "job", 0, 2000);
    keep("alone", "d", NULL, -1, 2000);
    kept_trim(root, &limits);
    assert_true(is_kept("w-0", "c") && is_kept("alone", "d"));
    ns = "default";
    assert_true(is_kept("w-0", "a") && is_kept("alone", "b"));
}

static void the_oldest_of_a_job_go_first(void **state)
{
    struct kept_limits limits = {.group_bytes = 3 * FILE_BYTES,
                                 .total_bytes = 1 << 30,
                                 .group_folders = 100,
                                 .total_folders = 100};

    (void)state;
    keep("w-0", "a", "job", 0, 1000);
    keep("w-1", "b", "job", 0, 2000);
    keep("w-0", "c", "job", 1, 3000);
    keep("other", "d", NULL, -1, 500);
    kept_trim(root, &limits);
    assert_false(is_kept("w-0", "a"));
    assert_true(is_kept("w-1", "b"));
    assert_true(is_kept("w-0", "c"));
    assert_true(is_kept("other", "d"));
    limits.total_bytes = 2 * FILE_BYTES;
    kept_trim(root, &limits);
    assert_false(is_kept("other", "d"));
    assert_false(is_kept("w-1", "b"));
    assert_true(is_kept("w-0", "c"));
}

static void their_number_is_bounded_too(void **state)
{
    struct kept_limits limits = {
        .group_bytes = 1 << 30, .total_bytes = 1 << 30, .group_folders = 2, .total_folders = 3};

    (void)state;
    keep("w-0", "a", "job", 0, 1000);
    keep("w-1", "b", "job", 0, 2000);
    keep("w-1", "c", "job", 1, 3000);
    keep("w-2", "d", "other", 0, 500);
    keep("alone", "e", NULL, -1, 400);
    kept_trim(root, &limits);
    assert_false(is_kept("w-0", "a"));
    assert_true(is_kept("w-1", "b"));
    assert_true(is_kept("w-1", "c"));
    assert_true(is_kept("w-2", "d"));
    assert_false(is_kept("alone", "e"));
    assert_int_equal(access(path_of("alone", ""), F_OK), -1); /* nor a folder for what is gone */
}

#define MANY 300

/* As many jobs as pods: what is done for each must not be done with all of them. */
static void many_jobs_are_trimmed_at_once(void **state)
{
    struct kept_limits limits = {
        .group_bytes = 1 << 30, .total_bytes = 1 << 30, .group_folders = 2, .total_folders = 10};
    char name[32];
    int kept = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "w-%d", i);
        keep(name, name, name, 0, 1000 + i);
    }
    kept_trim(root, &limits);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "w-%d", i);
        kept += is_kept(name, name);
        assert_int_equal(is_kept(name, name), i >= MANY - 10);
    }
    assert_int_equal(kept, 10);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_newest_or_an_attempt_is_found), T(the_oldest_of_a_job_go_first),
        T(another_namespace_takes_no_room_of_a_jobs), T(their_number_is_bounded_too),
        T(many_jobs_are_trimmed_at_once)};

    return cmocka_run_group_tests_name("kept", tests, NULL, NULL);
}
