/* timefmt_test.c - RFC 3339 both ways, and kubectl's ages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/timefmt.h"

static void times_are_written_as_kubernetes_writes_them(void **state)
{
    char text[TIME_TEXT_SIZE];

    (void)state;
    assert_string_equal(time_format(0, text), "1970-01-01T00:00:00Z");
    assert_string_equal(time_format(1767225600999, text), "2026-01-01T00:00:00Z");
    assert_string_equal(time_format(951782400000, text), "2000-02-29T00:00:00Z");
    assert_string_equal(time_format(-1, text), "1969-12-31T23:59:59Z");
    assert_string_equal(time_format_micro(1767225600123, text), "2026-01-01T00:00:00.123000Z");
    assert_string_equal(time_format_nano(1767225600, 5, text), "2026-01-01T00:00:00.000000005Z");
}

static void times_are_read_in_every_rfc_form(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-01-01T00:00:00Z", 1767225600000},
        {"2026-01-01T00:00:00.1Z", 1767225600100},
        {"2026-01-01T00:00:00.123456789Z", 1767225600123},
        {"2026-01-01T08:00:00+08:00", 1767225600000},
        {"2025-12-31T16:00:00-08:00", 1767225600000},
        {"2026-01-01t00:00:00z", 1767225600000},
        {"2000-02-29T00:00:00Z", 951782400000},
        {"2016-12-31T23:59:60Z", 1483228800000},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        int64_t ms = -7;

        if (time_parse(cases[i].text, &ms) < 0 || ms != cases[i].ms)
            fail_msg("%s gave %lld", cases[i].text, (long long)ms);
    }
}

static void other_text_is_no_time(void **state)
{
    static const char *const texts[] = {
        "",
        "2026",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00Zx",
        "2026-01-01T00:00:00+8:00",
        "2026-01-01T00:00:00+24:00",
        "+026-01-01T00:00:00Z",
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(texts); i++) {
        int64_t ms;

        if (time_parse(texts[i], &ms) != -EINVAL)
            fail_msg("%s was taken", texts[i]);
    }
}

static void every_day_of_four_centuries_comes_back(void **state)
{
    char text[TIME_TEXT_SIZE], previous[TIME_TEXT_SIZE] = "";

    (void)state;
    for (int64_t day = -80000; day < 70000; day++) {
        int64_t ms = day * 86400000 + 45296000, back;

        time_format(ms, text);
        assert_int_equal(time_parse(text, &back), 0);
        assert_int_equal(back, ms);
        assert_true(strcmp(previous, text) < 0);
        strcpy(previous, text);
    }
}

#define S 1000ll
#define M (60 * S)
#define H (60 * M)
#define D (24 * H)
#define Y (365 * D)

static void ages_are_those_of_kubectl(void **state)
{
    static const struct {
        int64_t span_ms;
        const char *text;
    } cases[] = {
        {-2001, "<invalid>"},
        {-5 * H, "<invalid>"},
        {-1, "0s"},
        {-1000, "0s"},
        {0, "0s"},
        {999, "0s"},
        {45 * S, "45s"},
        {119 * S, "119s"},
        {2 * M, "2m"},
        {2 * M + 1 * S, "2m1s"},
        {9 * M + 53 * S, "9m53s"},
        {9 * M, "9m"},
        {10 * M, "10m"},
        {10 * M + 59 * S, "10m"},
        {179 * M, "179m"},
        {3 * H, "3h"},
        {5 * H + 12 * M, "5h12m"},
        {7 * H + 59 * M, "7h59m"},
        {8 * H, "8h"},
        {8 * H + 59 * M, "8h"},
        {47 * H, "47h"},
        {48 * H, "2d"},
        {3 * D + 4 * H, "3d4h"},
        {7 * D + 23 * H, "7d23h"},
        {8 * D, "8d"},
        {8 * D + 23 * H, "8d"},
        {729 * D, "729d"},
        {2 * Y, "2y"},
        {2 * Y + 319 * D, "2y319d"},
        {7 * Y + 364 * D, "7y364d"},
        {8 * Y, "8y"},
        {8 * Y + 100 * D, "8y"},
        {100 * Y, "100y"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        char text[TIME_TEXT_SIZE];

        if (strcmp(time_age(cases[i].span_ms, text), cases[i].text) != 0)
            fail_msg("%lld ms: %s, wanted %s", (long long)cases[i].span_ms, text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_written_as_kubernetes_writes_them),
        cmocka_unit_test(times_are_read_in_every_rfc_form),
        cmocka_unit_test(other_text_is_no_time),
        cmocka_unit_test(every_day_of_four_centuries_comes_back),
        cmocka_unit_test(ages_are_those_of_kubectl),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
