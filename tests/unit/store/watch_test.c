/* watch_test.c - watches tell everything once, in order, or say that they cannot. */
#include "fixture.h"

#include <errno.h>

#include "base/shrink.h"

static int ready_count;

static void ready(void *arg)
{
    (void)arg;
    ready_count++;
}

static struct store_watch *watch_from(struct store_collection *c, int64_t from)
{
    struct store_watch *w = NULL;

    ready_count = 0;
    assert_int_equal(store_watch_open(c, from, ready, NULL, &w, NULL), 0);
    return w;
}

static void assert_expired(struct store_collection *c, int64_t from)
{
    auto_err err = ERR_INIT;
    struct store_watch *w;

    assert_int_equal(store_watch_open(c, from, ready, NULL, &w, &err), -ESTALE);
    assert_int_equal(err.reason, ERR_EXPIRED);
}

static void assert_next(struct store_watch *w, int64_t revision, enum store_event_type type,
                        const char *value, const char *previous)
{
    struct store_event e;

    assert_int_equal(store_watch_next(w, &e), 1);
    assert_int_equal(e.revision, revision);
    assert_int_equal(e.type, type);
    assert_string_equal(e.key, "a");
    assert_string_equal(e.value->data, value);
    if (previous)
        assert_string_equal(e.previous->data, previous);
    else
        assert_null(e.previous);
}

static void assert_end(struct store_watch *w)
{
    struct store_event e;

    assert_int_equal(store_watch_next(w, &e), 0);
}

static void events_carry_the_state_before_and_after(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w = watch_from(f->pods, 0);

    put_now(f, f->pods, "a", "x");
    put_now(f, f->jobs, "other collection", "x");
    put_now(f, f->pods, "a", "y");
    remove_now(f, f->pods, "a");
    put_now(f, f->pods, "a", "z");
    assert_next(w, 1, STORE_ADDED, "x@1", NULL);
    assert_next(w, 3, STORE_MODIFIED, "y@3", "x@1");
    assert_next(w, 4, STORE_DELETED, "gone@4", "y@3");
    assert_next(w, 5, STORE_ADDED, "z@5", NULL);
    assert_end(w);
    store_watch_free(w);
    w = watch_from(f->pods, 3);
    assert_next(w, 4, STORE_DELETED, "gone@4", "y@3");
    store_watch_free(w);
    w = watch_from(f->pods, 2);
    assert_next(w, 3, STORE_MODIFIED, "y@3", "x@1");
    store_watch_free(w);
}

/* Between two agings everything is told; a reader that was up to date then still is. */
static void what_is_old_leaves_the_window(void **state)
{
    struct fixture *f = *state;
    struct store_watch *slow = watch_from(f->pods, 0), *w;
    size_t before = shrunk_count();
    struct store_event e;

    put_now(f, f->pods, "a", "x");
    store_age(f->store);
    put_now(f, f->pods, "a", "y");
    w = watch_from(f->pods, 0);
    assert_next(w, 1, STORE_ADDED, "x@1", NULL);
    assert_next(w, 2, STORE_MODIFIED, "y@2", "x@1");
    put_now(f, f->jobs, "other collection", "x");
    store_age(f->store);
    assert_expired(f->pods, 0);
    assert_int_equal(store_watch_next(slow, &e), -ESTALE);
    store_watch_free(slow);
    slow = watch_from(f->pods, 1);
    assert_next(slow, 2, STORE_MODIFIED, "y@2", "x@1");
    store_watch_free(slow);
    store_age(f->store);
    assert_expired(f->pods, 1);
    store_watch_free(watch_from(f->pods, 2));
    assert_end(w);
    assert_int_equal(shrunk_count() - before, 2);
    assert_string_equal(store_get(f->pods, "a")->value->data, "y@2");
    put_now(f, f->pods, "a", "z");
    assert_next(w, 4, STORE_MODIFIED, "z@4", "y@2");
    store_watch_free(w);
}

static void reader_is_told_once_until_it_sees_the_end_again(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w = watch_from(f->pods, 0);

    put_now(f, f->jobs, "a", "elsewhere");
    assert_int_equal(ready_count, 0);
    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "a", "y");
    assert_int_equal(ready_count, 1);
    assert_next(w, 2, STORE_ADDED, "x@2", NULL);
    put_now(f, f->pods, "a", "z");
    assert_int_equal(ready_count, 1);
    assert_next(w, 3, STORE_MODIFIED, "y@3", "x@2");
    assert_next(w, 4, STORE_MODIFIED, "z@4", "y@3");
    assert_end(w);
    put_now(f, f->pods, "a", "u");
    assert_int_equal(ready_count, 2);
    store_watch_free(w);
}

