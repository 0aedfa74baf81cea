/* gc_test.c - what the garbage collector deletes, and above all what it does not. */
#include "control/gc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "control/fake_api.h"

struct fixture {
    struct fake_clock clock;
    struct fake_api api;
    struct gc *gc;
    struct trouble trouble;
    struct arena arena;
    unsigned owner_gets;
    int refuse_deletes;
};

static int watch_calls(void *arg, const char *method, const char *path)
{
    struct fixture *f = arg;

    if (strcmp(method, "GET") == 0 && strstr(path, "/services/"))
        f->owner_gets++;
    return strcmp(method, "DELETE") == 0 ? f->refuse_deletes : 0;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fake_clock_init(&f->clock);
    fake_api_init(&f->api, &f->clock);
    f->trouble.clock = &f->clock.clock;
    log_set_level(LOG_LEVEL_ERROR);
    f->api.refuse = watch_calls;
    f->api.refuse_arg = f;
    arena_init(&f->arena, FAKE_LIMIT);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    gc_free(f->gc);
    transport_free(&f->api.transport);
    assert_null(f->clock.timers);
    arena_release(&f->arena);
    free(f);
    return 0;
}

static void start(struct fixture *f)
{
    f->gc = gc_new(&f->api.transport, &f->clock.clock, &f->trouble);
    assert_non_null(f->gc);
    fake_clock_settle(&f->clock);
}

/* Services stand for owners, config maps for what is owned. */
static void make(struct fixture *f, const char *plural, const char *ns, const char *name,
                 const char *uid, const char *owners)
{
    const char *path = arena_printf(&f->arena, "/api/v1/namespaces/%s/%s", ns, plural);
    const char *body = arena_printf(
        &f->arena, "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"ownerReferences\":[%s]}}", name,
        uid, owners);

    assert_int_equal(fake_api_do(&f->api, "POST", path, body), 201);
}

#define OWNER(name, uid)                                                                           \
    "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"name\":\"" name "\",\"uid\":\"" uid "\"}"

static bool exists(struct fixture *f, const char *name)
{
    return fake_api_get(&f->api, &f->arena, &kind_config_map, "d", name);
}

/* The owner came and went while the watch of its kind said nothing. */
static void dependent_of_an_owner_the_watch_never_told_of_is_collected(void **state)
{
    struct fixture *f = *state;

    start(f);
    f->api.held_kind = &kind_service;
    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "c", "uc", OWNER("o", "uo"));
    fake_clock_settle(&f->clock);
    assert_true(exists(f, "c"));
    assert_int_equal(fake_api_do(&f->api, "DELETE", "/api/v1/namespaces/d/services/o", NULL), 200);
    fake_clock_advance(&f->clock, 120000);
    assert_false(exists(f, "c"));
}

static const struct json *owner(struct fixture *f)
{
    return fake_api_get(&f->api, &f->arena, &kind_service, "d", "o");
}

static void delete_owner(struct fixture *f, const char *policy)
{
    assert_int_equal(fake_api_do(&f->api, "DELETE", "/api/v1/namespaces/d/services/o",
                                 arena_printf(&f->arena, "{\"propagationPolicy\":\"%s\"}", policy)),
                     200);
    fake_clock_settle(&f->clock);
}

static void dependents_go_with_their_owner(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    make(f, "configmaps", "d", "free", "uf", "");
    start(f);
    make(f, "configmaps", "d", "b", "ub", OWNER("o", "uo"));
    fake_clock_settle(&f->clock);
    assert_true(exists(f, "a") && exists(f, "b"));
    delete_owner(f, "Background");
    assert_false(exists(f, "a") || exists(f, "b"));
    assert_true(exists(f, "free"));
}

static void owner_that_holds_costs_no_calls(void **state)
{
    struct fixture *f = *state;
    unsigned calls;

    make(f, "services", "d", "o", "uo", "");
    start(f);
    calls = f->api.calls_made;
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    fake_clock_settle(&f->clock);
    assert_int_equal(f->api.calls_made, calls);
}

