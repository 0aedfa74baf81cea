/* plot_test.c - curves as braille: where dots go, what axes and legend say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/plot.h"

static const double x[] = {0, 1, 2, 3}, rising[] = {0, 1, 2, 3}, flat[] = {5, 5, 5, 5},
                    broken[] = {0, NAN, 2, NAN}, never[] = {NAN, NAN, NAN, NAN};

static const char *drawn(struct buf *out, const double *y, const char *name)
{
    struct plot_line line = {.name = name, .color = "", .x = x, .y = y, .len = 4};
    struct plot plot = {
        .title = "loss", .lines = &line, .lines_len = 1, .width = 30, .height = 2, .plain = ""};

    buf_clear(out);
    plot_draw(out, &plot);
    assert_false(out->failed);
    return out->data;
}

static void a_rising_line(void **state)
{
    struct buf out = BUF_INIT(65536);

    (void)state;
    assert_string_equal(drawn(&out, rising, "a"), "loss\n"
                                                  "        3 │         ⢀⣀⡠⠤⠤⠒⠒⠒⠉⠉\n"
                                                  "        0 │⣀⡠⠤⠤⠔⠒⠒⠊⠉⠁\n"
                                                  "          └───────────────────\n"
                                                  "           0                 3\n"
                                                  "            a  3 at step 3\n");
    buf_release(&out);
}

static void a_flat_line_lies_in_the_middle(void **state)
{
    struct buf out = BUF_INIT(65536);

    (void)state;
    assert_non_null(strstr(drawn(&out, flat, "a"), "      7.5 │"));
    assert_non_null(strstr(out.data, "      2.5 │"));
    buf_release(&out);
}

static void what_is_no_number_is_a_gap_and_is_said(void **state)
{
    struct buf out = BUF_INIT(65536);

    (void)state;
    assert_non_null(strstr(drawn(&out, broken, "a"), "2 at step 2, then not a number"));
    assert_null(strstr(drawn(&out, never, "a"), "│"));
    assert_non_null(strstr(out.data, "a, then not a number"));
    buf_release(&out);
}

static void names_cannot_move_the_cursor(void **state)
{
    struct buf out = BUF_INIT(65536);

    (void)state;
    assert_null(strchr(drawn(&out, rising, "a\033[2J\nb"), '\033'));
    assert_non_null(strstr(out.data, "a [2J b"));
    buf_release(&out);
}

/* No size makes it write where it may not. */
static void every_size(void **state)
{
    struct buf out = BUF_INIT(1u << 22);

    (void)state;
    for (unsigned width = 0; width < 500; width += 7)
        for (unsigned height = 0; height < 80; height += 9) {
            struct plot_line line = {.name = "a", .color = "", .x = x, .y = rising, .len = 4};
            struct plot plot = {.title = "t",
                                .lines = &line,
                                .lines_len = 1,
                                .width = width,
                                .height = height,
                                .plain = ""};

            buf_clear(&out);
            plot_draw(&out, &plot);
            assert_false(out.failed);
        }
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rising_line),
        cmocka_unit_test(a_flat_line_lies_in_the_middle),
        cmocka_unit_test(what_is_no_number_is_a_gap_and_is_said),
        cmocka_unit_test(names_cannot_move_the_cursor),
        cmocka_unit_test(every_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