static void future_revision_waits(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w = watch_from(f->pods, 2);

    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "a", "y");
    assert_end(w);
    put_now(f, f->pods, "a", "z");
    assert_next(w, 3, STORE_MODIFIED, "z@3", "y@2");
    store_watch_free(w);
}

/* A daemon that is started anew must not send everybody back to listing. */
static void watches_go_on_where_they_were_when_the_store_is_opened_again(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w;

    put_now(f, f->pods, "a", "x");
    put_now(f, f->jobs, "a", "x");
    put_now(f, f->pods, "a", "y");
    put_now(f, f->pods, "a", "z");
    remove_now(f, f->pods, "a");
    put_now(f, f->pods, "a", "again");
    for (int i = 0; i < 2; i++) {
        fixture_reopen(f);
        w = watch_from(f->pods, 1);
        assert_next(w, 3, STORE_MODIFIED, "y@3", "x@1");
        assert_next(w, 4, STORE_MODIFIED, "z@4", "y@3");
        assert_next(w, 5, STORE_DELETED, "gone@5", "z@4");
        assert_next(w, 6, STORE_ADDED, "again@6", NULL);
        assert_end(w);
        store_watch_free(w);
    }
    w = watch_from(store_collection(f->store, "/never seen"), 1);
    assert_end(w);
    store_watch_free(w);
    w = watch_from(f->pods, 6);
    put_now(f, f->pods, "a", "new");
    assert_next(w, 7, STORE_MODIFIED, "new@7", "again@6");
    store_watch_free(w);
}

#define MANY 6000

/* What is kept is bounded, and who is further behind is told. */
static void history_on_disk_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w;

    for (int i = 0; i < MANY; i++) {
        struct blob *value = value_for(f, "x");

        assert_int_equal(store_put(f->pods, i % 2 ? "a" : "b", value, NULL, NULL), 0);
        blob_unref(value);
        if (i % 100 == 99)
            put_now(f, f->jobs, "c", "x");
    }
    fixture_reopen(f);
    assert_expired(f->pods, 1);
    assert_expired(f->jobs, 1);
    w = watch_from(f->pods, store_revision(f->store) - 2000);
    for (int64_t v = store_revision(f->store) - 1999; v <= store_revision(f->store); v++)
        if (v % 101 != 0) {
            struct store_event e;

            assert_int_equal(store_watch_next(w, &e), 1);
            assert_int_equal(e.revision, v);
            assert_non_null(e.previous);
        }
    assert_end(w);
    store_watch_free(w);
}

static void open_with(struct fixture *f, size_t events, size_t bytes)
{
    f->options = (struct store_options){.window_events = events, .window_bytes = bytes};
    fixture_reopen(f);
}

static void window_is_bounded_by_events(void **state)
{
    struct fixture *f = *state;
    struct store_watch *slow, *quick;
    struct store_event e;

    open_with(f, 20, 0);
    slow = watch_from(f->pods, 0);
    quick = watch_from(f->pods, 0);
    for (int i = 1; i <= 20; i++) {
        put_now(f, f->pods, "a", "x");
        assert_int_equal(store_watch_next(quick, &e), 1);
    }
    assert_int_equal(store_watch_next(slow, &e), 1); /* just held */
    store_watch_free(watch_from(f->pods, 0));
    put_now(f, f->pods, "a", "x");
    put_now(f, f->pods, "a", "x");
    assert_string_equal(e.value->data, "x@1"); /* the reader's until its next call */
    assert_int_equal(store_watch_next(slow, &e), -ESTALE);
    assert_int_equal(store_watch_next(slow, &e), -ESTALE);
    assert_int_equal(store_watch_next(quick, &e), 1);
    assert_int_equal(e.revision, 21);
    assert_expired(f->pods, 1);
    store_watch_free(watch_from(f->pods, 2));
    store_watch_free(watch_from(f->jobs, 0)); /* each collection has its own */
    store_watch_free(slow);
    store_watch_free(quick);
}

static void window_is_bounded_by_bytes(void **state)
{
    struct fixture *f = *state;
    char *bytes = calloc(1, 100000);
    int held = 0;

    open_with(f, 0, 1000000);
    for (int i = 1; i <= 30; i++) {
        struct written w = write_started(f);
        struct blob *big = blob_new(bytes, 100000);

        assert_int_equal(store_put(f->pods, "a", big, ended, &w), 0);
        settle_all(f);
        blob_unref(big);
    }
    for (int64_t from = 0; from < 30; from++) {
        struct store_watch *w;

        if (store_watch_open(f->pods, from, ready, NULL, &w, NULL) == 0) {
            held++;
            store_watch_free(w);
        }
    }
    assert_int_equal(held, 4); /* each holds its state and the one before */
    free(bytes);
}

