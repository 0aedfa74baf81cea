/* gc_installed_test.c - the garbage collector and kinds that are installed while it runs. */
#include "control/gc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "control/fake_api.h"

/* What the definition below installs. */
static const struct kind widget = {.group = "example.dev",
                                   .version = "v1",
                                   .name = "Widget",
                                   .plural = "widgets",
                                   .singular = "widget",
                                   .namespaced = true,
                                   .custom = true,
                                   .collected = true};
static const struct kind widget_v2 = {.group = "example.dev",
                                      .version = "v2",
                                      .name = "Widget",
                                      .plural = "widgets",
                                      .singular = "widget",
                                      .namespaced = true,
                                      .custom = true,
                                      .collected = true};
static const struct kind *const installed[] = {&widget, &widget_v2, NULL};

struct fixture {
    struct fake_clock clock;
    struct fake_api api;
    struct gc *gc;
    struct trouble trouble;
    struct arena arena;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fake_clock_init(&f->clock);
    fake_api_init(&f->api, &f->clock);
    fake_installed = installed;
    f->trouble.clock = &f->clock.clock;
    log_set_level(LOG_LEVEL_ERROR);
    arena_init(&f->arena, FAKE_LIMIT);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    gc_free(f->gc);
    transport_free(&f->api.transport);
    fake_installed = NULL;
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

static void settle(struct fixture *f)
{
    fake_clock_settle(&f->clock);
}

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS "/apis/example.dev/v1/namespaces/d/widgets"

static const char *definition(struct fixture *f, const char *version)
{
    return arena_printf(
        &f->arena,
        "{\"metadata\":{\"name\":\"widgets.example.dev\",\"uid\":\"ud\"},\"spec\":{\"group\":"
        "\"example.dev\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"singular\":"
        "\"widget\",\"kind\":\"Widget\"},\"versions\":[{\"name\":\"%s\",\"served\":true,"
        "\"storage\":true}]},\"status\":{\"conditions\":[{\"type\":\"Established\",\"status\":"
        "\"True\"}]}}",
        version);
}

static void install(struct fixture *f)
{
    assert_int_equal(fake_api_do(&f->api, "POST", DEFINITIONS, definition(f, "v1")), 201);
}

static void make(struct fixture *f, const char *path, const char *name, const char *uid,
                 const char *owners)
{
    assert_int_equal(fake_api_do(&f->api, "POST", path,
                                 arena_printf(&f->arena,
                                              "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\","
                                              "\"ownerReferences\":[%s]}}",
                                              name, uid, owners)),
                     201);
}

static void make_widget(struct fixture *f, const char *name, const char *uid, const char *owners)
{
    make(f, WIDGETS, name, uid, owners);
}

static void make_map(struct fixture *f, const char *name, const char *uid, const char *owners)
{
    make(f, "/api/v1/namespaces/d/configmaps", name, uid, owners);
}

#define OWNER(name, uid)                                                                           \
    "{\"apiVersion\":\"example.dev/v1\",\"kind\":\"Widget\",\"name\":\"" name "\",\"uid\":\"" uid  \
    "\"}"

static bool map_exists(struct fixture *f, const char *name)
{
    return fake_api_get(&f->api, &f->arena, &kind_config_map, "d", name);
}

static const struct json *find_widget(struct fixture *f, const char *name)
{
    return fake_api_get(&f->api, &f->arena, &widget, "d", name);
}

static void delete_widget(struct fixture *f, const char *policy)
{
    assert_int_equal(fake_api_do(&f->api, "DELETE", WIDGETS "/w",
                                 arena_printf(&f->arena, "{\"propagationPolicy\":\"%s\"}", policy)),
                     200);
    settle(f);
}

static void dependents_of_an_installed_kind_go_with_their_owner(void **state)
{
    struct fixture *f = *state;

    start(f);
    install(f);
    settle(f);
    make_widget(f, "w", "uw", "");
    make_widget(f, "child", "uchild", OWNER("w", "uw"));
    make_map(f, "c", "uc", OWNER("w", "uw"));
    settle(f);
    assert_true(map_exists(f, "c"));
    delete_widget(f, "Background");
    assert_false(map_exists(f, "c"));
    assert_null(find_widget(f, "child"));
}

static void kinds_installed_before_the_start_are_followed(void **state)
{
    struct fixture *f = *state;

    install(f);
    make_widget(f, "w", "uw", "");
    make_map(f, "c", "uc", OWNER("w", "uw"));
    make_map(f, "left", "ul", OWNER("gone", "ugone"));
    start(f);
    assert_true(map_exists(f, "c"));
    assert_false(map_exists(f, "left"));
    delete_widget(f, "Background");
    assert_false(map_exists(f, "c"));
}

static void owner_of_an_unknown_kind_holds_until_the_kind_is_installed(void **state)
{
    struct fixture *f = *state;

    start(f);
    make_map(f, "left", "ul", OWNER("gone", "ugone"));
    fake_clock_advance(&f->clock, 120000);
    assert_true(map_exists(f, "left"));
    install(f);
    settle(f);
    assert_false(map_exists(f, "left"));
}

static void foreground_waits_for_dependents(void **state)
{
    struct fixture *f = *state;

    start(f);
    install(f);
    make_widget(f, "w", "uw", "");
    assert_int_equal(fake_api_do(&f->api, "POST", "/api/v1/namespaces/d/configmaps",
                                 "{\"metadata\":{\"name\":\"c\",\"uid\":\"uc\",\"finalizers\":["
                                 "\"test/hold\"],\"ownerReferences\":[" OWNER("w", "uw") "]}}"),
                     201);
    settle(f);
    delete_widget(f, "Foreground");
    assert_true(map_exists(f, "c"));
    assert_non_null(find_widget(f, "w"));
    assert_int_equal(fake_api_do(&f->api, "PATCH", "/api/v1/namespaces/d/configmaps/c",
                                 "{\"metadata\":{\"finalizers\":null}}"),
                     200);
    settle(f);
    assert_false(map_exists(f, "c"));
    assert_null(find_widget(f, "w"));
}

static void orphans_stay(void **state)
{
    struct fixture *f = *state;

    start(f);
    install(f);
    make_widget(f, "w", "uw", "");
    make_map(f, "c", "uc", OWNER("w", "uw"));
    settle(f);
    delete_widget(f, "Orphan");
    fake_clock_advance(&f->clock, 120000);
    assert_null(find_widget(f, "w"));
    assert_true(map_exists(f, "c"));
    assert_int_equal(json_len(json_at(fake_api_get(&f->api, &f->arena, &kind_config_map, "d", "c"),
                                      "metadata", "ownerReferences")),
                     0);
}

/* Orphaning waits until the kind of every possible dependent was listed. */
static void orphan_of_a_kind_not_yet_listed_stays(void **state)
{
    struct fixture *f = *state;

    start(f);
    make(f, "/api/v1/namespaces/d/services", "s", "us", "");
    settle(f);
    f->api.latency_ms = 1000;
    install(f);
    make_widget(f, "w", "uw",
                "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"name\":\"s\",\"uid\":\"us\"}");
    assert_int_equal(fake_api_do(&f->api, "DELETE", "/api/v1/namespaces/d/services/s",
                                 "{\"propagationPolicy\":\"Orphan\"}"),
                     200);
    fake_clock_advance(&f->clock, 120000);
    assert_non_null(find_widget(f, "w"));
    assert_null(fake_api_get(&f->api, &f->arena, &kind_service, "d", "s"));
}

static void uninstalling_collects_what_the_objects_owned(void **state)
{
    struct fixture *f = *state;

    start(f);
    install(f);
    make_widget(f, "w", "uw", "");
    make_map(f, "c", "uc", OWNER("w", "uw"));
    settle(f);
    assert_int_equal(fake_api_do(&f->api, "DELETE", WIDGETS "/w", NULL), 200);
    assert_int_equal(fake_api_do(&f->api, "DELETE", DEFINITIONS "/widgets.example.dev", NULL), 200);
    settle(f);
    assert_false(map_exists(f, "c"));
    install(f); /* again */
    make_widget(f, "w", "uw2", "");
    make_map(f, "c", "uc2", OWNER("w", "uw2"));
    settle(f);
    delete_widget(f, "Background");
    assert_false(map_exists(f, "c"));
}

static void another_version_is_the_same_objects(void **state)
{
    struct fixture *f = *state;

    start(f);
    install(f);
    make_widget(f, "w", "uw", "");
    make_map(f, "c", "uc", OWNER("w", "uw"));
    settle(f);
    assert_int_equal(fake_api_do(&f->api, "PATCH", DEFINITIONS "/widgets.example.dev",
                                 "{\"spec\":{\"versions\":[{\"name\":\"v2\",\"served\":true,"
                                 "\"storage\":true}]}}"),
                     200);
    fake_clock_advance(&f->clock, 120000);
    assert_true(map_exists(f, "c"));
    assert_int_equal(
        fake_api_do(&f->api, "DELETE", "/apis/example.dev/v2/namespaces/d/widgets/w", NULL), 200);
    settle(f);
    assert_false(map_exists(f, "c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dependents_of_an_installed_kind_go_with_their_owner, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(kinds_installed_before_the_start_are_followed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(owner_of_an_unknown_kind_holds_until_the_kind_is_installed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreground_waits_for_dependents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(orphans_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(orphan_of_a_kind_not_yet_listed_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(uninstalling_collects_what_the_objects_owned, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_version_is_the_same_objects, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