static void grandchildren_go_too(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    make(f, "configmaps", "d", "b", "ub",
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\",\"uid\":\"ua\"}");
    start(f);
    delete_owner(f, "Background");
    assert_false(exists(f, "a") || exists(f, "b"));
}

/* The other is no longer referred to. */
static void one_owner_left_is_enough(void **state)
{
    struct fixture *f = *state;
    const struct json *a;

    make(f, "services", "d", "o", "uo", "");
    make(f, "services", "d", "p", "up", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo") "," OWNER("p", "up"));
    start(f);
    delete_owner(f, "Background");
    a = fake_api_get(&f->api, &f->arena, &kind_config_map, "d", "a");
    assert_non_null(a);
    assert_int_equal(json_len(json_at(a, "metadata", "ownerReferences")), 1);
    assert_int_equal(fake_api_do(&f->api, "DELETE", "/api/v1/namespaces/d/services/p", NULL), 200);
    fake_clock_settle(&f->clock);
    assert_false(exists(f, "a"));
}

static void what_was_left_from_before_is_found_by_asking(void **state)
{
    struct fixture *f = *state;

    make(f, "configmaps", "d", "a", "ua", OWNER("long-gone", "ug"));
    make(f, "services", "d", "o", "another-uid", "");
    make(f, "configmaps", "d", "b", "ub", OWNER("o", "uo")); /* its owner was made anew */
    start(f);
    assert_false(exists(f, "a") || exists(f, "b"));
    assert_int_equal(f->owner_gets, 2);
    assert_non_null(owner(f));
}

static void owner_not_yet_seen_is_asked_for(void **state)
{
    struct fixture *f = *state;

    start(f);
    f->api.hold_watches = true;
    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    /* Only the dependents' watch goes on: another resource's may lag behind it. */
    for (struct api_stream *s = f->api.streams; s; s = s->next)
        if (s->kind == &kind_service)
            s->revision = f->api.revision;
    fake_api_release_watches(&f->api);
    fake_clock_settle(&f->clock);
    assert_int_equal(f->owner_gets, 1);
    assert_true(exists(f, "a"));
}

static void owner_of_an_unknown_kind_holds(void **state)
{
    struct fixture *f = *state;

    make(f, "configmaps", "d", "a", "ua",
         "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"name\":\"t\",\"uid\":\"ut\"}");
    start(f);
    assert_true(exists(f, "a"));
}

static void owner_in_another_namespace_does_not_count(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "elsewhere", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    start(f);
    assert_false(exists(f, "a"));
}

/* Who may write elsewhere could keep what is not his from going. */
static void dependents_elsewhere_hold_no_owner(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "elsewhere", "a", "ua", OWNER("o", "uo"));
    f->refuse_deletes = 503;
    start(f);
    delete_owner(f, "Foreground");
    assert_null(owner(f));
}

/* Nor take from others what is theirs: that an owner is not where one says it is means nothing. */
static void a_false_reference_makes_no_owner_gone(void **state)
{
    struct fixture *f = *state;

    start(f);
    f->api.held_kind = &kind_service;
    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    make(f, "configmaps", "elsewhere", "b", "ub", OWNER("o", "uo"));
    make(f, "configmaps", "d", "c", "uc", OWNER("another-name", "uo"));
    fake_clock_settle(&f->clock);
    fake_clock_advance(&f->clock, 120000);
    assert_true(exists(f, "a"));
    assert_false(exists(f, "c"));
    assert_null(fake_api_get(&f->api, &f->arena, &kind_config_map, "elsewhere", "b"));
}

static void object_freed_meanwhile_is_not_deleted(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    start(f);
    /* The owner's end is seen, the dependent's new owners are not yet. */
    f->api.hold_watches = true;
    assert_int_equal(fake_api_do(&f->api, "PATCH", "/api/v1/namespaces/d/configmaps/a",
                                 "{\"metadata\":{\"ownerReferences\":null}}"),
                     200);
    for (struct api_stream *s = f->api.streams; s; s = s->next)
        if (s->kind == &kind_config_map)
            s->revision = f->api.revision;
    fake_api_release_watches(&f->api);
    delete_owner(f, "Background");
    assert_true(exists(f, "a"));
}

