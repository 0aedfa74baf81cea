/* series_test.c - curves in bounded memory: what must stay stays, restarts supersede. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "board/points.h"

static void add(struct series *s, int64_t step, double value, uint32_t capacity)
{
    size_t bytes = 0;

    assert_int_equal(
        series_add(s, (struct point){step, (double)step / 10, value}, capacity, &bytes), 0);
}

static struct point *all(const struct series *s, size_t *len)
{
    const struct points_range range = {.from = INT64_MIN, .to = INT64_MAX};

    return points_of(s, &range, len);
}

static void every_point_is_kept_while_there_is_room(void **state)
{
    struct series s = {0};
    struct point *p;
    size_t len;

    (void)state;
    for (int64_t i = 0; i < 62; i++)
        add(&s, i, sin((double)i), 64);
    p = all(&s, &len);
    assert_int_equal(len, 62);
    for (size_t i = 0; i < len; i++)
        assert_true(p[i].step == (int64_t)i && p[i].value == sin((double)i));
    free(p);
    series_release(&s);
}

static void extremes_and_ends_are_exact_when_it_is_full(void **state)
{
    struct series s = {0};
    struct point *p;
    size_t len;
    bool low = false, high = false;

    (void)state;
    for (int64_t i = 0; i < 100000; i++)
        add(&s, i, i == 777 ? -5 : i == 54321 ? 9 : sin((double)i), 64);
    p = all(&s, &len);
    assert_in_range(len, 16, 68);
    assert_int_equal(p[0].step, 0);
    assert_int_equal(p[len - 1].step, 99999);
    for (size_t i = 0; i < len; i++) {
        assert_true(i == 0 || p[i].step >= p[i - 1].step);
        low = low || (p[i].step == 777 && p[i].value == -5);
        high = high || (p[i].step == 54321 && p[i].value == 9);
    }
    assert_true(low && high);
    assert_true(s.min.step == 777 && s.max.step == 54321);
    assert_int_equal(s.read, 100000);
    free(p);
    series_release(&s);
}

static void a_nan_is_not_lost_among_its_neighbours(void **state)
{
    struct series s = {0};
    struct point *p;
    size_t len, nans = 0;

    (void)state;
    for (int64_t i = 0; i < 10000; i++)
        add(&s, i, i == 5000 ? NAN : 1, 64);
    p = all(&s, &len);
    for (size_t i = 0; i < len; i++)
        nans += isnan(p[i].value) ? 1u : 0u;
    assert_int_equal(nans, 1);
    assert_true(s.min.value == 1 && s.max.value == 1);
    free(p);
    series_release(&s);
}

static void a_step_that_goes_back_supersedes_later_ones(void **state)
{
    struct series s = {0};
    struct point *p;
    size_t len;

    (void)state;
    for (int64_t i = 1; i <= 100; i++)
        add(&s, i, i == 95 ? 99 : 1, 2048);
    for (int64_t i = 81; i <= 90; i++)
        add(&s, i, 2, 2048);
    p = all(&s, &len);
    assert_int_equal(len, 90);
    for (size_t i = 0; i < len; i++)
        assert_true(p[i].step == (int64_t)i + 1 && p[i].value == (i < 80 ? 1 : 2));
    assert_int_equal(s.purges, 1);
    assert_true(s.max.value == 2);
    free(p);
    series_release(&s);
}

static void points_of_one_step_are_all_kept(void **state)
{
    struct series s = {0};
    size_t len;

    (void)state;
    for (int i = 0; i < 30; i++)
        add(&s, 0, i, 2048);
    free(all(&s, &len));
    assert_int_equal(len, 30);
    series_release(&s);
}

/* Wherever it restarts, what is before stays in order and nothing from behind remains. */
static void restarts_of_a_full_curve(void **state)
{
    (void)state;
    for (int64_t back = 0; back < 3000; back += 37) {
        struct series s = {0};
        struct point *p;
        size_t len;

        for (int64_t i = 0; i < 3000; i++)
            add(&s, i, (double)(i * 7919 % 1000), 32);
        add(&s, back, 5000, 32);
        p = all(&s, &len);
        assert_int_equal(p[len - 1].step, back);
        assert_true(p[len - 1].value == 5000 && s.max.value == 5000);
        assert_int_equal(p[0].step, 0);
        for (size_t i = 1; i < len; i++)
            assert_true(p[i].step >= p[i - 1].step);
        free(p);
        series_release(&s);
    }
}

static void shrinking_keeps_extremes(void **state)
{
    struct series s = {0};
    size_t bytes = 0, len;
    struct point *p;
    bool high = false;

    (void)state;
    for (int64_t i = 0; i < 1500; i++)
        assert_int_equal(series_add(&s, (struct point){i, 0, i == 700 ? 3 : 0}, 2048, &bytes), 0);
    assert_int_equal(bytes, 2048 * sizeof(struct point));
    series_shrink(&s, 32, &bytes);
    assert_int_equal(bytes, 32 * sizeof(struct point));
    p = all(&s, &len);
    for (size_t i = 0; i < len; i++)
        high = high || p[i].step == 700;
    assert_true(high && len <= 36 && p[0].step == 0 && p[len - 1].step == 1499);
    free(p);
    series_release(&s);
}

static void a_picture_gets_no_more_than_it_can_show(void **state)
{
    const struct points_range range = {.from = 100, .to = 1899, .width = 50};
    struct series s = {0};
    struct point *p;
    size_t len;
    bool high = false;

    (void)state;
    for (int64_t i = 0; i < 2000; i++)
        add(&s, i, i == 1234 ? 100 : sin((double)i / 9), 4096);
    p = points_of(&s, &range, &len);
    assert_in_range(len, 50, 104);
    assert_int_equal(p[0].step, 100);
    assert_int_equal(p[len - 1].step, 1899);
    for (size_t i = 0; i < len; i++)
        high = high || (p[i].step == 1234 && p[i].value == 100);
    assert_true(high);
    free(p);
    series_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_is_kept_while_there_is_room),
        cmocka_unit_test(extremes_and_ends_are_exact_when_it_is_full),
        cmocka_unit_test(a_nan_is_not_lost_among_its_neighbours),
        cmocka_unit_test(a_step_that_goes_back_supersedes_later_ones),
        cmocka_unit_test(points_of_one_step_are_all_kept),
        cmocka_unit_test(restarts_of_a_full_curve),
        cmocka_unit_test(shrinking_keeps_extremes),
        cmocka_unit_test(a_picture_gets_no_more_than_it_can_show),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
