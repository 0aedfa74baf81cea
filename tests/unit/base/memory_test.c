/* memory_test.c - arena, buf, blob, base64: limits, sticky failure, ownership. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/blob.h"
#include "base/buf.h"
#include "base/reserve.h"

static void an_arena_gives_zeroed_aligned_memory(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);

    (void)state;
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *p = arena_alloc(&a, n);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xaa, n);
        if (n == 1400)
            arena_reset(&a); /* memory used before comes back zeroed */
    }
    arena_release(&a);
    assert_int_equal(a.used_bytes, 0);
}

static void an_arena_fails_at_its_limit_and_stays_failed(void **state)
{
    struct arena a = ARENA_INIT(100);

    (void)state;
    assert_non_null(arena_alloc(&a, 64));
    assert_non_null(arena_alloc(&a, 32));
    assert_false(arena_failed(&a));
    assert_null(arena_alloc(&a, 16));
    assert_true(arena_failed(&a));
    assert_null(arena_alloc(&a, 1));
    assert_null(arena_strdup(&a, "x"));
    assert_null(arena_printf(&a, "%d", 1));
    arena_reset(&a);
    assert_false(arena_failed(&a));
    assert_non_null(arena_alloc(&a, 96));
    arena_release(&a);
}

static void an_absurd_size_is_refused(void **state)
{
    struct arena a = ARENA_INIT(SIZE_MAX);

    (void)state;
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_true(arena_failed(&a));
    arena_release(&a);
    assert_null(arena_strndup(&a, "x", SIZE_MAX));
    arena_release(&a);
}

static void large_pieces_and_small_ones_live_together(void **state)
{
    struct arena a = ARENA_INIT(16u << 20);
    char *small = arena_strdup(&a, "small"), *large = arena_alloc(&a, 1u << 20);
    char *after = arena_printf(&a, "%s-%d", "after", 7);

    (void)state;
    memset(large, 'x', 1u << 20);
    assert_string_equal(small, "small");
    assert_string_equal(after, "after-7");
    assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
    arena_reset(&a);
    assert_string_equal(arena_strdup(&a, "again"), "again");
    arena_release(&a);
}

/* --- buf ------------------------------------------------------------------------------------ */

static void an_arena_is_rewound(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct arena_mark none = arena_mark(&a), mark;
    char *kept = arena_strdup(&a, "kept");

    (void)state;
    mark = arena_mark(&a);
    for (size_t i = 0; i < 2000; i++)
        (void)!arena_alloc(&a, 1000);
    assert_true(arena_failed(&a));
    arena_rewind(&a, &mark);
    assert_false(arena_failed(&a));
    assert_string_equal(kept, "kept");
    assert_int_equal(a.used_bytes, mark.used_bytes);
    assert_non_null(arena_alloc(&a, 500000));
    arena_rewind(&a, &none);
    assert_null(a.blocks);
    arena_release(&a);
}

static void a_buffer_grows_to_its_ceiling(void **state)
{
    struct buf b = BUF_INIT(1000);

    (void)state;
    for (int i = 0; i < 100; i++)
        buf_adds(&b, "0123456789");
    assert_false(b.failed);
    assert_int_equal(b.len, 1000);
    buf_addc(&b, 'x');
    assert_true(b.failed);
    buf_adds(&b, "");
    assert_int_equal(b.len, 1000); /* what was there stays */
    buf_clear(&b);
    buf_addf(&b, "%s=%d", "a", 5);
    assert_string_equal(b.data, "a=5");
    buf_release(&b);
    assert_null(b.data);
}

static void a_formatted_text_that_does_not_fit_adds_nothing(void **state)
{
    struct buf b = BUF_INIT(10);

    (void)state;
    buf_addf(&b, "%s", "12345");
    buf_addf(&b, "%s", "123456");
    assert_true(b.failed);
    assert_string_equal(b.data, "12345");
    buf_release(&b);
}

static void bytes_are_taken_consumed_and_reserved(void **state)
{
    struct buf b = BUF_INIT(100);
    size_t len = 0;
    char *taken;

    (void)state;
    buf_add(&b, "a\0b", 3);
    buf_consume(&b, 1);
    assert_int_equal(b.len, 2);
    assert_memory_equal(b.data, "\0b", 3);
    buf_consume(&b, 50);
    assert_int_equal(b.len, 0);
    memcpy(buf_reserve(&b, 4), "1234", 4);
    b.len += 4;
    taken = buf_take(&b, &len);
    assert_int_equal(len, 4);
    assert_memory_equal(taken, "1234", 4);
    free(taken);
    assert_null(b.data);
    assert_null(buf_take(&b, &len));
    assert_null(buf_reserve(&b, 101));
    assert_true(b.failed);
    assert_null(buf_take(&b, &len));
    buf_release(&b);
}

/* --- blob ----------------------------------------------------------------------------------- */

