/* log_search_test.c - looking for lines in a log, from anywhere, in both directions. */
#include "pod_fixture.h"

#include <time.h>

#include "base/timefmt.h"
#include "runtime/cri.h"
#include "runtime/line_match.h"
#include "runtime/log_search.h"

#define STAMP(sec) "2026-11-15T08:00:" sec ".123456789Z "
#define HIT(at, sec, stream, text)                                                                 \
    "{\"at\":\"" at "\",\"time\":\"2026-11-15T08:00:" sec ".123456789Z\",\"stream\":\"" stream     \
    "\",\"text\":\"" text "\"}\n"

static bool any_open(const struct log_searches *all)
{
    for (size_t i = 0; i < ELEMS(all->open); i++)
        if (all->open[i])
            return true;
    return false;
}

static const struct node_log_options every_line = {
    .tail_lines = -1,
    .limit_bytes = -1,
    .attempt = NODE_ANY_ATTEMPT,
    .search = {.wanted = true, .text = "", .lines = NODE_LOG_LINES_LIMIT}};

static void make_pod(struct fixture *f)
{
    char path[256];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/p", f->pods);
    assert_int_equal(mkdir(path, 0700), 0);
    fd = pod_dir_fd(f, "p");
    assert_int_equal(pod_mark_started(fd), 0);
    (void)close(fd);
}

static void write_file(struct fixture *f, const char *name, const char *text)
{
    int fd = pod_dir_fd(f, "p");

    assert_int_equal(pod_file_write(fd, name, text, strlen(text), POD_NOT_SYNCED), 0);
    (void)close(fd);
}

/* The matches without progress lines; *ret_end: the last line. */
static char *search(struct fixture *f, const struct node_log_options *o, char **ret_end)
{
    struct log_searches all = {.loop = f->loop};
    struct stream *s = NULL;
    struct buf text = BUF_INIT(64u * 1024 * 1024), hits = BUF_INIT(64u * 1024 * 1024);
    char *line, *rest, *end = NULL;
    size_t len;

    assert_int_equal(log_search_open(&all, f->pods, "p", "main", o, &s, NULL), 0);
    drain_log(f, s, NULL, &text);
    s->ops->close(s);
    assert_false(any_open(&all));
    rest = text.data;
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        if (strncmp(line, "{\"at\"", 5) == 0)
            buf_addf(&hits, "%s\n", line);
        else
            end = line;
    }
    assert_non_null(end);
    if (ret_end)
        *ret_end = strdup(end);
    buf_adds(&hits, "");
    buf_release(&text);
    return buf_take(&hits, &len);
}

static void assert_hits(struct fixture *f, const struct node_log_options *o, const char *expected,
                        const char *expected_end)
{
    char *end, *hits = search(f, o, &end);

    assert_string_equal(hits ? hits : "", expected);
    if (!strstr(end, expected_end))
        assert_string_equal(end, expected_end);
    free(hits);
    free(end);
}

/* 53, 53, 52, 57, 53, 50 bytes */
static const char small_log[] =
    STAMP("01") "stdout F one ERROR: x\n" STAMP("02") "stderr F two\n" STAMP(
        "03") "stdout P th\n" STAMP("03") "stderr F between\n" STAMP("04") "stdout F "
                                                                           "ree\n" STAMP(
                                                                               "0"
                                                                               "5") "stdout F INFO "
                                                                                    "five\n";

#define ONE HIT("0.0", "01", "stdout", "one ERROR: x")
#define TWO HIT("0.53", "02", "stderr", "two")
#define BETWEEN HIT("0.140", "03", "stderr", "between")
#define THREE HIT("0.97", "03", "stdout", "three")
#define FIVE HIT("0.232", "05", "stdout", "INFO five")

static void lines_are_found_from_both_ends(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = every_line;

    make_pod(f);
    write_file(f, "main.0.0.log", small_log);
    assert_hits(f, &o, ONE TWO BETWEEN THREE FIVE,
                "\"count\":5,\"end\":true,\"all\":true,\"began\":\"0.0\",\"next\":\"0.282\"");
    o.search.back = true;
    assert_hits(f, &o, FIVE THREE BETWEEN TWO ONE,
                "\"count\":5,\"end\":true,\"all\":true,\"began\":\"0.282\",\"next\":\"0.0\"");
    o.search.lines = 2;
    assert_hits(f, &o, FIVE THREE,
                "\"count\":2,\"end\":true,\"all\":false,\"began\":\"0.282\",\"next\":\"0.97\"");
    o.search.count = true;
    assert_hits(f, &o, FIVE THREE,
                "\"count\":5,\"end\":true,\"all\":true,\"began\":\"0.282\",\"next\":\"0.97\"");
    o.search.back = false;
    assert_hits(f, &o, ONE TWO,
                "\"count\":5,\"end\":true,\"all\":true,\"began\":\"0.0\",\"next\":\"0.97\"");
    o.search.lines = 0;
    assert_hits(f, &o, "", "\"count\":5,\"end\":true");
}

