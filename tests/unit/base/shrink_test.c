/* shrink_test.c - what was shrunk comes back as it was, and alike texts take little. */
#include "base/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t there_and_back(struct shrinker *s, const char *text, size_t len)
{
    struct shrunk *t = shrink(s, text, len);
    size_t size;
    char *out;

    assert_non_null(t);
    assert_int_equal(t->text_len, len);
    out = malloc(len + 1);
    assert_non_null(out);
    shrunk_expand(t, out);
    assert_memory_equal(out, text, len);
    assert_int_equal(out[len], '\0');
    size = t->len;
    free(out);
    shrunk_unref(t);
    return size;
}

static int write_object(char out[1024], unsigned i)
{
    return snprintf(
        out, 1024,
        "{\"metadata\":{\"name\":\"job-%u\",\"uid\":\"%08x-17a9-4052-b1aa-%08x\"},"
        "\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":\"x\",\"command\":"
        "[\"true\"],\"env\":[{\"name\":\"MASTER_ADDR\",\"value\":\"job-%u-worker-0\"},"
        "{\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"}]}],\"restartPolicy\":\"Never\","
        "\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\"},"
        "\"status\":{\"phase\":\"Succeeded\",\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"False\",\"reason\":\"PodCompleted\"}]}}",
        i, i * 2654435761u, i * 40503u, i);
}

static void objects_of_a_kind_take_little(void **state)
{
    struct shrinker s = {.model = NULL};
    size_t before = 0, after = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char text[1024];
        int n = write_object(text, i);

        before += (size_t)n;
        after += there_and_back(&s, text, (size_t)n);
    }
    assert_true(after * 6 < before);
    shrinker_release(&s);
}

static void texts_outlive_their_model(void **state)
{
    struct shrinker s = {.model = NULL};
    struct shrunk *kept[300];
    char text[1024], out[1024];

    (void)state;
    for (unsigned i = 0; i < ELEMS(kept); i++) {
        size_t n = (size_t)write_object(text, i);

        if (i >= 100) /* another kind of text: the model is replaced */
            for (size_t k = 0; k < n; k++)
                text[k] ^= (char)(1 + k % 7);
        kept[i] = shrink(&s, text, n);
        assert_non_null(kept[i]);
    }
    assert_ptr_not_equal(kept[0]->model, s.model);
    assert_ptr_equal(kept[299]->model, s.model);
    assert_true(kept[299]->len * 3 < kept[299]->text_len);
    shrinker_release(&s);
    shrunk_expand(kept[50], out);
    (void)write_object(text, 50);
    assert_string_equal(out, text);
    for (unsigned i = 0; i < ELEMS(kept); i++)
        shrunk_unref(kept[i]);
}

/* The first that come may be of objects that have only begun. */
static void a_better_model_is_found(void **state)
{
    struct shrinker s = {.model = NULL};
    char text[1024];
    size_t n = 0, left = 0;

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        n = (size_t)write_object(text, i);
        left = there_and_back(&s, text, i ? n : n * 3 / 4);
    }
    assert_true(left * 8 < n);
    shrinker_release(&s);
}

static void equal_texts_are_kept_once(void **state)
{
    struct shrinker s = {.model = NULL}, other = {.model = NULL};
    struct shrunk *first[1000], *second[1000];
    char text[1024], out[1024];

    (void)state;
    for (unsigned i = 0; i < ELEMS(first); i++)
        assert_non_null(first[i] = shrink(&s, text, (size_t)write_object(text, i)));
    for (unsigned i = 0; i < ELEMS(first); i++) {
        second[i] = shrink(&other, text, (size_t)write_object(text, i));
        assert_ptr_equal(second[i], first[i]);
    }
    assert_int_equal(shrunk_count(), ELEMS(first));
    for (unsigned i = 0; i < ELEMS(first); i++)
        shrunk_unref(first[i]);
    assert_int_equal(shrunk_count(), ELEMS(first));
    shrunk_expand(second[70], out);
    (void)write_object(text, 70);
    assert_string_equal(out, text);
    for (unsigned i = 0; i < ELEMS(first); i++)
        shrunk_unref(second[i]);
    assert_int_equal(shrunk_count(), 0);
    shrinker_release(&s);
    shrinker_release(&other);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Lengths around each limit, from noise to one letter repeated. */
static void any_text_comes_back(void **state)
{
    struct shrinker s = {.model = NULL};
    char *text = malloc(SHRINK_TEXT_LIMIT_BYTES + 10);
    uint32_t seed = 7;

    (void)state;
    assert_non_null(text);
    for (unsigned round = 0; round < 3000; round++) {
        size_t len = next_random(&seed) % (round % 10 ? 600 : SHRINK_TEXT_LIMIT_BYTES + 9);
        unsigned letters = 1 + next_random(&seed) % (round % 3 ? 4 : 256);

        for (size_t i = 0; i < len; i++)
            text[i] = (char)(next_random(&seed) % letters);
        if (round % 5 == 0)
            memset(text, 'x', len / 2);
        (void)there_and_back(&s, text, len);
    }
    free(text);
    shrinker_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_of_a_kind_take_little),
        cmocka_unit_test(texts_outlive_their_model),
        cmocka_unit_test(a_better_model_is_found),
        cmocka_unit_test(equal_texts_are_kept_once),
        cmocka_unit_test(any_text_comes_back),
    };

    return cmocka_run_group_tests_name("shrink", tests, NULL, NULL);
}