static void a_blob_lives_until_its_last_reference(void **state)
{
    struct buf b = BUF_INIT(10);
    struct blob *one, *two;

    (void)state;
    buf_adds(&b, "text");
    one = blob_from_buf(&b);
    two = blob_ref(one);
    assert_ptr_equal(one, two);
    blob_unref(one);
    assert_string_equal(two->data, "text");
    assert_int_equal(two->len, 4);
    blob_unref(two);
    blob_unref(NULL);
    assert_null(blob_ref(NULL));
    buf_adds(&b, "too much text");
    assert_null(blob_from_buf(&b));
    buf_release(&b);
    one = blob_new(NULL, 0);
    assert_int_equal(one->len, 0);
    blob_unref(one);
}

/* --- base64 --------------------------------------------------------------------------------- */

static void base64_of_the_rfc(void **state)
{
    static const struct {
        const char *text, *encoded;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}};
    struct arena a = ARENA_INIT(1u << 16);

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        size_t len = 99;

        assert_string_equal(base64_encode(&a, cases[i].text, strlen(cases[i].text), &len),
                            cases[i].encoded);
        assert_int_equal(len, strlen(cases[i].encoded));
        assert_string_equal(base64_decode(&a, cases[i].encoded, strlen(cases[i].encoded), &len),
                            cases[i].text);
        assert_int_equal(len, strlen(cases[i].text));
    }
    arena_release(&a);
}

static void every_byte_goes_through_base64(void **state)
{
    struct arena a = ARENA_INIT(1u << 16);
    unsigned char bytes[256];
    size_t len = 0, back_len = 0;
    char *text, *back;

    (void)state;
    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    text = base64_encode(&a, bytes, sizeof(bytes), &len);
    back = base64_decode(&a, text, len, &back_len);
    assert_int_equal(back_len, 256);
    assert_memory_equal(back, bytes, 256);
    assert_int_equal(base64_decoded_len("Zm9v\r\nYmFy\n", 11), 6);
    arena_release(&a);
}

static void what_is_not_base64_is_refused(void **state)
{
    static const char *const texts[] = {
        "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Zm9v!", "Zm 9v", "Zm9-", "=Zg="};
    struct arena a = ARENA_INIT(1u << 16);
    size_t len;

    (void)state;
    for (size_t i = 0; i < ELEMS(texts); i++) {
        if (base64_decoded_len(texts[i], strlen(texts[i])) >= 0)
            fail_msg("%s was taken", texts[i]);
        assert_null(base64_decode(&a, texts[i], strlen(texts[i]), &len));
    }
    assert_false(arena_failed(&a));
    arena_release(&a);
}

static void a_shortage_of_memory_is_noted(void **state)
{
    unsigned before = memory_shortages();
    unsigned char *p = reserve_calloc(64);
    volatile size_t too_much = PTRDIFF_MAX - 64u;

    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(p[i], 0);
    reserve_free(p);
    reserve_free(NULL);
    assert_int_equal(memory_shortages(), before);
    assert_null(reserve_calloc(too_much));
    assert_null(memory_checked(NULL));
    assert_int_equal(memory_shortages(), before + 2);
}

/* How many intervals until the next recovery, when memory is always short. */
static unsigned recovered_after(struct recovery *r)
{
    unsigned n = 1;

    memory_ran_out();
    while (!recovery_is_due(r))
        n++;
    recovery_done(r);
    return n;
}

static void recoveries_from_a_lasting_shortage_become_rare(void **state)
{
    struct recovery r = {0};

    (void)state;
    assert_int_equal(recovered_after(&r), 1);
    assert_int_equal(recovered_after(&r), 2);
    assert_int_equal(recovered_after(&r), 4);
    for (int i = 0; i < 20; i++)
        (void)recovered_after(&r);
    assert_int_equal(recovered_after(&r), 64);
    for (int i = 0; i < 64; i++)
        assert_false(recovery_is_due(&r));
    assert_int_equal(recovered_after(&r), 1); /* it was over */
}

/* The restart itself may be short of memory. */
static void a_shortage_during_a_recovery_leads_to_another(void **state)
{
    struct recovery r = {0};

    (void)state;
    memory_ran_out();
    assert_true(recovery_is_due(&r));
    assert_true(recovery_is_due(&r)); /* it did not succeed */
    memory_ran_out();
    recovery_done(&r);
    assert_false(recovery_is_due(&r));
    assert_true(recovery_is_due(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shortage_of_memory_is_noted),
        cmocka_unit_test(recoveries_from_a_lasting_shortage_become_rare),
        cmocka_unit_test(a_shortage_during_a_recovery_leads_to_another),
        cmocka_unit_test(an_arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(an_arena_fails_at_its_limit_and_stays_failed),
        cmocka_unit_test(an_absurd_size_is_refused),
        cmocka_unit_test(large_pieces_and_small_ones_live_together),
        cmocka_unit_test(an_arena_is_rewound),
        cmocka_unit_test(a_buffer_grows_to_its_ceiling),
        cmocka_unit_test(a_formatted_text_that_does_not_fit_adds_nothing),
        cmocka_unit_test(bytes_are_taken_consumed_and_reserved),
        cmocka_unit_test(a_blob_lives_until_its_last_reference),
        cmocka_unit_test(base64_of_the_rfc),
        cmocka_unit_test(every_byte_goes_through_base64),
        cmocka_unit_test(what_is_not_base64_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
