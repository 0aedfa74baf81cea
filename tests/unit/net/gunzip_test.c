/* gunzip_test.c - what we packed comes back; what is damaged or too large does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "net/gunzip.h"

static const char text[] = "the same words, the same words, the same words again and again";

static size_t pack(unsigned char *out, size_t size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text,
                  .avail_in = sizeof(text),
                  .next_out = out,
                  .avail_out = (uInt)size};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return z.total_out;
}

static void comes_back(void **state)
{
    unsigned char packed[256];
    size_t len = pack(packed, sizeof(packed));
    struct blob *plain = gunzip(packed, len, sizeof(text));

    (void)state;
    assert_non_null(plain);
    assert_int_equal(plain->len, sizeof(text));
    assert_memory_equal(plain->data, text, sizeof(text));
    blob_unref(plain);
}

static void damaged_or_too_large_is_nothing(void **state)
{
    unsigned char packed[256];
    size_t len = pack(packed, sizeof(packed));

    (void)state;
    assert_null(gunzip(packed, len, sizeof(text) - 1));
    assert_null(gunzip(packed, len - 1, sizeof(text)));
    assert_null(gunzip(packed, 0, sizeof(text)));
    packed[len / 2] ^= 0x40;
    assert_null(gunzip(packed, len, sizeof(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(damaged_or_too_large_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