static void a_place_or_a_time_is_where_it_begins(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = every_line;

    make_pod(f);
    write_file(f, "main.0.0.log", small_log);
    o.from = (struct node_log_place){.kind = LOG_PLACE_BYTE, .byte = 97};
    assert_hits(f, &o, BETWEEN THREE FIVE, "\"all\":true");
    o.from.byte = 54; /* within a line: the next */
    assert_hits(f, &o, BETWEEN THREE FIVE, "\"all\":true");
    o.search.back = true;
    o.from.byte = 97;
    assert_hits(f, &o, TWO ONE, "\"all\":true");
    o.from = (struct node_log_place){.kind = LOG_PLACE_TIME};
    assert_int_equal(time_parse("2026-11-15T08:00:02Z", &o.from.time_ms), 0);
    assert_hits(f, &o, ONE, "\"all\":true");
    o.search.back = false;
    assert_hits(f, &o, TWO BETWEEN THREE FIVE, "\"all\":true");
    o.from.time_ms += 3600000;
    assert_hits(f, &o, "", "\"all\":true");
}

static void expressions_and_levels_choose(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = every_line;

    make_pod(f);
    write_file(f, "main.0.0.log", small_log);
    o.search.text = "THRE";
    assert_hits(f, &o, "", "\"count\":0");
    o.search.ignore_case = true;
    assert_hits(f, &o, THREE, "\"count\":1"); /* over two entries */
    o.search.text = "stdout";                 /* of the file, not of the line */
    assert_hits(f, &o, "", "\"count\":0");
    o.search.text = "^t(w|h).*";
    assert_hits(f, &o, "", "\"count\":0");
    o.search.regex = true;
    assert_hits(f, &o, TWO THREE, "\"count\":2");
    o.search.text = "";
    o.search.levels = 1u << LINE_ERROR | 1u << LINE_INFO;
    assert_hits(f, &o, ONE FIVE, "\"count\":2");
    o.search.levels = 1u << LINE_OTHER;
    assert_hits(f, &o, TWO BETWEEN THREE, "\"count\":3");
}

static void a_bad_expression_is_refused(void **state)
{
    struct fixture *f = *state;
    struct log_searches all = {.loop = f->loop};
    struct node_log_options o = every_line;
    auto_err err = ERR_INIT;

    o.search.regex = true;
    o.search.text = "loss=(";
    assert_true(log_search_check(&all, &o.search, &err) < 0);
    assert_int_equal(err.reason, ERR_BAD_REQUEST);
    assert_string_equal(err.text, "search: not a regular expression: missing closing parenthesis, "
                                  "at character 6 of \"loss=(\"");
}

static void an_expression_that_takes_too_long_ends(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = every_line;

    make_pod(f);
    write_file(f, "main.0.0.log",
               STAMP("01") "stdout F aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n");
    o.search.regex = true;
    o.search.text = "(a+)+$";
    assert_hits(f, &o, "", "\"error\":\"search: this expression takes too long on the line here");
}

/* The line of so many letters, and one before it. */
static void write_long_line(struct fixture *f, size_t len)
{
    struct buf text = BUF_INIT(64u * 1024 * 1024);

    buf_adds(&text, STAMP("01") "stdout F first\n");
    for (size_t left = len; left > 0;) {
        size_t n = min_size(left, CRI_LINE_BYTES);

        left -= n;
        buf_adds(&text, STAMP("02") "stdout ");
        buf_adds(&text, left > 0 ? "P " : "F ");
        for (size_t i = 0; i < n; i++)
            buf_addc(&text, 'a');
        buf_addc(&text, '\n');
    }
    write_file(f, "main.0.0.log", text.data);
    buf_release(&text);
}

static int64_t cpu_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* PCRE2's own limit does not end these: a step may read the whole line, and it is counted from each
 * place anew. */
static void a_long_line_has_a_time_limit(void **state)
{
    static const char *const slow[] = {"(?=(a+))\\1+b", "a*?(?=a*+)c", "(a+)\\1[bc]",
                                       "(?:a|aa)+?[bc]", "(?C1)(?=(a+))\\1+b"};
    struct fixture *f = *state;

    make_pod(f);
    write_long_line(f, 900000);
    for (int back = 0; back < 2; back++)
        for (size_t i = 0; i < ELEMS(slow); i++) {
            struct node_log_options o = every_line;
            int64_t before = cpu_ms();

            o.search.regex = true;
            o.search.back = back;
            o.search.text = slow[i];
            assert_hits(f, &o, "",
                        "\"error\":\"search: this expression takes too long on the line "
                        "here: make it simpler, above all repetitions inside "
                        "repetitions\",\"at\":\"0.46\"}");
            assert_true(cpu_ms() - before < 2000);
        }
}