static void foreground_owner_goes_last(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    start(f);
    f->refuse_deletes = 503;
    delete_owner(f, "Foreground");
    assert_non_null(owner(f));
    assert_true(object_is_deleting(owner(f)));
    fake_clock_advance(&f->clock, 1000);
    assert_non_null(owner(f)); /* its dependent is still there */
    f->refuse_deletes = 0;
    fake_clock_advance(&f->clock, 60000);
    assert_false(exists(f, "a"));
    assert_null(owner(f));
}

static void foreground_owner_does_not_wait_for_what_stays(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "services", "d", "p", "up", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo") "," OWNER("p", "up"));
    start(f);
    delete_owner(f, "Foreground");
    assert_null(owner(f));
    assert_true(exists(f, "a"));
}

static void orphans_stay_without_owner(void **state)
{
    struct fixture *f = *state;
    const struct json *a;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    make(f, "configmaps", "d", "b", "ub", OWNER("o", "uo") "," OWNER("p", "up"));
    make(f, "services", "d", "p", "up", "");
    start(f);
    delete_owner(f, "Orphan");
    fake_clock_advance(&f->clock, 60000);
    assert_null(owner(f));
    a = fake_api_get(&f->api, &f->arena, &kind_config_map, "d", "a");
    assert_non_null(a);
    assert_int_equal(json_len(json_at(a, "metadata", "ownerReferences")), 0);
    a = fake_api_get(&f->api, &f->arena, &kind_config_map, "d", "b");
    assert_int_equal(json_len(json_at(a, "metadata", "ownerReferences")), 1);
}

static void refused_deletion_is_tried_again(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    start(f);
    assert_int_equal(fake_api_do(&f->api, "DELETE", "/api/v1/namespaces/d/services/o", NULL), 200);
    f->refuse_deletes = 500;
    fake_clock_advance(&f->clock, 1000);
    assert_true(exists(f, "a"));
    f->refuse_deletes = 0;
    fake_clock_advance(&f->clock, 60000);
    assert_false(exists(f, "a"));
}

static void owner_that_went_while_the_watch_was_broken(void **state)
{
    struct fixture *f = *state;

    make(f, "services", "d", "o", "uo", "");
    make(f, "configmaps", "d", "a", "ua", OWNER("o", "uo"));
    start(f);
    f->api.hold_watches = true;
    assert_int_equal(fake_api_do(&f->api, "DELETE", "/api/v1/namespaces/d/services/o", NULL), 200);
    fake_api_end_watches(&f->api, 0);
    fake_api_release_watches(&f->api);
    fake_clock_advance(&f->clock, 5000);
    assert_false(exists(f, "a"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(dependent_of_an_owner_the_watch_never_told_of_is_collected),
        TEST(dependents_go_with_their_owner),
        TEST(owner_that_holds_costs_no_calls),
        TEST(grandchildren_go_too),
        TEST(one_owner_left_is_enough),
        TEST(what_was_left_from_before_is_found_by_asking),
        TEST(owner_not_yet_seen_is_asked_for),
        TEST(owner_of_an_unknown_kind_holds),
        TEST(owner_in_another_namespace_does_not_count),
        TEST(dependents_elsewhere_hold_no_owner),
        TEST(a_false_reference_makes_no_owner_gone),
        TEST(object_freed_meanwhile_is_not_deleted),
        TEST(foreground_owner_goes_last),
        TEST(foreground_owner_does_not_wait_for_what_stays),
        TEST(orphans_stay_without_owner),
        TEST(refused_deletion_is_tried_again),
        TEST(owner_that_went_while_the_watch_was_broken),
    };

    return cmocka_run_group_tests_name("control/gc", tests, NULL, NULL);
}
