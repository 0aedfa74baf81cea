/* usage_file_test.c - the rings: what is kept, at which resolution, and what a crash leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/usage_file.h"

#define START_MS 1800000000000 /* a whole step of every ring */

struct fixture {
    char path[64];
    struct usage_file file;
    struct arena arena;
    struct usage_sample *list;
    size_t len;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    strcpy(f->path, "/tmp/muster-usage-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    strcat(f->path, "/samples");
    arena_init(&f->arena, 64u << 20);
    assert_int_equal(usage_file_open(&f->file, f->path), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    usage_file_close(&f->file);
    arena_release(&f->arena);
    (void)unlink(f->path);
    *strrchr(f->path, '/') = '\0';
    assert_int_equal(rmdir(f->path), 0);
    free(f);
    return 0;
}

static void add(struct fixture *f, int64_t at_s, float cpu, float memory)
{
    struct usage_sample s;
    struct usage_container c = {.name = "main", .cpu = cpu, .memory = memory};

    usage_sample_clear(&s, START_MS + at_s * 1000);
    s.v[USAGE_CPU] = cpu;
    s.v[USAGE_MEMORY] = memory;
    assert_int_equal(usage_file_add(&f->file, &s, 2000, &c, 1), 0);
}

static void read_all(struct fixture *f, int64_t since_s, int64_t step_s)
{
    assert_int_equal(usage_file_read(f->path, START_MS + since_s * 1000, step_s * 1000, &f->arena,
                                     &f->list, &f->len),
                     0);
}

static void what_was_not_measured_stays_so(void **state)
{
    struct fixture *f = *state;
    struct usage_latest latest;

    assert_int_equal(usage_file_read_latest(f->path, &latest), -ENOENT);
    read_all(f, 0, 0);
    assert_int_equal(f->len, 0);
    add(f, 0, NAN, 7);
    add(f, 2, 1.5f, 8);
    read_all(f, 0, 0);
    assert_int_equal(f->len, 2);
    assert_true(isnan(f->list[0].v[USAGE_CPU]));
    assert_true(isnan(f->list[1].v[USAGE_NET_RX]));
    assert_true(f->list[1].v[USAGE_CPU] == 1.5f);
    assert_int_equal(usage_file_read_latest(f->path, &latest), 0);
    assert_int_equal(latest.sample.time_ms, START_MS + 2000);
    assert_int_equal(latest.window_ms, 2000);
    assert_int_equal(latest.containers_len, 1);
    assert_string_equal(latest.containers[0].name, "main");
    assert_true(latest.containers[0].memory == 8.0f);
    read_all(f, 1, 0);
    assert_int_equal(f->len, 1);
}

/* A day of samples, the daemon killed every now and then. */
static void old_samples_become_coarser(void **state)
{
    struct fixture *f = *state;
    struct stat st;
    size_t i = 0;

    for (int64_t t = 0; t < 86400; t += 2) {
        add(f, t, t % 4 ? 1 : 3, (float)(t % 30));
        if (t % 5000 == 0) {
            usage_file_close(&f->file);
            assert_int_equal(usage_file_open(&f->file, f->path), 0);
        }
    }
    assert_int_equal(stat(f->path, &st), 0);
    assert_true(st.st_size < 160 * 1024);
    read_all(f, 0, 0);
    for (i = 1; i < f->len; i++)
        assert_true(f->list[i].time_ms > f->list[i - 1].time_ms);
    /* 10 minutes of 2 s, the rest of 3 hours of 30 s, the rest of the day of 5 minutes; where they
     * meet at most one step is missing */
    assert_in_range(f->len, 300 + 340 - 1 + 252 - 1, 300 + 340 + 252);
    assert_int_equal(f->list[0].time_ms, START_MS);
    assert_true(fabsf(f->list[0].v[USAGE_CPU] - 2) < 0.1f);     /* the mean */
    assert_true(fabsf(f->list[0].v[USAGE_MEMORY] - 28) < 0.1f); /* the peak */
    assert_int_equal(f->list[1].time_ms - f->list[0].time_ms, 300000);
    assert_int_equal(f->list[f->len - 1].time_ms - f->list[f->len - 2].time_ms, 2000);
    read_all(f, 0, 3600);
    assert_int_equal(f->len, 24);
    assert_true(fabsf(f->list[5].v[USAGE_CPU] - 2) < 0.1f);
    read_all(f, 86400 - 100, 0);
    assert_int_equal(f->len, 50);
}

static void a_torn_record_is_not_there(void **state)
{
    struct fixture *f = *state;
    struct usage_latest latest;
    char *all;
    struct stat st;
    int fd;

    for (int64_t t = 0; t < 20; t += 2)
        add(f, t, 1, 1);
    /* every byte of the file behind its first page changed, one after the other: at most one record
     * is lost, and nothing is read that was not written */
    fd = open(f->path, O_RDWR);
    assert_int_equal(fstat(fd, &st), 0);
    all = malloc((size_t)st.st_size);
    assert_int_equal(pread(fd, all, (size_t)st.st_size, 0), st.st_size);
    for (off_t at = 12288; at < 12288 + 300 * 48; at++) {
        char broken = (char)(all[at] ^ 0x55);

        if (all[at] == 0 && at % 7)
            continue;
        assert_int_equal(pwrite(fd, &broken, 1, at), 1);
        read_all(f, 0, 0);
        assert_in_range(f->len, 9, 10);
        for (size_t i = 0; i < f->len; i++)
            assert_true(f->list[i].v[USAGE_CPU] == 1.0f);
        assert_int_equal(pwrite(fd, all + at, 1, at), 1);
        arena_reset(&f->arena);
    }
    assert_int_equal(pwrite(fd, "x", 1, 4100), 1);
    assert_int_equal(usage_file_read_latest(f->path, &latest), -ENOENT);
    assert_int_equal(close(fd), 0);
    free(all);
}

static void a_file_of_another_kind_is_started_over(void **state)
{
    struct fixture *f = *state;

    add(f, 0, 1, 1);
    usage_file_close(&f->file);
    assert_int_equal(truncate(f->path, 100), 0);
    assert_int_equal(usage_file_open(&f->file, f->path), 0);
    read_all(f, 0, 0);
    assert_int_equal(f->len, 0);
    add(f, 2, 1, 1);
    read_all(f, 0, 0);
    assert_int_equal(f->len, 1);
    usage_file_close(&f->file);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(usage_file_read(f->path, 0, 0, &f->arena, &f->list, &f->len), -ENOENT);
    assert_int_equal(usage_file_open(&f->file, f->path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_not_measured_stays_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_samples_become_coarser, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_torn_record_is_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_another_kind_is_started_over, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