/* An expression that is slow on each of many lines gives way, and one that is too slow on all of
 * them together ends. */
static void many_slow_lines_have_one_too(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT(64u * 1024 * 1024);
    struct node_log_options o = every_line;
    int64_t before = cpu_ms();

    make_pod(f);
    for (int i = 0; i < 60; i++) {
        buf_adds(&text, STAMP("01") "stdout F ");
        for (int n = 0; n < 3800; n++)
            buf_addc(&text, 'a');
        buf_addc(&text, '\n');
    }
    write_file(f, "main.0.0.log", text.data);
    buf_release(&text);
    o.search.regex = true;
    o.search.text = "(?=(a+))(?=(a+))(?=(a+))(?=(a+))(?=(a+))(?=(a+))(?=(a+))(?=(a+))\\1[bc]";
    assert_hits(f, &o, "", "\"error\":\"search: this expression takes too long");
    assert_true(cpu_ms() - before < 4000);
}

/* Texts that begin again and again, and expressions with callouts of their own. */
static void what_takes_little_time_is_found_on_long_lines(void **state)
{
    struct fixture *f = *state;
    char needle[900], *hits;

    make_pod(f);
    write_long_line(f, 900000);
    memset(needle, 'a', sizeof(needle));
    needle[sizeof(needle) - 1] = '\0';
    for (int i = 0; i < 4; i++) {
        struct node_log_options o = every_line;

        o.search.regex = i & 1;
        o.search.ignore_case = i & 2;
        o.search.text = i & 1 ? "(?C7)a{50}$" : needle;
        hits = search(f, &o, NULL);
        assert_non_null(strstr(hits, "\"at\":\"0.46\""));
        free(hits);
    }
}

static void a_search_that_is_given_up_ends_at_once(void **state)
{
    struct fixture *f = *state;
    struct log_searches all = {.loop = f->loop};
    struct node_log_options o = every_line;
    struct stream *s;
    int64_t before;
    char byte;

    make_pod(f);
    write_long_line(f, 900000);
    o.search.regex = true;
    o.search.text = "(?=(a+))\\1+b";
    assert_int_equal(log_search_open(&all, f->pods, "p", "main", &o, &s, NULL), 0);
    assert_int_equal(s->ops->read(s, &byte, 1), 0);
    before = cpu_ms();
    s->ops->close(s);
    while (any_open(&all))
        loop_run_once(f->loop);
    assert_true(cpu_ms() - before < LINE_MATCH_LINE_MS);
}

/* The daemon stops: what holds the searches goes before the loop that waits for the pool. */
static void a_search_outlives_those_who_asked_for_it(void **state)
{
    struct fixture *f = *state;
    struct log_searches *all = calloc(1, sizeof(*all));
    struct node_log_options o = every_line;
    struct stream *s;
    char byte;

    assert_non_null(all);
    all->loop = f->loop;
    make_pod(f);
    write_long_line(f, 900000);
    o.search.regex = true;
    o.search.text = "(?=(a+))\\1+b";
    assert_int_equal(log_search_open(all, f->pods, "p", "main", &o, &s, NULL), 0);
    assert_int_equal(s->ops->read(s, &byte, 1), 0);
    s->ops->close(s);
    log_searches_end(all);
    free(all);
}

/* Lines of many lengths over several files; each is found at its place, both ways. */
static void places_hold_across_files_and_long_lines(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = every_line;
    char *forward, *backward, *line, *rest;
    size_t lines = 0;

    make_pod(f);
    for (unsigned file = 3; file < 6; file++) { /* the oldest are gone */
        struct buf text = BUF_INIT(16u * 1024 * 1024);
        char name[64];

        for (unsigned i = 0; i < 2000; i++) {
            if (i % 500 == 7) /* longer than a window */
                for (unsigned part = 0; part < 20; part++)
                    buf_addf(&text, STAMP("01") "stdout P %016384u\n", i);
            buf_addf(&text, STAMP("01") "stdout F file %u line %u\n", file, i);
        }
        (void)snprintf(name, sizeof(name), "main.0.%u.log", file);
        write_file(f, name, text.data);
        buf_release(&text);
    }
    o.search.text = "line";
    forward = search(f, &o, NULL);
    o.search.back = true;
    backward = search(f, &o, NULL);
    assert_int_equal(strlen(forward), strlen(backward));
    rest = forward;
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        size_t len = strlen(line);
        const char *tail = backward + strlen(backward) - 1 - len;

        assert_memory_equal(tail, line, len);
        backward[tail - backward] = '\0';
        lines++;
    }
    assert_int_equal(lines, 6000);
    free(forward);
    free(backward);
}

