/*
 * damage_test.c - an event file cut at every byte, and with every byte changed once, never crashes
 * the reader and never costs a point that was before the damage.
 */
#include "board/fixture.h"
#include "board/fuzz.h"
#include "board/record.h"

#define SCALARS 12

struct damage {
    struct place place;
    struct buf file;
    size_t ends[SCALARS]; /* of each scalar's record */
};

static int setup(void **state)
{
    struct damage *d = calloc(1, sizeof(*d));
    struct buf rest = BUF_INIT(64);
    float value = 0.5f;

    assert_non_null(d);
    place_make(&d->place);
    buf_init(&d->file, FILES_LIMIT_BYTES);
    put_version(&d->file);
    put_bytes(&rest, 4, &value, sizeof(value));
    for (int i = 0; i < SCALARS; i++) {
        if (i % 2)
            put_scalar(&d->file, i + 1, 1e9 + i, "loss", (float)i);
        else
            put_tensor(&d->file, i + 1, 1e9 + i, "loss", "scalars", 1, &rest);
        d->ends[i] = d->file.len;
    }
    buf_release(&rest);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct damage *d = *state;

    place_remove(&d->place);
    buf_release(&d->file);
    free(d);
    return 0;
}

static size_t whole_before(const struct damage *d, size_t offset)
{
    size_t n = 0;

    while (n < SCALARS && d->ends[n] <= offset)
        n++;
    return n;
}

static void cut_at_every_byte_and_grown_again(void **state)
{
    struct damage *d = *state;

    for (size_t cut = 0; cut <= d->file.len; cut++) {
        struct board *b = place_board(&d->place);

        place_write(&d->place, "", EVENT_FILE, d->file.data, cut, O_TRUNC);
        read_all(b);
        assert_int_equal(points_named(b, ".", "loss"), whole_before(d, cut));
        place_write(&d->place, "", EVENT_FILE, d->file.data + cut, d->file.len - cut, O_APPEND);
        read_all(b);
        assert_int_equal(points_named(b, ".", "loss"), SCALARS);
        board_free(b);
    }
}

/* The first so many points are as they were written, whatever follows. */
static void check_earlier(const struct board *b, size_t earlier)
{
    const struct points_range all = {.from = INT64_MIN, .to = INT64_MAX};
    const struct series *s = series_named(b, ".", "loss");
    struct point *p = NULL;
    size_t len = 0;

    if (s)
        p = points_of(s, &all, &len);
    assert_true(len >= earlier && len <= SCALARS);
    for (size_t i = 0; i < earlier; i++)
        assert_true(p[i].step == (int64_t)i + 1 && p[i].value == (i % 2 ? (double)i : 0.5));
    free(p);
}

static void every_byte_changed_once(void **state)
{
    struct damage *d = *state;

    for (size_t at = 0; at < d->file.len; at++) {
        struct board *b = place_board(&d->place);
        size_t earlier = whole_before(d, at);
        struct board_totals t;

        d->file.data[at] = (char)(d->file.data[at] ^ 0x5a);
        place_write(&d->place, "", EVENT_FILE, d->file.data, d->file.len, O_TRUNC);
        d->file.data[at] = (char)(d->file.data[at] ^ 0x5a);
        read_all(b);
        check_earlier(b, earlier);
        board_totals(b, &t);
        assert_int_equal(t.bad_records + t.ended_files, 1);
        /* damaged data costs its own record only, a damaged length the rest */
        if (t.bad_records)
            assert_true(points_named(b, ".", "loss") >= SCALARS - 1);
        else
            assert_int_equal(points_named(b, ".", "loss"), earlier);
        /* repaired, it is read to its end; what was left out before stays so */
        place_write(&d->place, "", EVENT_FILE, d->file.data, d->file.len, O_TRUNC);
        read_all(b);
        check_earlier(b, t.bad_records ? earlier : SCALARS);
        board_free(b);
    }
}

static void bytes_that_pass_their_checksums_may_be_anything(void **state)
{
    struct damage *d = *state;

    for (size_t at = 0; at < d->file.len; at++)
        for (int bit = 0; bit < 8; bit++) {
            d->file.data[at] = (char)(d->file.data[at] ^ 1 << bit);
            (void)board_fuzz(d->file.data, d->file.len);
            (void)board_fuzz(d->file.data + at, d->file.len - at);
            d->file.data[at] = (char)(d->file.data[at] ^ 1 << bit);
        }
    assert_true(board_fuzz(d->file.data, d->file.len) > 0);
}

static void a_record_over_the_limit_is_stepped_over(void **state)
{
    struct damage *d = *state;
    struct board *b = place_board(&d->place);
    struct buf large = BUF_INIT(FILES_LIMIT_BYTES);
    struct board_totals t;
    char *data = calloc(1, RECORD_LIMIT_BYTES + 1);

    assert_non_null(data);
    put_record(&large, data, RECORD_LIMIT_BYTES + 1);
    free(data);
    place_write(&d->place, "", EVENT_FILE, large.data, large.len, O_TRUNC);
    place_write(&d->place, "", EVENT_FILE, d->file.data, d->file.len, O_APPEND);
    read_all(b);
    board_totals(b, &t);
    assert_int_equal(t.long_records, 1);
    assert_int_equal(points_named(b, ".", "loss"), SCALARS);
    board_free(b);
    buf_release(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cut_at_every_byte_and_grown_again, setup, teardown),
        cmocka_unit_test_setup_teardown(every_byte_changed_once, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_that_pass_their_checksums_may_be_anything, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_record_over_the_limit_is_stepped_over, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
