/* options_test.c - the option parser, suggestions, text tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/columns.h"
#include "cli/options.h"
#include "cli/suggest.h"

struct values {
    bool follow, all;
    const char *name, *format;
    int64_t tail;
};

static const char *const formats[] = {"json", "yaml", NULL};
static const struct option_spec specs[] = {
    OPTION_OF_FLAG(struct values, follow, "follow", "go on", .letter = 'f'),
    OPTION_OF_FLAG(struct values, all, "all", "all of them", .letter = 'A'),
    OPTION_OF_TEXT(struct values, name, "name", "NAME", "a name", .letter = 'n'),
    OPTION_OF_INT(struct values, tail, "tail", "N", "lines"),
    OPTION_OF(OPTION_CHOICE, struct values, format, "output", "json|yaml", "format", .letter = 'o',
              .values = formats),
    {0},
};

static struct args args;

static int parse(struct values *v, struct err *err, int argc, const char *const *argv)
{
    char *words[16];

    for (int i = 0; i < argc; i++)
        words[i] = (char *)(uintptr_t)argv[i];
    return options_parse(specs, v, argc, words, &args, err);
}

#define PARSE(v, err, ...)                                                                         \
    parse((v), (err), (int)ELEMS(((const char *const[]){__VA_ARGS__})),                            \
          (const char *const[]){__VA_ARGS__})

static void options_and_words_may_be_mixed(void **state)
{
    auto_err err = ERR_INIT;
    struct values v = {.tail = -1};

    (void)state;
    assert_int_equal(
        PARSE(&v, &err, "one", "--tail", "5", "two", "-fA", "-nspace", "--output=yaml"), 0);
    assert_true(v.follow && v.all);
    assert_string_equal(v.name, "space");
    assert_string_equal(v.format, "yaml");
    assert_int_equal(v.tail, 5);
    assert_int_equal(args.len, 2);
    assert_string_equal(args.list[1], "two");
}

static void two_dashes_end_the_options(void **state)
{
    auto_err err = ERR_INIT;
    struct values v = {0};

    (void)state;
    assert_int_equal(PARSE(&v, &err, "--", "--follow", "-"), 0);
    assert_false(v.follow);
    assert_int_equal(args.len, 2);
}

static void unknown_option_gets_the_nearest(void **state)
{
    auto_err err = ERR_INIT;
    struct values v = {0};

    (void)state;
    assert_true(PARSE(&v, &err, "--folow") < 0);
    assert_string_equal(err.text, "unknown option '--folow'");
    assert_string_equal(err.hint, "did you mean --follow?");
}

static void values_are_checked(void **state)
{
    static const struct {
        const char *word, *value, *text;
    } cases[] = {
        {"--tail", "x", "--tail takes a whole number, not 'x'"},
        {"--tail", "-1", "--tail takes a whole number, not '-1'"},
        {"--tail", "99999999999999999999",
         "--tail takes a whole number, not '99999999999999999999'"},
        {"-o", "yml", "--output cannot be 'yml'"},
        {"--name", "", "--name wants a value: NAME"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        struct values v = {0};

        assert_true(PARSE(&v, &err, cases[i].word, cases[i].value) < 0);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void a_value_may_be_missing(void **state)
{
    auto_err err = ERR_INIT, flag = ERR_INIT;
    struct values v = {0};

    (void)state;
    assert_true(PARSE(&v, &err, "--name") < 0);
    assert_string_equal(err.text, "--name wants a value: NAME");
    assert_true(PARSE(&v, &flag, "--follow=yes") < 0);
    assert_string_equal(flag.text, "--follow takes no value");
}

static void help_is_always_there(void **state)
{
    auto_err err = ERR_INIT;
    struct values v = {0};

    (void)state;
    assert_int_equal(PARSE(&v, &err, "-h"), 0);
    assert_true(args.help);
    assert_int_equal(PARSE(&v, &err, "x"), 0);
    assert_false(args.help);
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(suggest_distance("logs", "logs"), 0);
    assert_int_equal(suggest_distance("lgos", "logs"), 1); /* swapped */
    assert_int_equal(suggest_distance("log", "logs"), 1);
    assert_int_equal(suggest_distance("", "up"), 2);
    assert_int_equal(suggest_distance("Kitten", "sitting"), 3);
}

static const char *nearest(const char *word, const char *const *list, size_t len)
{
    struct suggest s;

    suggest_init(&s, word);
    for (size_t i = 0; i < len; i++)
        suggest_offer(&s, list[i]);
    return s.best;
}

static void suggestions_are_near_or_none(void **state)
{
    static const char *const words[] = {"up", "down", "run", "ps", "logs", "kubeconfig"};

    (void)state;
    assert_string_equal(nearest("rnu", words, ELEMS(words)), "run");
    assert_string_equal(nearest("kube", words, ELEMS(words)), "kubeconfig");
    assert_null(nearest("frobnicate", words, ELEMS(words)));
}

static void tables_are_aligned(void **state)
{
    static const char *const header[] = {"NAME", "WHY"};
    struct buf out = BUF_INIT(4096);
    struct columns c;

    (void)state;
    columns_init(&c, header, 2);
    columns_add(&c, "作业");
    columns_add(&c, "a\nb");
    columns_add(&c, "longer-name");
    columns_add(&c, "");
    columns_write(&c, 0, &out);
    assert_string_equal(out.data, "NAME          WHY\n作业          a b\nlonger-name\n");
    columns_release(&c);
    buf_release(&out);
}

static void narrow_terminals_lose_columns_from_the_right(void **state)
{
    static const char *const header[] = {"NAME", "PHASE", "WHY"};
    struct buf out = BUF_INIT(4096);
    struct columns c;

    (void)state;
    columns_init(&c, header, 3);
    columns_add(&c, "mnist");
    columns_add(&c, "Pending");
    columns_add(&c, "needs 8 CPU, the node has 2");
    columns_write(&c, 30, &out);
    assert_string_equal(out.data, "NAME    PHASE     WHY\nmnist   Pending   needs 8 CPU…\n");
    buf_clear(&out);
    columns_write(&c, 20, &out);
    assert_string_equal(out.data, "NAME    PHASE\nmnist   Pending\n");
    columns_release(&c);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_words_may_be_mixed),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(unknown_option_gets_the_nearest),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(a_value_may_be_missing),
        cmocka_unit_test(help_is_always_there),
        cmocka_unit_test(distances),
        cmocka_unit_test(suggestions_are_near_or_none),
        cmocka_unit_test(tables_are_aligned),
        cmocka_unit_test(narrow_terminals_lose_columns_from_the_right),
    };

    return cmocka_run_group_tests_name("cli/options", tests, NULL, NULL);
}
