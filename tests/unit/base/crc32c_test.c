/* crc32c_test.c - both ways of computing it give the published values, and the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"

static void published_values(void **state)
{
    unsigned char bytes[32];

    (void)state;
    assert_int_equal(crc32c("123456789", 9), 0xe3069283u);
    memset(bytes, 0, sizeof(bytes)); /* these are of RFC 3720 */
    assert_int_equal(crc32c(bytes, sizeof(bytes)), 0x8a9136aau);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(crc32c(bytes, sizeof(bytes)), 0x62a8ab43u);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(crc32c(bytes, sizeof(bytes)), 0x46dd794eu);
}

static void table_and_instruction_agree(void **state)
{
    unsigned char bytes[300];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 167 + 13);
    for (size_t start = 0; start < 9; start++)
        for (size_t len = 0; start + len <= sizeof(bytes); len++)
            assert_int_equal(crc32c(bytes + start, len), crc32c_by_table(bytes + start, len));
}

static void mask_is_that_of_event_files(void **state)
{
    static const unsigned char length[8] = {24}; /* as TensorBoard's own first records have it */

    (void)state;
    assert_int_equal(crc32c_masked(length, sizeof(length)), 0x224b7fa3u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(table_and_instruction_agree),
        cmocka_unit_test(mask_is_that_of_event_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
