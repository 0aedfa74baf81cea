/* media_test.c - histograms, images and texts: which are kept, what is read again, what is refused.
 */
#include <math.h>

#include "board/fixture.h"
#include "board/media.h"
#include "board/tensor.h"

static int setup(void **state)
{
    static struct place p;

    place_make(&p);
    *state = &p;
    return 0;
}

static int teardown(void **state)
{
    place_remove(*state);
    return 0;
}

/* --- which are kept --------------------------------------------------------------------- */

static void add(struct samples *s, int64_t step, enum samples_kept kept)
{
    samples_add(s, &(struct sample){.step = step, .file = ""}, kept);
    assert_true(s->len <= SAMPLES_CAPACITY);
    assert_int_equal(s->at[s->len - 1].step, step);
}

static void the_last_are_kept(void **state)
{
    struct samples s = {0};

    (void)state;
    for (int64_t step = 0; step < 100; step++)
        add(&s, step, SAMPLES_LAST);
    assert_int_equal(s.len, SAMPLES_CAPACITY);
    for (uint32_t i = 0; i < s.len; i++)
        assert_int_equal(s.at[i].step, 100 - SAMPLES_CAPACITY + i);
    samples_release(&s);
}

static void some_of_the_whole_training_are_kept(void **state)
{
    struct samples s = {0};

    (void)state;
    for (int64_t step = 0; step < 1000; step++) {
        add(&s, step, SAMPLES_SPREAD);
        assert_int_equal(s.at[0].step, 0);
        for (uint32_t i = 2; i + 1 < s.len; i++) /* evenly, but for the newest */
            assert_int_equal(s.at[i].step - s.at[i - 1].step, s.at[1].step - s.at[0].step);
    }
    assert_in_range(s.len, SAMPLES_CAPACITY / 2, SAMPLES_CAPACITY);
    samples_release(&s);
}

static void a_restart_supersedes_samples(void **state)
{
    struct samples s = {0};

    (void)state;
    for (int64_t step = 0; step < 10; step++)
        add(&s, step, SAMPLES_LAST);
    add(&s, 4, SAMPLES_LAST);
    assert_int_equal(s.len, 5);
    samples_purge(&s, 2);
    assert_int_equal(s.len, 2);
    samples_release(&s);
}

/* --- histograms ------------------------------------------------------------------------- */

static void put_doubles(struct buf *out, unsigned number, const double *values, size_t len)
{
    put_bytes(out, number, values, len * sizeof(*values));
}

static struct event_value histogram_value(const struct buf *body)
{
    return (struct event_value){.content = VALUE_HISTOGRAM,
                                .body = {.data = body->data, .len = body->len}};
}

static void put_histogram(struct buf *out, double min, double max, const double *limits,
                          const double *counts, size_t len)
{
    put_double(out, 1, min);
    put_double(out, 2, max);
    put_doubles(out, 6, limits, len);
    put_doubles(out, 7, counts, len);
}

static void counts_go_to_the_bins_they_lie_in(void **state)
{
    const double limits[] = {1, 2, 1.7976931348623157e308}, counts[] = {10, 0, 30};
    struct buf body = BUF_INIT(4096);
    struct event_value v;
    struct histogram h;
    double sum = 0, upper = 0;

    (void)state;
    put_histogram(&body, 0, 4, limits, counts, 3);
    v = histogram_value(&body);
    assert_true(histogram_of(&v, &h));
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
        sum += h.bins[i];
        upper += i >= HISTOGRAM_BINS / 2 ? h.bins[i] : 0;
    }
    assert_true(h.min == 0 && h.max == 4 && h.count == 40);
    assert_true(fabs(sum - 40) < 1e-9 && fabs(upper - 30) < 1e-9);
    assert_true(fabs(h.bins[0] - 1) < 1e-9); /* 10 over ten of the bins */
    buf_release(&body);
}

static void all_values_the_same(void **state)
{
    const double limits[] = {7}, counts[] = {5};
    struct buf body = BUF_INIT(4096);
    struct event_value v;
    struct histogram h;

    (void)state;
    put_histogram(&body, 7, 7, limits, counts, 1);
    v = histogram_value(&body);
    assert_true(histogram_of(&v, &h));
    assert_true(h.bins[HISTOGRAM_BINS / 2] == 5 && h.count == 5);
    buf_release(&body);
}

static void a_range_that_is_none_is_refused(void **state)
{
    static const double ranges[][2] = {
        {NAN, 1}, {0, INFINITY}, {2, 1}, {-1.7976931348623157e308, 1.7976931348623157e308}};
    const double limits[] = {1}, counts[] = {1};

    (void)state;
    for (size_t i = 0; i < ELEMS(ranges); i++) {
        struct buf body = BUF_INIT(4096);
        struct event_value v;
        struct histogram h;

        put_histogram(&body, ranges[i][0], ranges[i][1], limits, counts, 1);
        v = histogram_value(&body);
        assert_false(histogram_of(&v, &h));
        buf_release(&body);
    }
}

static void triples_of_a_tensor(void **state)
{
    const double triples[] = {-1, 0, 3, 0, 1, 5, NAN, 9, 4};
    struct buf body = BUF_INIT(4096);
    struct event_value v;
    struct histogram h;

    (void)state;
    put_int(&body, 1, 2);
    put_doubles(&body, 4, triples, ELEMS(triples));
    v = (struct event_value){.content = VALUE_TENSOR, .body = {.data = body.data, .len = body.len}};
    assert_true(histogram_of(&v, &h));
    assert_true(h.min == -1 && h.max == 1 && h.count == 8);
    buf_release(&body);
}

