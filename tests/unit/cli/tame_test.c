/* tame_test.c - what of other people's text reaches a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/tame.h"

typedef void tame_fn(struct buf *out, const char *text, size_t len);

struct tame_case {
    const char *text, *shown;
};

static void check(tame_fn *fn, const struct tame_case *cases, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        struct buf out = BUF_INIT(4096);

        fn(&out, cases[i].text, strlen(cases[i].text));
        assert_string_equal(out.data ? out.data : "", cases[i].shown);
        buf_release(&out);
    }
}

static void only_what_is_shown_passes(void **state)
{
    static const struct tame_case cases[] = {
        {"", ""},
        {"plain\ttext\n", "plain\ttext\n"},
        {"训练 é 🚀", "训练 é 🚀"},
        {"\033[31mred\033[0m \033[38;5;208mx\033[38:2::1:2:3m",
         "\033[31mred\033[0m \033[38;5;208mx\033[38:2::1:2:3m"},
        {"\033]0;title\a", "^[]0;title^G"},
        {"\033[2J\033[H", "^[[2J^[[H"},
        {"a\u202etxt.exe\u2066b\u2069", "a\xef\xbf\xbdtxt.exe\xef\xbf\xbd"
                                        "b\xef\xbf\xbd"},
        {"\u2029\u202f\u2065\u206a", "\xef\xbf\xbd\u202f\u2065\u206a"},
        {"\033[31", "^[[31"},
        {"\033[", "^[["},
        {"\033", "^["},
        {"\033[3\n1m", "^[[3\n1m"},
        {"\033P1$r\033\\", "^[P1$r^[\\"},
        {"a\bb\x7f", "a^Hb^?"},
        {"\xc2\x9b"
         "2J \xc2\xa0",
         "\xef\xbf\xbd"
         "2J \xc2\xa0"},
        {"\x9b"
         "2J",
         "\xef\xbf\xbd"
         "2J"},
        {"cut \xe8\xae", "cut \xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    check(tame_text, cases, ELEMS(cases));
}

static void of_a_line_the_last_that_was_written_is_left(void **state)
{
    static const struct tame_case cases[] = {
        {"", ""},
        {"\r", ""},
        {"dos\r", "dos"},
        {" 10%|#\r 50%|##\r100%|####", "100%|####"},
        {"\rworker-1 | said by worker-0", "worker-1 | said by worker-0"},
        {"\033[8mhidden", "\033[8mhidden\033[0m"},
        {"\033[2Kgone", "^[[2Kgone"},
    };

    (void)state;
    check(tame_line, cases, ELEMS(cases));
}

static void words_of_others_stay_on_their_line(void **state)
{
    char text[] = "a\nb\tc\033[2J\x7f \xc2\x9b é\u202ex";

    (void)state;
    tame_blank(text);
    assert_string_equal(text, "a b c [2J     é   x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_shown_passes),
        cmocka_unit_test(of_a_line_the_last_that_was_written_is_left),
        cmocka_unit_test(words_of_others_stay_on_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
