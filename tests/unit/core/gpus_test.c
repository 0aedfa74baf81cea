/* gpus_test.c - which GPUs of a node are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "core/gpus.h"

/* Two islands of four with NVLink, across the sockets from each other. */
#define ISLANDS "02228888,20228888,22028888,22208888,88880222,88882022,88882202,88882220"
/* Pairs on a PCIe switch, two pairs a socket, no NVLink. */
#define PAIRS "04668888,40668888,66048888,66408888,88880466,88884066,88886604,88886640"

static uint64_t choose(const char *free, int64_t count, const char *text)
{
    struct gpu_links links;
    uint64_t set;

    assert_int_equal(gpu_set_parse(free, &set), 0);
    gpu_links_parse(text, &links);
    return gpus_choose(set, count, &links);
}

static void lists_are_read_and_written(void **state)
{
    static const char *const bad[] = {"x", "1,", ",1", "3-1", "64", "1-64", "1 2", "-1", "1--2"};
    struct arena a = ARENA_INIT(4096);
    uint64_t set;

    (void)state;
    assert_int_equal(gpu_set_parse("0,2-4,63", &set), 0);
    assert_string_equal(gpu_set_text(&a, set), "0,2,3,4,63");
    assert_int_equal(gpu_set_count(set), 5);
    assert_int_equal(gpu_set_parse("none", &set), 0);
    assert_int_equal(set, 0);
    for (size_t i = 0; i < ELEMS(bad); i++)
        assert_true(gpu_set_parse(bad[i], &set) < 0);
    arena_release(&a);
}

static void distances_are_read_and_written(void **state)
{
    static const char *const bad[] = {"", "0,0", "01,1", "01,1x", "012,102", "0110"};
    struct arena a = ARENA_INIT(4096);
    struct gpu_links links;

    (void)state;
    gpu_links_parse(ISLANDS, &links);
    assert_int_equal(links.len, 8);
    assert_int_equal(links.distance[1][6], GPU_SYSTEM);
    assert_string_equal(gpu_links_text(&a, &links), ISLANDS);
    for (size_t i = 0; i < ELEMS(bad); i++) {
        gpu_links_parse(bad[i], &links);
        assert_int_equal(links.len, 0);
    }
    arena_release(&a);
}

static void those_that_are_close_are_taken_together(void **state)
{
    (void)state;
    assert_int_equal(choose("0-7", 4, ISLANDS), 0x0f);
    assert_int_equal(choose("1-7", 4, ISLANDS), 0xf0);
    assert_int_equal(choose("0,3,5,7", 2, ISLANDS), 0x09);
    assert_int_equal(choose("1,4,5", 2, PAIRS), 0x30);
    assert_int_equal(choose("0-7", 8, PAIRS), 0xff);
}

/* One goes where an island is broken already, so that four together are still to be had. */
static void ones_do_not_break_up_what_is_whole(void **state)
{
    (void)state;
    assert_int_equal(choose("1-7", 1, ISLANDS), 0x02);
    assert_int_equal(choose("0-6", 1, ISLANDS), 0x10);
    assert_int_equal(choose("0,1,3-7", 1, PAIRS), 0x08);
}

static void without_distances_the_lowest_are_taken(void **state)
{
    (void)state;
    assert_int_equal(choose("0-7", 2, ""), 0x03);
    assert_int_equal(choose("2,5,9", 2, ""), 0x24);
}

static void shares_go_where_most_are_left(void **state)
{
    struct gpu_shares s = {.set = 0x0d, .each = 2};

    (void)state;
    assert_int_equal(gpu_shares_choose(&s, 0, 0), 0);
    assert_int_equal(gpu_shares_choose(&s, 0, 1), 0x01);
    gpu_shares_use(&s, 0x01, 1);
    assert_int_equal(gpu_shares_choose(&s, 0, 1), 0x04);
    assert_int_equal(gpu_shares_choose(&s, 0x04, 1), 0x08);
    gpu_shares_use(&s, 0x04, 1);
    gpu_shares_use(&s, 0x08, 1);
    assert_int_equal(gpu_shares_choose(&s, 0, 1), 0x01);
    assert_int_equal(gpu_shares_choose(&s, 0, 2), 0); /* two are left of none */
    assert_int_equal(gpu_shares_in_use(&s), 0x0d);
    gpu_shares_use(&s, 0x08, -1);
    assert_int_equal(gpu_shares_choose(&s, 0, 2), 0x08);
    assert_int_equal(gpu_shares_in_use(&s), 0x05);
}

static void the_shared_one_of_a_lease_is_the_last(void **state)
{
    struct arena a = ARENA_INIT(4096);
    struct gpu_lease lease = gpu_lease_read("4,5,1", 1);

    (void)state;
    assert_int_equal(lease.whole, 0x30);
    assert_int_equal(lease.shared, 0x02);
    assert_string_equal(gpu_lease_text(&a, lease), "4,5,1");
    lease = gpu_lease_read("3", 1);
    assert_int_equal(lease.whole, 0);
    assert_string_equal(gpu_lease_text(&a, lease), "3");
    lease = gpu_lease_read("4,5,1", 0);
    assert_int_equal(lease.shared, 0);
    assert_string_equal(gpu_lease_text(&a, lease), "1,4,5");
    assert_string_equal(gpu_lease_text(&a, gpu_lease_read("", 1)), "");
    arena_release(&a);
}

static void too_few_is_none(void **state)
{
    (void)state;
    assert_int_equal(choose("0-2", 4, ISLANDS), 0);
    assert_int_equal(choose("0-2", 0, ISLANDS), 0);
    assert_int_equal(choose("0-63", 64, ""), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_written),
        cmocka_unit_test(distances_are_read_and_written),
        cmocka_unit_test(those_that_are_close_are_taken_together),
        cmocka_unit_test(ones_do_not_break_up_what_is_whole),
        cmocka_unit_test(without_distances_the_lowest_are_taken),
        cmocka_unit_test(too_few_is_none),
        cmocka_unit_test(shares_go_where_most_are_left),
        cmocka_unit_test(the_shared_one_of_a_lease_is_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
