/* watch_test.c - watches: what comes first, what comes later, and what is never sent. */
#include "fixture.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"

static void make(struct fixture *f, const char *name, const char *app)
{
    char body[256];

    (void)snprintf(body, sizeof(body),
                   "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"%s\"}}}", name, app);
    expect(f, "POST", CONFIG_MAPS, body, 201);
}

static void label(struct fixture *f, const char *name, const char *app)
{
    char path[128], body[128];

    (void)snprintf(path, sizeof(path), CONFIG_MAPS "/%s", name);
    (void)snprintf(body, sizeof(body), "{\"metadata\":{\"labels\":{\"app\":\"%s\"}}}", app);
    expect(f, "PATCH", path, body, 200);
}

static void unmake(struct fixture *f, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), CONFIG_MAPS "/%s", name);
    expect(f, "DELETE", path, NULL, 200);
}

static int64_t version_of(const struct json *event)
{
    return atoll(object_resource_version(json_get(event, "object")));
}

static void shows_what_is_there_then_what_happens(void **state)
{
    struct fixture *f = *state;
    struct reader r, zero;
    const struct json *e;
    int64_t before;

    make(f, "a", "x");
    make(f, "b", "x");
    reader_open(f, &r, CONFIG_MAPS "?watch=true");
    reader_open(f, &zero, CONFIG_MAPS "?watch=1&resourceVersion=0");
    assert_event(reader_next(&r), "ADDED", "a");
    assert_event(e = reader_next(&r), "ADDED", "b");
    assert_event(reader_next(&zero), "ADDED", "a");
    assert_event(reader_next(&zero), "ADDED", "b");
    before = version_of(e);
    make(f, "c", "x");
    label(f, "a", "y");
    unmake(f, "b");
    assert_event(e = reader_next(&r), "ADDED", "c");
    assert_int_equal(version_of(e), before + 1);
    assert_event(e = reader_next(&r), "MODIFIED", "a");
    assert_int_equal(version_of(e), before + 2);
    assert_event(e = reader_next(&r), "DELETED", "b");
    assert_int_equal(version_of(e), before + 3); /* the deletion's, not the object's last */
    reader_close(&r);
    reader_close(&zero);
}

static void shows_only_what_came_after_a_revision(void **state)
{
    struct fixture *f = *state;
    struct reader r;
    char path[128];

    make(f, "a", "x");
    (void)snprintf(path, sizeof(path), CONFIG_MAPS "?watch=true&resourceVersion=%" PRId64,
                   store_revision(f->store));
    make(f, "b", "x");
    reader_open(f, &r, path);
    assert_event(reader_next(&r), "ADDED", "b");
    make(f, "c", "x");
    assert_event(reader_next(&r), "ADDED", "c");
    reader_close(&r);
}

/* Of a later state than this one, which was restored: its number will be another write's. */
static void tells_410_for_a_revision_to_come(void **state)
{
    struct fixture *f = *state;
    const struct json *e;
    struct reader r;
    char path[160];

    make(f, "a", "x");
    (void)snprintf(path, sizeof(path),
                   CONFIG_MAPS "?watch=true&allowWatchBookmarks=true&resourceVersion=%" PRId64,
                   store_revision(f->store) + 1);
    reader_open(f, &r, path);
    e = reader_next(&r);
    assert_string_equal(json_get_string(e, "type", ""), "ERROR");
    assert_int_equal(json_get_int(json_get(e, "object"), "code", 0), 410);
    reader_close(&r);
}

static void selectors_turn_changes_into_comings_and_goings(void **state)
{
    struct fixture *f = *state;
    struct reader r, one;
    const struct json *e;

    make(f, "a", "x");
    make(f, "b", "y");
    reader_open(f, &r, CONFIG_MAPS "?watch=true&labelSelector=app%3Dx");
    reader_open(f, &one, CONFIG_MAPS "?watch=true&fieldSelector=metadata.name%3Db");
    assert_event(reader_next(&r), "ADDED", "a");
    assert_event(reader_next(&one), "ADDED", "b");
    label(f, "b", "x"); /* comes */
    label(f, "a", "z"); /* goes */
    label(f, "a", "w"); /* not ours */
    unmake(f, "a");     /* not ours */
    unmake(f, "b");
    assert_event(reader_next(&r), "ADDED", "b");
    assert_event(e = reader_next(&r), "DELETED", "a");
    assert_string_equal(object_label(json_get(e, "object"), "app"), "x"); /* as it last was */
    assert_int_equal(version_of(e), store_revision(f->store) - 3);
    assert_event(reader_next(&r), "DELETED", "b");
    assert_event(reader_next(&one), "MODIFIED", "b");
    assert_event(reader_next(&one), "DELETED", "b");
    reader_close(&r);
    reader_close(&one);
}

static void keeps_to_its_namespace(void **state)
{
    struct fixture *f = *state;
    struct reader r, all;

    reader_open(f, &r, CONFIG_MAPS "?watch=true");
    reader_open(f, &all, "/api/v1/configmaps?watch=true");
    expect(f, "POST", "/api/v1/namespaces/kube-system/configmaps",
           "{\"metadata\":{\"name\":\"other\"}}", 201);
    make(f, "mine", "x");
    assert_event(reader_next(&r), "ADDED", "mine");
    assert_event(reader_next(&all), "ADDED", "other");
    assert_event(reader_next(&all), "ADDED", "mine");
    reader_close(&r);
    reader_close(&all);
}

