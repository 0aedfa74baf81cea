/* query_test.c - lists in a request's query. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/query.h"

static struct arena arena = ARENA_INIT(1 << 20);

static const char *ports_of(const char *query)
{
    auto_err err = ERR_INIT;
    struct node_ports ports;
    const char *text = "";

    if (query_ports(&arena, query, "ports", &ports, &err) < 0)
        return arena_strdup(&arena, err.text);
    for (size_t i = 0; i < ports.count; i++)
        text = arena_printf(&arena, "%s%u ", text, ports.all[i]);
    return text;
}

#define INVALID(value) "ports: Invalid value: \"" value "\": must be ports from 1 to 65535"

static void ports_are_repeated_or_listed(void **state)
{
    char many[1024] = "ports=1";

    (void)state;
    assert_string_equal(ports_of(""), "");
    assert_string_equal(ports_of("port=1&portsx=2"), "");
    assert_string_equal(ports_of("ports=80"), "80 ");
    assert_string_equal(ports_of("a=b&ports=80%2C443&x&ports=1"), "80 443 1 ");
    assert_string_equal(ports_of("ports="), INVALID(""));
    assert_string_equal(ports_of("ports=0"), INVALID("0"));
    assert_string_equal(ports_of("ports=80,"), INVALID("80,"));
    assert_string_equal(ports_of("ports=-1"), INVALID("-1"));
    assert_string_equal(ports_of("ports=http"), INVALID("http"));
    assert_string_equal(ports_of("ports=1,65536"), INVALID("1,65536"));
    assert_string_equal(ports_of("ports=%zz"), "the query's value of ports is malformed");
    for (int i = 0; i < 127; i++)
        strcat(many, ",1");
    assert_string_equal(ports_of(many), "ports: at most 127 are allowed");
}

static void a_command_has_words(void **state)
{
    struct node_command c = {0};
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(query_argv(&arena, "command=a+b&stdin=1&command=&commands=x", &c, &err), 0);
    assert_string_equal(c.argv[0], "a b");
    assert_string_equal(c.argv[1], "");
    assert_null(c.argv[2]);
    assert_true(query_argv(&arena, "commands=x", &c, &err) < 0);
    assert_string_equal(err.text, "you must specify a command");
}

static int release(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_are_repeated_or_listed),
        cmocka_unit_test(a_command_has_words),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
