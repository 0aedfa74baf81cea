/* sweep_grid_test.c - the combinations of a sweep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/sweep_grid.h"

static struct arena arena;
static const char *const command[] = {"python", "t.py",    "--lr={lr}",
                                      "{bs}",   "{x} {lr", "{\"a\":1}"};

static int setup(void **state)
{
    (void)state;
    arena = (struct arena)ARENA_INIT(16u * 1024u * 1024u);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static int read_sets(struct sweep_grid *g, struct err *err, const char *a, const char *b)
{
    static struct option_list sets;

    sets = (struct option_list){.items = {a, b}, .len = b ? 2 : 1};
    return sweep_grid_read(&arena, &sets, command, 6, g, err);
}

static void test_every_combination_once(void **state)
{
    auto_err err = ERR_INIT;
    struct sweep_grid g;

    (void)state;
    assert_int_equal(read_sets(&g, &err, "lr=0.1,1e-4", "bs=8,16,32"), 0);
    assert_int_equal(g.jobs, 6);
    assert_string_equal(sweep_grid_text(&arena, &g, 0), "lr=0.1 bs=8");
    assert_string_equal(sweep_grid_text(&arena, &g, 1), "lr=0.1 bs=16");
    assert_string_equal(sweep_grid_text(&arena, &g, 5), "lr=1e-4 bs=32");
    assert_string_equal(sweep_grid_word(&arena, &g, 3, command[2]), "--lr=1e-4");
    assert_string_equal(sweep_grid_word(&arena, &g, 3, "{bs}/{lr}"), "8/1e-4");
    for (size_t i = 4; i < 6; i++) /* other people's braces */
        assert_string_equal(sweep_grid_word(&arena, &g, 0, command[i]), command[i]);
}

static void test_what_is_wrong(void **state)
{
    static const char *const cases[][3] = {
        {"lr", NULL, "--set takes NAME=VALUE,VALUE,..., not 'lr'"},
        {"lr=", NULL, "--set takes NAME=VALUE,VALUE,..., not 'lr='"},
        {"lr=1,1", NULL, "--set lr: '1' is given twice"},
        {"lr=1", "lr=2", "--set lr is given twice"},
        {"seed=1", NULL, "--set seed: the command has no {seed}"},
        {"l r=1", NULL,
         "--set l r=1: a name has letters, digits, '_', '-' and '.', and begins "
         "with a letter"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        struct sweep_grid g;

        assert_true(read_sets(&g, &err, cases[i][0], cases[i][1]) < 0);
        assert_string_equal(err.text, cases[i][2]);
    }
}

static void test_labels(void **state)
{
    (void)state;
    assert_string_equal(sweep_label_value(&arena, "1e-4"), "1e-4");
    assert_string_equal(sweep_label_value(&arena, "a/b c"), "a_b_c");
    assert_string_equal(sweep_label_value(&arena, "-1"), "x1");
    assert_string_equal(sweep_label_value(&arena, ""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_combination_once),
        cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_labels),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
