/* words_test.c - the Chinese of the command line fits its English: a format that took other
 * arguments would crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/words.h"

static unsigned missing;

/* The next conversion of a format, or NULL; "%%" is none. */
static const char *next_conversion(const char *s, size_t *ret_len)
{
    while ((s = strchr(s, '%')) && s[1] == '%')
        s += 2;
    if (s)
        *ret_len = strcspn(s, "sdiuxcgefz") + 1;
    return s;
}

static void formats_take_the_same_arguments(void **state)
{
    (void)state;
    for (const struct words_pair *p = words_chinese; p->english; p++) {
        const char *e = p->english, *c = p->chinese;
        size_t e_len = 0, c_len = 0;

        for (;;) {
            e = next_conversion(e, &e_len);
            c = next_conversion(c, &c_len);
            if (!e || !c)
                break;
            if (e_len != c_len || memcmp(e, c, e_len) != 0)
                fail_msg("\"%s\" takes other arguments than \"%s\"", p->chinese, p->english);
            e += e_len, c += c_len;
        }
        if (e || c)
            fail_msg("\"%s\" takes more or fewer arguments than \"%s\"", p->chinese, p->english);
    }
}

static void each_text_is_there_once_and_is_chinese(void **state)
{
    (void)state;
    for (const struct words_pair *p = words_chinese; p->english; p++) {
        bool foreign = false;

        for (const struct words_pair *q = p + 1; q->english; q++)
            if (strcmp(p->english, q->english) == 0)
                fail_msg("twice: \"%s\"", p->english);
        for (const char *c = p->chinese; *c; c++)
            foreign = foreign || (unsigned char)*c >= 0x80;
        if (!foreign)
            fail_msg("not translated: \"%s\"", p->english);
    }
}

static void check_translated(const char *text)
{
    if (text && strcmp(words(text), text) == 0)
        print_error("not translated: \"%s\"\n", text), missing++;
}

static void all_help_is_translated(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];

        if (c->hidden)
            continue;
        check_translated(c->summary);
        if (c->help && words_of_help(c->name, c->help) == c->help)
            print_error("help is not translated: %s\n", c->name), missing++;
        for (const struct option_spec *o = c->options; o && o->name; o++)
            check_translated(o->doc);
    }
    assert_int_equal(missing, 0);
}

static void the_locale_decides(void **state)
{
    (void)state;
    assert_string_equal(words("no such sentence"), "no such sentence");
    assert_string_equal(words("Print the version"), "打印版本"); /* LC_MESSAGES, of main */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats_take_the_same_arguments),
                                       cmocka_unit_test(each_text_is_there_once_and_is_chinese),
                                       cmocka_unit_test(all_help_is_translated),
                                       cmocka_unit_test(the_locale_decides)};

    (void)unsetenv("LC_ALL");
    (void)setenv("LC_MESSAGES", "zh_CN.UTF-8", 1);
    (void)setenv("LANG", "C", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