static void a_long_line_is_cut_around_what_was_found(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = every_line;
    struct buf text = BUF_INIT(1024u * 1024);
    char *hits;

    make_pod(f);
    buf_addf(&text, STAMP("01") "stdout P %016384u\n" STAMP("01") "stdout F needle%016000u\n", 0u,
             0u);
    write_file(f, "main.0.0.log", text.data);
    o.search.text = "needle";
    hits = search(f, &o, NULL);
    assert_non_null(strstr(hits, "needle"));
    assert_non_null(strstr(hits, "\"cut\":true,\"from\":15360,\"length\":32390"));
    assert_in_range(strlen(hits), 8192, 9000);
    free(hits);
    buf_release(&text);
}

static void a_search_may_be_given_up(void **state)
{
    struct fixture *f = *state;
    struct log_searches all = {.loop = f->loop};
    struct node_log_options o = every_line;
    struct stream *streams[8];
    char byte;

    make_pod(f);
    write_file(f, "main.0.0.log", small_log);
    for (size_t i = 0; i < ELEMS(streams); i++) {
        assert_int_equal(log_search_open(&all, f->pods, "p", "main", &o, &streams[i], NULL), 0);
        assert_int_equal(streams[i]->ops->read(streams[i], &byte, 1), 0);
    }
    assert_int_equal(all.running, 2);
    for (size_t i = 0; i < ELEMS(streams); i++)
        streams[i]->ops->close(streams[i]);
    while (any_open(&all))
        loop_run_once(f->loop);
    assert_int_equal(all.running, 0);
}

static void one_account_does_not_take_all_places(void **state)
{
    struct fixture *f = *state;
    struct log_searches all = {.loop = f->loop};
    struct node_log_options o = log_all;
    struct stream *streams[LOG_SEARCHES_LIMIT];
    auto_err err = ERR_INIT;
    size_t n = 0;

    make_pod(f);
    write_file(f, "main.0.0.log", small_log);
    o.search = (struct node_log_search){.wanted = true, .text = "", .lines = 1, .user = "guest"};
    while (n < ELEMS(streams) && log_search_check(&all, &o.search, NULL) == 0) {
        assert_int_equal(log_search_open(&all, f->pods, "p", "main", &o, &streams[n], NULL), 0);
        n++;
    }
    assert_int_equal(n, LOG_SEARCHES_LIMIT / 8);
    assert_true(log_search_check(&all, &o.search, &err) < 0);
    assert_string_equal(err.text, "4 searches of yours are under way on this node already: try "
                                  "again later");
    o.search.user = "other";
    assert_int_equal(log_search_check(&all, &o.search, NULL), 0);
    o.search.user = NULL;
    assert_int_equal(log_search_check(&all, &o.search, NULL), 0);
    for (size_t i = 0; i < n; i++)
        streams[i]->ops->close(streams[i]);
    assert_false(any_open(&all));
}

static void lines_can_say_their_place(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = log_all;

    make_pod(f);
    write_file(f, "main.0.0.log", small_log);
    o.offsets = true;
    assert_log(f, "p", &o,
               "0.0 one ERROR: x\n0.53 two\n0.140 between\n0.97 three\n0.232 INFO five\n");
    o.from = (struct node_log_place){.kind = LOG_PLACE_BYTE, .byte = 232};
    assert_log(f, "p", &o, "0.232 INFO five\n");
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(lines_are_found_from_both_ends),
        T(a_place_or_a_time_is_where_it_begins),
        T(expressions_and_levels_choose),
        T(a_bad_expression_is_refused),
        T(an_expression_that_takes_too_long_ends),
        T(a_long_line_has_a_time_limit),
        T(many_slow_lines_have_one_too),
        T(what_takes_little_time_is_found_on_long_lines),
        T(a_search_that_is_given_up_ends_at_once),
        T(a_search_outlives_those_who_asked_for_it),
        T(places_hold_across_files_and_long_lines),
        T(a_long_line_is_cut_around_what_was_found),
        T(a_search_may_be_given_up),
        T(one_account_does_not_take_all_places),
        T(lines_can_say_their_place),
    };
    int ret;

    if (fixture_main(argc, argv, &ret))
        return ret;
    return cmocka_run_group_tests_name("log_search", tests, NULL, NULL);
}