static void event_larger_than_the_window_is_still_told(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w;

    open_with(f, 0, 1);
    w = watch_from(f->pods, 0);
    put_now(f, f->pods, "a", "x");
    assert_next(w, 1, STORE_ADDED, "x@1", NULL);
    put_now(f, f->pods, "a", "y");
    assert_next(w, 2, STORE_MODIFIED, "y@2", "x@1");
    store_watch_free(w);
}

/* --- freeing */

static struct store_watch *doomed[3];

static void free_all(void *arg)
{
    (void)arg;
    ready_count++;
    for (size_t i = 0; i < ELEMS(doomed); i++) {
        store_watch_free(doomed[i]);
        doomed[i] = NULL;
    }
}

static void watches_may_be_freed_when_told(void **state)
{
    struct fixture *f = *state;

    ready_count = 0;
    for (size_t i = 0; i < ELEMS(doomed); i++)
        assert_int_equal(store_watch_open(f->pods, 0, free_all, NULL, &doomed[i], NULL), 0);
    put_now(f, f->pods, "a", "x");
    assert_int_equal(ready_count, 1);
    store_watch_free(NULL);
}

static void watch_may_outlive_the_store(void **state)
{
    struct fixture *f = *state;
    struct store_watch *w = watch_from(f->pods, 0);

    put_now(f, f->pods, "a", "x");
    assert_next(w, 1, STORE_ADDED, "x@1", NULL);
    fixture_reopen(f);
    assert_end(w);
    store_watch_free(w);
}

/* --- against a model: random writes and readers of random pace */

#define MODEL_KEYS 12
#define MODEL_READERS 6
#define MODEL_STEPS 3000
#define MODEL_IN_FLIGHT 20

struct expected { /* the write that must become the event of this revision */
    int collection, key;
    enum store_event_type type;
    int64_t previous; /* revision */
};

struct reader {
    struct store_watch *watch;
    int collection;
    int64_t seen; /* revision of the last event, or where it started */
    bool told;
};

struct model {
    struct fixture *fixture;
    struct store_collection *collections[2];
    struct expected *writes; /* by revision */
    int64_t newest[2][MODEL_KEYS];
    struct reader readers[MODEL_READERS];
    unsigned seed;
    unsigned events, expired_opening, expired_reading;
};

static unsigned pick(struct model *m, unsigned n)
{
    m->seed = m->seed * 1103515245u + 12345u;
    return (m->seed >> 16) % n;
}

static void model_write(struct model *m)
{
    struct fixture *f = m->fixture;
    int c = (int)pick(m, 2), k = (int)pick(m, MODEL_KEYS);
    int64_t revision = store_next_revision(f->store), *newest = &m->newest[c][k];
    struct blob *value;
    char text[32];
    bool deletion = *newest && pick(m, 3) == 0;

    snprintf(text, sizeof(text), "%d", k);
    value = value_for(f, text);
    m->writes[revision] = (struct expected){.collection = c,
                                            .key = k,
                                            .type = deletion  ? STORE_DELETED
                                                    : *newest ? STORE_MODIFIED
                                                              : STORE_ADDED,
                                            .previous = *newest};
    *newest = deletion ? 0 : revision;
    assert_int_equal(
        (deletion ? store_delete : store_put)(m->collections[c], text, value, NULL, NULL), 0);
    blob_unref(value);
}

static void reader_told(void *arg)
{
    struct reader *r = arg;

    r->told = true;
}

static int64_t revision_in(const struct blob *b)
{
    return strtoll(strchr(b->data, '@') + 1, NULL, 10);
}

static void check_event(struct model *m, struct reader *r, const struct store_event *e)
{
    const struct expected *x = &m->writes[e->revision];

    for (int64_t skipped = r->seen + 1; skipped < e->revision; skipped++)
        assert_int_not_equal(m->writes[skipped].collection, r->collection); /* no gap */
    assert_true(e->revision > r->seen);
    assert_true(e->revision <= store_revision(m->fixture->store));
    assert_int_equal(x->collection, r->collection);
    assert_int_equal(x->type, e->type);
    assert_int_equal(atoi(e->key), x->key);
    assert_int_equal(revision_in(e->value), e->revision);
    assert_int_equal(e->previous ? revision_in(e->previous) : 0, x->previous);
    r->seen = e->revision;
    m->events++;
}