/* --- images ----------------------------------------------------------------------------- */

static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02rest";
static const char jpeg[] = "\xff\xd8\xff\xe0\0\x04xx\xff\xc0\0\x0b\x08\0\x02\0\x03rest";

static void only_pictures_a_browser_shows_safely(void **state)
{
    static const char svg[] = "<svg onload='alert(1)'></svg> <!-- long enough -->",
                      gif[] = "GIF89a..............................",
                      bomb[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\0\0\1\0\0rest";
    struct picture p;

    (void)state;
    assert_true(picture_look(png, sizeof(png) - 1, &p));
    assert_string_equal(picture_content_type(p.type), "image/png");
    assert_true(p.width == 3 && p.height == 2);
    assert_true(picture_look(jpeg, sizeof(jpeg) - 1, &p));
    assert_string_equal(picture_content_type(p.type), "image/jpeg");
    assert_true(p.width == 3 && p.height == 2);
    assert_false(picture_look(svg, sizeof(svg) - 1, &p));
    assert_false(picture_look(gif, sizeof(gif) - 1, &p));
    assert_false(picture_look(bomb, sizeof(bomb) - 1, &p));
    for (size_t len = 0; len < sizeof(jpeg) - 6; len++)
        assert_false(picture_look(jpeg, len, &p));
}

/* --- reading again ---------------------------------------------------------------------- */

static void put_image(struct buf *file, int64_t step, const char *tag, const char *data, size_t len)
{
    struct buf image = BUF_INIT(4096), fields = BUF_INIT(4096);

    put_bytes(&image, 4, data, len);
    put_bytes(&fields, 4, image.data, image.len);
    put_summary(file, step, 1e9, tag, &fields);
    buf_release(&image);
    buf_release(&fields);
}

static void put_text(struct buf *file, int64_t step, const char *text)
{
    struct buf rest = BUF_INIT(4096);

    put_bytes(&rest, 8, text, strlen(text));
    put_tensor(file, step, 1e9, "note", "text", 7, &rest);
    buf_release(&rest);
}

struct seen {
    char text[256];
    int64_t steps;
};

static void see(void *arg, const struct sample *s, const struct event_value *v)
{
    struct seen *seen = arg;
    struct picture p;
    const char *text;
    size_t len;

    seen->steps = seen->steps * 10 + s->step;
    if (v->content == VALUE_TENSOR && tensor_text(v->body.data, v->body.len, 0, &text, &len))
        (void)snprintf(seen->text + strlen(seen->text), 100, "%.*s ", (int)len, text);
    else if (picture_of(v, 0, &p))
        (void)snprintf(seen->text + strlen(seen->text), 100, "%ux%u ", p.width, p.height);
}

static struct seen again(const struct board *b, const char *tag)
{
    const struct run *run = board_run(b, ".");
    struct seen seen = {.steps = 0};

    assert_true(board_read_again(b, run, run_find(run, tag), see, &seen));
    return seen;
}

static void what_was_kept_is_read_again(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES), second = BUF_INIT(FILES_LIMIT_BYTES);

    put_text(&file, 1, "one");
    put_image(&file, 2, "picture", png, sizeof(png) - 1);
    put_text(&file, 3, "three");
    place_write(p, "", "events.out.tfevents.2.h", file.data, file.len, O_TRUNC);
    read_all(b);
    put_text(&second, 4, "four");
    place_write(p, "", "events.out.tfevents.3.h", second.data, second.len, O_TRUNC);
    place_write(p, "", "events.out.tfevents.1.h", "", 0, O_TRUNC); /* moves the others */
    read_all(b);
    assert_string_equal(again(b, "note").text, "four three one ");
    assert_string_equal(again(b, "picture").text, "3x2 ");
    assert_int_equal(again(b, "note").steps, 431);
    /* Of truncated or rewritten files, what is still there is returned. */
    place_write(p, "", "events.out.tfevents.3.h", "x", 1, O_TRUNC);
    assert_string_equal(again(b, "note").text, "three one ");
    file.data[file.len - 10] ^= 1;
    place_write(p, "", "events.out.tfevents.2.h", file.data, file.len, O_TRUNC);
    assert_string_equal(again(b, "note").text, "one ");
    board_free(b);
    buf_release(&file);
    buf_release(&second);
}

static void a_link_put_in_a_files_place_is_not_followed(void **state)
{
    const struct place *p = *state;
    struct board *b = place_board(p);
    struct buf file = BUF_INIT(FILES_LIMIT_BYTES);
    char path[512], target[512];

    put_text(&file, 1, "secret");
    place_write(p, "", EVENT_FILE, file.data, file.len, O_TRUNC);
    read_all(b);
    (void)snprintf(path, sizeof(path), "%s/%s", p->path, EVENT_FILE);
    (void)snprintf(target, sizeof(target), "%s/elsewhere", p->path);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_string_equal(again(b, "note").text, "");
    board_free(b);
    buf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_are_kept),
        cmocka_unit_test(some_of_the_whole_training_are_kept),
        cmocka_unit_test(a_restart_supersedes_samples),
        cmocka_unit_test(counts_go_to_the_bins_they_lie_in),
        cmocka_unit_test(all_values_the_same),
        cmocka_unit_test(a_range_that_is_none_is_refused),
        cmocka_unit_test(triples_of_a_tensor),
        cmocka_unit_test(only_pictures_a_browser_shows_safely),
        cmocka_unit_test_setup_teardown(what_was_kept_is_read_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_put_in_a_files_place_is_not_followed, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
