/* quantity_test.c - quantities in all their spellings, rounding and saturation. */
#include "fixture.h"

#include <errno.h>

#include "api/quantity.h"

static void quantities_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t value, milli;
    } cases[] = {
        {"0", 0, 0},
        {"1", 1, 1000},
        {"+1", 1, 1000},
        {"-1", -1, -1000},
        {"100m", 1, 100},
        {"1500m", 2, 1500},
        {"-1500m", -2, -1500},
        {"1.5", 2, 1500},
        {".5", 1, 500},
        {"5.", 5, 5000},
        {"0.0001", 1, 1},
        {"1u", 1, 1},
        {"1n", 1, 1},
        {"1000000n", 1, 1},
        {"1k", 1000, 1000000},
        {"1M", 1000000, 1000000000},
        {"1Ki", 1024, 1024000},
        {"4Gi", 4294967296, 4294967296000},
        {"1.5Gi", 1610612736, 1610612736000},
        {"0.5Ki", 512, 512000},
        {"129e6", 129000000, 129000000000},
        {"129E6", 129000000, 129000000000},
        {"1e-3", 1, 1},
        {"1e+2", 100, 100000},
        {"128974848000m", 128974848, 128974848000},
        {"123Mi", 128974848, 128974848000},
        {"1E", 1000000000000000000, INT64_MAX},
        {"9E", 9000000000000000000, INT64_MAX},
        {"10E", INT64_MAX, INT64_MAX},
        {"8Ei", INT64_MAX, INT64_MAX},
        {"7Ei", 8070450532247928832, INT64_MAX},
        {"-8Ei", -INT64_MAX, -INT64_MAX},
        {"9223372036854775807", INT64_MAX, INT64_MAX},
        {"9223372036854775808", INT64_MAX, INT64_MAX},
        {"99999999999999999999999999999999999999999", INT64_MAX, INT64_MAX},
        {"1e400", INT64_MAX, INT64_MAX},
        {"1e-400", 1, 1},
        {"0e999999999999", 0, 0},
        {"0.00000000000000000000000000000000000000000001", 1, 1},
        {"1.00000000000000000000000000000000000000000001", 2, 1001},
        {"100000000000000000000000000000e-29", 1, 1000},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        int64_t value = -7, milli = -7;

        if (quantity_value(cases[i].text, &value) < 0 ||
            quantity_milli(cases[i].text, &milli) < 0 || value != cases[i].value ||
            milli != cases[i].milli)
            fail_msg("%s: %lld, %lldm", cases[i].text, (long long)value, (long long)milli);
    }
}

static void other_text_is_refused(void **state)
{
    static const char *const texts[] = {"",    " ",    "x",   "1x",   "1 ",  "1Kii", "1ki",  "1K",
                                        "1mi", "--1",  ".",   "1..2", "1e",  "1e+",  "1.5.", "e3",
                                        "Gi",  "1e3k", "0x1", "1,5",  "1GB", "+",    "1e3.5"};

    (void)state;
    for (size_t i = 0; i < ELEMS(texts); i++) {
        int64_t v;

        if (quantity_value(texts[i], &v) != -EINVAL)
            fail_msg("'%s' was taken", texts[i]);
    }
}

static void json_numbers_count_too(void **state)
{
    (void)state;
    assert_int_equal(quantity_json_milli(parse("4"), -1), 4000);
    assert_int_equal(quantity_json_milli(parse("1.5"), -1), 1500);
    assert_int_equal(quantity_json_value(parse("\"2Gi\""), -1), 2147483648);
    assert_int_equal(quantity_json_value(parse("\"lots\""), -1), -1);
    assert_int_equal(quantity_json_value(parse("[1]"), -1), -1);
    assert_int_equal(quantity_json_value(NULL, 7), 7);
}

static void formatting_is_short(void **state)
{
    char text[QUANTITY_TEXT_SIZE];

    (void)state;
    assert_string_equal(quantity_format_milli(250, text), "250m");
    assert_string_equal(quantity_format_milli(2000, text), "2");
    assert_string_equal(quantity_format_milli(1500, text), "1500m");
    assert_string_equal(quantity_format_milli(0, text), "0");
    assert_string_equal(quantity_format_bytes(0, text), "0");
    assert_string_equal(quantity_format_bytes(1000, text), "1000");
    assert_string_equal(quantity_format_bytes(4294967296, text), "4Gi");
    assert_string_equal(quantity_format_bytes(536870912, text), "512Mi");
    assert_string_equal(quantity_format_bytes(INT64_MAX, text), "9223372036854775807");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(quantities_are_read_exactly, reset),
        cmocka_unit_test_setup(other_text_is_refused, reset),
        cmocka_unit_test_setup(json_numbers_count_too, reset),
        cmocka_unit_test_setup(formatting_is_short, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