static void reader_open(struct model *m, struct reader *r)
{
    int64_t now = store_revision(m->fixture->store);

    store_watch_free(r->watch);
    r->watch = NULL;
    r->collection = (int)pick(m, 2);
    r->seen = now - min_i64(now, pick(m, 60));
    r->told = true;
    if (store_watch_open(m->collections[r->collection], r->seen, reader_told, r, &r->watch, NULL)) {
        m->expired_opening++;
        r->seen = now;
        assert_int_equal(
            store_watch_open(m->collections[r->collection], now, reader_told, r, &r->watch, NULL),
            0);
    }
}

static void reader_read(struct model *m, struct reader *r, unsigned limit)
{
    struct store_event e;
    int n = 1;

    while (r->told && limit-- && (n = store_watch_next(r->watch, &e)) == 1)
        check_event(m, r, &e);
    if (n == 0)
        r->told = false;
    if (n == -ESTALE) {
        m->expired_reading++;
        reader_open(m, r);
    }
}

static void settle_model(struct model *m)
{
    struct fixture *f = m->fixture;

    while (store_revision(f->store) + 1 < store_next_revision(f->store))
        loop_run_once(f->loop);
}

/* Readers go on where they were, or are told that they cannot. */
static void model_reopen(struct model *m)
{
    settle_model(m);
    fixture_reopen(m->fixture);
    m->collections[0] = m->fixture->pods;
    m->collections[1] = m->fixture->jobs;
    for (size_t i = 0; i < MODEL_READERS; i++) {
        struct reader *r = &m->readers[i];

        store_watch_free(r->watch);
        r->watch = NULL;
        r->told = true;
        if (store_watch_open(m->collections[r->collection], r->seen, reader_told, r, &r->watch,
                             NULL) < 0) {
            m->expired_opening++;
            reader_open(m, r);
        }
    }
}

static void check_end(struct model *m)
{
    for (size_t i = 0; i < MODEL_READERS; i++) {
        struct reader *r = &m->readers[i];

        reader_read(m, r, UINT32_MAX);
        reader_read(m, r, UINT32_MAX); /* when it was opened anew */
        for (int64_t v = r->seen + 1; v <= store_revision(m->fixture->store); v++)
            assert_int_not_equal(m->writes[v].collection, r->collection);
        store_watch_free(r->watch);
    }
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < MODEL_KEYS; k++) {
            char key[32];
            const struct store_item *item;

            snprintf(key, sizeof(key), "%d", k);
            item = store_get(m->collections[c], key);
            assert_int_equal(item ? item->revision : 0, m->newest[c][k]);
        }
}

static void run_model(struct fixture *f, size_t window_events, unsigned seed)
{
    struct model m = {.fixture = f, .seed = seed};

    open_with(f, window_events, 0);
    m.collections[0] = f->pods;
    m.collections[1] = f->jobs;
    m.writes = calloc(MODEL_STEPS * 4, sizeof(*m.writes));
    for (size_t i = 0; i < MODEL_READERS; i++)
        reader_open(&m, &m.readers[i]);
    for (int step = 0; step < MODEL_STEPS; step++) {
        struct reader *r = &m.readers[pick(&m, MODEL_READERS)];

        for (unsigned n = pick(&m, 4); n; n--)
            model_write(&m);
        if (pick(&m, 100) == 0)
            reader_open(&m, r);
        if (pick(&m, 300) == 0)
            model_reopen(&m);
        if (r != m.readers || pick(&m, 16) == 0) /* the first one is slow */
            reader_read(&m, r, pick(&m, 30));
        turn(f);
        while (store_next_revision(f->store) - store_revision(f->store) > MODEL_IN_FLIGHT)
            loop_run_once(f->loop);
    }
    settle_model(&m);
    check_end(&m);
    assert_true(m.events > MODEL_STEPS);
    if (window_events)
        assert_true(m.expired_opening > 3 && m.expired_reading > 3);
    free(m.writes);
}

static void readers_see_no_gap_duplicate_or_reordering(void **state)
{
    run_model(*state, 0, 1);
}

static void readers_of_a_short_window_see_none_or_are_told(void **state)
{
    run_model(*state, 24, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)
        TEST(events_carry_the_state_before_and_after),
        TEST(what_is_old_leaves_the_window),
        TEST(reader_is_told_once_until_it_sees_the_end_again),
        TEST(future_revision_waits),
        TEST(watches_go_on_where_they_were_when_the_store_is_opened_again),
        TEST(history_on_disk_is_bounded),
        TEST(window_is_bounded_by_events),
        TEST(window_is_bounded_by_bytes),
        TEST(event_larger_than_the_window_is_still_told),
        TEST(watches_may_be_freed_when_told),
        TEST(watch_may_outlive_the_store),
        TEST(readers_see_no_gap_duplicate_or_reordering),
        TEST(readers_of_a_short_window_see_none_or_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