static void tells_410_in_an_event(void **state)
{
    struct fixture *f = *state;
    struct reader r;
    const struct json *e;

    fixture_close(f);
    f->options.window_events = 1;
    fixture_open(f);
    make(f, "a", "x");
    make(f, "b", "x");
    reader_open(f, &r, CONFIG_MAPS "?watch=true&resourceVersion=1");
    e = reader_next(&r);
    assert_string_equal(json_get_string(e, "type", ""), "ERROR");
    assert_int_equal(json_int(json_at(e, "object", "code"), 0), 410);
    assert_string_equal(json_string(json_at(e, "object", "reason"), ""), "Expired");
    assert_non_null(
        strstr(json_string(json_at(e, "object", "message"), ""), "too old resource version: 1 ("));
    while (!r.ended)
        loop_run_once(f->loop);
    assert_int_equal(r.status, 200);
    reader_close(&r);
}

static void sends_bookmarks_that_are_true(void **state)
{
    struct fixture *f = *state;
    struct reader r;
    const struct json *e;

    make(f, "a", "x");
    reader_open(f, &r, CONFIG_MAPS "?watch=true&allowWatchBookmarks=true");
    assert_event(reader_next(&r), "ADDED", "a");
    expect(f, "POST", "/api/v1/namespaces/default/secrets", "{\"metadata\":{\"name\":\"s\"}}", 201);
    fake_clock_advance(&f->clock, 61000);
    e = reader_next(&r);
    assert_string_equal(json_get_string(e, "type", ""), "BOOKMARK");
    assert_string_equal(json_string(json_at(e, "object", "kind"), ""), "ConfigMap");
    assert_string_equal(json_string(json_at(e, "object", "apiVersion"), ""), "v1");
    assert_int_equal(version_of(e), store_revision(f->store)); /* also of other collections */
    reader_close(&r);
}

static void marks_the_end_of_what_was_there(void **state)
{
    struct fixture *f = *state;
    struct reader r;
    const struct json *e;

    make(f, "a", "x");
    reader_open(f, &r,
                CONFIG_MAPS "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true"
                            "&resourceVersionMatch=NotOlderThan");
    assert_event(reader_next(&r), "ADDED", "a");
    e = reader_next(&r);
    assert_string_equal(json_get_string(e, "type", ""), "BOOKMARK");
    assert_string_equal(object_annotation(json_get(e, "object"), "k8s.io/initial-events-end"),
                        "true");
    reader_close(&r);
}

static void ends_when_asked_to(void **state)
{
    struct fixture *f = *state;
    struct reader r;

    reader_open(f, &r, CONFIG_MAPS "?watch=true&timeoutSeconds=7");
    expect(f, "GET", "/version", NULL, 200);
    fake_clock_advance(&f->clock, 6999);
    expect(f, "GET", "/version", NULL, 200);
    assert_false(r.ended);
    fake_clock_advance(&f->clock, 1);
    while (!r.ended)
        loop_run_once(f->loop);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.in.len, 0);
    reader_close(&r);
}

static void refuses_bad_questions(void **state)
{
    static const char *const paths[] = {CONFIG_MAPS "?watch=true&resourceVersion=x",
                                        CONFIG_MAPS "?watch=true&timeoutSeconds=-1",
                                        CONFIG_MAPS "?watch=true&fieldSelector=spec.x%3D1"};
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(paths); i++) {
        struct reader r;

        reader_open(f, &r, paths[i]);
        while (!r.ended)
            loop_run_once(f->loop);
        assert_int_equal(r.status, 400);
        assert_non_null(strstr(r.in.data, "\"kind\":\"Status\""));
        reader_close(&r);
    }
}

static void a_slow_reader_is_told_it_lost_its_place(void **state)
{
    struct fixture *f = *state;
    struct reader r;
    const struct json *e;

    fixture_close(f);
    f->options.window_events = 4;
    fixture_open(f);
    reader_open(f, &r, CONFIG_MAPS "?watch=true");
    make(f, "a", "0");
    assert_event(reader_next(&r), "ADDED", "a");
    for (int i = 0; i < 8; i++) { /* all in one turn: more than the window holds */
        static struct answer a[8];
        char body[64];

        (void)snprintf(body, sizeof(body), "{\"data\":{\"n\":\"%d\"}}", i);
        ask_with(f, &a[i], "PATCH", CONFIG_MAPS "/a", "application/merge-patch+json", NULL, body);
    }
    do
        e = reader_next(&r);
    while (strcmp(json_get_string(e, "type", ""), "MODIFIED") == 0);
    assert_string_equal(json_get_string(e, "type", ""), "ERROR");
    assert_int_equal(json_int(json_at(e, "object", "code"), 0), 410);
    reader_close(&r);
}

static void a_closed_reader_hears_nothing(void **state)
{
    struct fixture *f = *state;
    struct reader r, other;

    reader_open(f, &r, CONFIG_MAPS "?watch=true");
    reader_open(f, &other, CONFIG_MAPS "?watch=true");
    make(f, "a", "x");
    assert_event(reader_next(&r), "ADDED", "a");
    transport_close(f->transport, r.stream);
    r.ended = true;
    buf_clear(&r.in);
    make(f, "b", "x");
    assert_event(reader_next(&other), "ADDED", "a");
    assert_event(reader_next(&other), "ADDED", "b");
    assert_int_equal(r.in.len, 0);
    reader_close(&r);
    reader_close(&other);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(shows_what_is_there_then_what_happens),
        test(shows_only_what_came_after_a_revision),
        test(tells_410_for_a_revision_to_come),
        test(selectors_turn_changes_into_comings_and_goings),
        test(keeps_to_its_namespace),
        test(tells_410_in_an_event),
        test(sends_bookmarks_that_are_true),
        test(marks_the_end_of_what_was_there),
        test(ends_when_asked_to),
        test(refuses_bad_questions),
        test(a_slow_reader_is_told_it_lost_its_place),
        test(a_closed_reader_hears_nothing),
    };

    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
