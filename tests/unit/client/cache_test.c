/* cache_test.c - the cache against a server that the test plays, good and bad. */
#include "client/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/object.h"
#include "api/protobuf.h"
#include "base/shrink.h"
#include "fake_clock.h"
#include "script_transport.h"

struct fixture {
    struct fake_clock clock;
    struct script_transport script;
    struct cache *cache;
    char told[8192]; /* "+a@1 *a@2 -a " in the order it was told */
    unsigned synced, troubles;
};

static void on_change(void *arg, enum cache_event event, const struct json *object,
                      const struct json *old)
{
    struct fixture *f = arg;
    size_t len = strlen(f->told);

    assert_true((event == CACHE_CHANGED) == (old != NULL));
    assert_true(len < sizeof(f->told) - 100);
    (void)snprintf(f->told + len, sizeof(f->told) - len, "%c%s@%s ", "+*-"[event],
                   object_name(object), object_resource_version(object));
}

static void on_synced(void *arg)
{
    struct fixture *f = arg;

    f->synced++;
}

static void on_trouble(void *arg, const struct err *err)
{
    struct fixture *f = arg;

    assert_true(err_is_set(err));
    f->troubles++;
}

static bool has_ended(void *arg, const struct json *head)
{
    (void)arg;
    return object_rests(head);
}

static void set_up_with(struct fixture *f, size_t ready_objects)
{
    memset(f, 0, sizeof(*f));
    fake_clock_init(&f->clock);
    script_transport_init(&f->script);
    f->cache = cache_new(&(struct cache_options){.transport = &f->script.transport,
                                                 .clock = &f->clock.clock,
                                                 .kind = &kind_pod,
                                                 .ready_objects = ready_objects,
                                                 .rests = has_ended,
                                                 .on_change = on_change,
                                                 .on_synced = on_synced,
                                                 .on_trouble = on_trouble,
                                                 .arg = f});
    assert_non_null(f->cache);
    assert_int_equal(f->script.calls_made, 0);
    fake_clock_settle(&f->clock);
}

static void set_up(struct fixture *f)
{
    set_up_with(f, 0);
}

static void tear_down(struct fixture *f)
{
    cache_free(f->cache);
    assert_null(f->clock.timers);
    transport_free(&f->script.transport);
}

#define POD(name, uid, rv)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\",\"uid\":\"" uid                      \
    "\",\"resourceVersion\":\"" rv "\",\"managedFields\":[{}]}}"
#define OWNED_POD(name, uid, rv, owner)                                                            \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\",\"uid\":\"" uid                      \
    "\",\"resourceVersion\":\"" rv "\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"      \
    "\"X\",\"name\":\"x\",\"uid\":\"" owner "\",\"controller\":true}]}}"
#define LIST(rv, items)                                                                            \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" rv "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(rv)                                                                               \
    EVENT("BOOKMARK", "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" rv "\"}}")
#define EXPIRED                                                                                    \
    EVENT("ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\","           \
                   "\"code\":410,\"message\":\"too old resource version\"}")

static void list_and_watch(struct fixture *f, const char *list)
{
    assert_non_null(f->script.calls);
    script_answer(&f->script, 200, list);
    fake_clock_settle(&f->clock);
    assert_non_null(f->script.streams);
}

/* A watch from 0 would tell what is there first, in the order of names: the second one would look
 * old. */
static void empty_server_is_listed_again_and_not_watched_from_0(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    script_answer(&f.script, 200, LIST("0", ""));
    fake_clock_settle(&f.clock);
    assert_int_equal(f.synced, 1);
    assert_null(f.script.streams);
    fake_clock_advance(&f.clock, 1000);
    list_and_watch(&f, LIST("5", POD("a", "ua", "5") "," POD("b", "ub", "4")));
    assert_string_equal(f.told, "+a@5 +b@4 ");
    assert_int_equal(f.troubles, 0);
    tear_down(&f);
}

static void lists_then_watches_from_the_lists_revision(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    assert_string_equal(f.script.calls->method, "GET");
    assert_string_equal(f.script.calls->path, "/api/v1/pods?limit=500");
    list_and_watch(&f, LIST("7", POD("a", "ua", "3") "," POD("b", "ub", "5")));
    assert_string_equal(f.told, "+a@3 +b@5 ");
    assert_int_equal(f.synced, 1);
    assert_int_equal(cache_count(f.cache), 2);
    assert_int_equal(cache_revision(f.cache), 7);
    assert_non_null(strstr(f.script.streams->path, "/api/v1/pods?watch=true"));
    assert_non_null(strstr(f.script.streams->path, "allowWatchBookmarks=true"));
    assert_non_null(strstr(f.script.streams->path, "resourceVersion=7&"));
    assert_non_null(strstr(f.script.streams->path, "timeoutSeconds="));
    tear_down(&f);
}

static void cached_objects_know_their_kind_and_not_who_managed_them(void **state)
{
    struct fixture f;
    const struct json *pod;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
    pod = cache_get(f.cache, "d", "a");
    assert_non_null(pod);
    assert_string_equal(json_get_string(pod, "kind", ""), "Pod");
    assert_string_equal(json_get_string(pod, "apiVersion", ""), "v1");
    assert_null(json_at(pod, "metadata", "managedFields"));
    assert_null(cache_get(f.cache, "d", "zz"));
    assert_null(cache_get(f.cache, "e", "a"));
    tear_down(&f);
}

static void pages_are_followed(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    script_answer(&f.script, 200,
                  "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"a/b=\"},\"items\":[" POD(
                      "a", "ua", "3") "]}");
    fake_clock_settle(&f.clock);
    assert_int_equal(f.synced, 0);
    assert_string_equal(f.script.calls->path, "/api/v1/pods?limit=500&continue=a%2Fb%3D");
    list_and_watch(&f, LIST("7", POD("b", "ub", "5")));
    assert_string_equal(f.told, "+a@3 +b@5 ");
    assert_int_equal(f.synced, 1);
    tear_down(&f);
}

static void page_that_expired_starts_the_list_anew(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    script_answer(&f.script, 200,
                  "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"t\"},\"items\":[" POD(
                      "gone", "ug", "3") "]}");
    fake_clock_settle(&f.clock);
    script_answer(&f.script, 410,
                  "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410,\"message\":\"x\"}");
    fake_clock_advance(&f.clock, 1000);
    assert_string_equal(f.script.calls->path, "/api/v1/pods?limit=500");
    list_and_watch(&f, LIST("9", POD("b", "ub", "5")));
    assert_string_equal(f.told, "+gone@3 +b@5 -gone@3 ");
    tear_down(&f);
}

static void events_change_the_cache(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", ""));
    script_send(&f.script,
                EVENT("ADDED", POD("a", "ua", "8")) EVENT("MODIFIED", POD("a", "ua", "9")));
    script_send(&f.script, EVENT("ADDED", POD("b", "ub", "10")));
    script_send(&f.script, EVENT("DELETED", POD("a", "ua", "11")));
    assert_string_equal(f.told, "+a@8 *a@9 +b@10 -a@9 ");
    assert_int_equal(cache_count(f.cache), 1);
    assert_int_equal(cache_revision(f.cache), 11);
    tear_down(&f);
}

static void added_for_a_known_object_is_a_change(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
    script_send(&f.script, EVENT("ADDED", POD("a", "ua", "8")));
    assert_string_equal(f.told, "+a@3 *a@8 ");
    tear_down(&f);
}

static void same_name_with_another_uid_is_another_object(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
    script_send(&f.script, EVENT("ADDED", POD("a", "uother", "9"))); /* its DELETED was lost */
    assert_string_equal(f.told, "+a@3 -a@3 +a@9 ");
    assert_string_equal(object_uid(cache_get(f.cache, "d", "a")), "uother");
    tear_down(&f);
}

static void lines_may_be_cut_anywhere(void **state)
{
    static const char text[] = EVENT("ADDED", POD("a", "ua", "8")) "\n" EVENT(
        "MODIFIED", POD("a", "ua", "9")) EVENT("DELETED", POD("a", "ua", "10"));

    (void)state;
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        struct fixture f;

        set_up(&f);
        list_and_watch(&f, LIST("7", ""));
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t len = min_size(piece, sizeof(text) - 1 - at);

            f.script.streams->handler.on_data(f.script.streams->handler.arg, text + at, len);
        }
        assert_string_equal(f.told, "+a@8 *a@9 -a@9 ");
        tear_down(&f);
    }
}

static void say_in_protobuf(struct fixture *f, const char *type, const struct kind *k,
                            const char *object, size_t piece)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct buf frame = BUF_INIT(1u << 20);

    protobuf_write_event(&frame, &a, type, k, json_parse(&a, object, strlen(object), NULL));
    for (size_t at = 0; at < frame.len; at += piece)
        f->script.streams->handler.on_data(f->script.streams->handler.arg, frame.data + at,
                                           min_size(piece, frame.len - at));
    buf_release(&frame);
    arena_release(&a);
}

static void a_watch_may_be_in_protobuf(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    f.script.transport.protobuf = true;
    list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
    assert_string_equal(f.script.streams->handler.accept, PROTOBUF_TYPE ";stream=watch");
    say_in_protobuf(&f, "ADDED", &kind_pod, POD("b", "ub", "8"), SIZE_MAX);
    say_in_protobuf(&f, "MODIFIED", &kind_pod, POD("a", "ua", "9"), 1);
    say_in_protobuf(&f, "DELETED", &kind_pod, POD("b", "ub", "10"), 3);
    say_in_protobuf(&f, "BOOKMARK", &kind_pod, "{\"metadata\":{\"resourceVersion\":\"20\"}}", 5);
    assert_string_equal(f.told, "+a@3 +b@8 *a@9 -b@8 ");
    assert_int_equal(cache_revision(f.cache), 20);
    assert_int_equal(f.troubles, 0);
    say_in_protobuf(&f, "ERROR", &kind_status, "{\"code\":410,\"message\":\"too old\"}", 7);
    assert_int_equal(f.troubles, 1);
    fake_clock_advance(&f.clock, 1000);
    list_and_watch(&f, LIST("21", ""));
    f.script.streams->handler.on_data(f.script.streams->handler.arg, "\0\0\0\3{}\n", 7);
    assert_int_equal(f.troubles, 2);
    fake_clock_advance(&f.clock, 1000);
    list_and_watch(&f, LIST("22", ""));
    script_send(&f.script, EXPIRED); /* read as a length, it would be waited for in vain */
    assert_int_equal(f.troubles, 3);
    tear_down(&f);
}

static void old_and_repeated_events_are_not_told(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", POD("a", "ua", "6")));
    script_send(&f.script, EVENT("MODIFIED", POD("a", "ua", "9")));
    script_send(&f.script, EVENT("MODIFIED", POD("a", "ua", "8")));
    script_send(&f.script, EVENT("MODIFIED", POD("a", "ua", "9")));
    script_send(&f.script, EVENT("DELETED", POD("a", "ua", "5")));
    assert_string_equal(f.told, "+a@6 *a@9 ");
    assert_string_equal(object_resource_version(cache_get(f.cache, "d", "a")), "9");
    tear_down(&f);
}

static void watch_closed_in_good_order_goes_on_from_the_bookmark(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
    script_send(&f.script, BOOKMARK("40"));
    script_end(&f.script, 200, "");
    fake_clock_settle(&f.clock);
    assert_int_equal(f.script.calls_made, 1); /* no second list */
    assert_non_null(f.script.streams);
    assert_non_null(strstr(f.script.streams->path, "resourceVersion=40&"));
    assert_string_equal(f.told, "+a@3 ");
    assert_int_equal(f.troubles, 0);
    tear_down(&f);
}

static void half_a_line_at_the_end_is_not_half_an_event(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", ""));
    script_send(&f.script, EVENT("ADDED", POD("a", "ua", "8")) "{\"type\":\"ADDED\",\"obj");
    script_end(&f.script, 200, "");
    fake_clock_settle(&f.clock);
    assert_non_null(strstr(f.script.streams->path, "resourceVersion=8&"));
    script_send(&f.script, EVENT("ADDED", POD("b", "ub", "9")));
    assert_string_equal(f.told, "+a@8 +b@9 ");
    tear_down(&f);
}

static void server_that_hangs_up_at_once_is_not_asked_at_once(void **state)
{
    struct fixture f;
    unsigned opened;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", ""));
    for (int i = 0; i < 6; i++) {
        script_end(&f.script, 200, "");
        fake_clock_settle(&f.clock);
        assert_null(f.script.streams);
        fake_clock_advance(&f.clock, 20000);
        assert_non_null(f.script.streams);
        f.clock.now_ms -= 20000; /* as if no time had passed since it was opened */
    }
    opened = f.script.streams_opened;
    script_end(&f.script, 200, "");
    fake_clock_advance(&f.clock, 3000);
    assert_int_equal(f.script.streams_opened, opened); /* by now it waits longer */
    tear_down(&f);
}

static void relist_tells_what_vanished_and_what_changed(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f,
                   LIST("7", POD("a", "ua", "3") "," POD("b", "ub", "4") "," POD("c", "uc", "5")));
    f.told[0] = '\0';
    script_send(&f.script, EXPIRED);
    script_send(&f.script, EVENT("ADDED", POD("zz", "uz", "99"))); /* nothing counts after it */
    assert_string_equal(f.told, "");
    fake_clock_advance(&f.clock, 1000);
    assert_int_equal(f.script.streams_closed, 1);
    assert_string_equal(f.script.calls->path, "/api/v1/pods?limit=500");
    list_and_watch(
        &f, LIST("100", POD("a", "ua", "3") "," POD("c", "uc", "60") "," POD("d", "ud", "61")));
    assert_string_equal(f.told, "*c@60 +d@61 -b@4 ");
    assert_int_equal(f.synced, 1);
    assert_non_null(strstr(f.script.streams->path, "resourceVersion=100&"));
    tear_down(&f);
}

static void refused_and_broken_watches_list_again_later(void **state)
{
    static const struct {
        int status;
        const char *body;
    } ends[] = {{0, "connection reset"}, {410, "{}"}, {500, "x"}, {504, ""}, {401, "{}"}};

    (void)state;
    for (size_t i = 0; i < ELEMS(ends); i++) {
        struct fixture f;

        set_up(&f);
        list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
        script_end(&f.script, ends[i].status, ends[i].body);
        fake_clock_settle(&f.clock);
        assert_null(f.script.calls); /* not at once */
        assert_int_equal(f.troubles, 1);
        fake_clock_advance(&f.clock, 1000);
        assert_non_null(f.script.calls);
        assert_string_equal(f.script.calls->path, "/api/v1/pods?limit=500");
        tear_down(&f);
    }
}

static void failing_lists_come_later_and_later(void **state)
{
    struct fixture f;
    int64_t gaps[8];

    (void)state;
    set_up(&f);
    for (size_t i = 0; i < ELEMS(gaps); i++) {
        int64_t since = f.clock.now_ms;

        script_answer(&f.script, 0, "connection refused");
        while (!f.script.calls)
            fake_clock_advance(&f.clock, 10);
        gaps[i] = f.clock.now_ms - since;
    }
    assert_in_range(gaps[0], 100, 310);
    assert_in_range(gaps[7], 5000, 15010);
    assert_int_equal(f.synced, 0);
    list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
    assert_int_equal(f.synced, 1);
    tear_down(&f);
}

static void line_that_is_not_an_event_lists_again(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", ""));
    script_send(&f.script, "<html>502</html>\n");
    fake_clock_advance(&f.clock, 1000);
    assert_int_equal(f.script.streams_closed, 1);
    assert_non_null(f.script.calls);
    tear_down(&f);
}

static void line_over_the_ceiling_lists_again(void **state)
{
    struct fixture f;
    static char piece[1024 * 1024 + 1];

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", ""));
    memset(piece, 'x', sizeof(piece) - 1);
    for (int i = 0; i < 20; i++)
        script_send(&f.script, piece);
    fake_clock_advance(&f.clock, 1000);
    assert_int_equal(f.script.streams_closed, 1);
    assert_non_null(f.script.calls);
    tear_down(&f);
}

static void silent_watch_is_given_up(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", ""));
    fake_clock_advance(&f.clock, 299 * 1000);
    assert_null(f.script.calls);
    fake_clock_advance(&f.clock, 400 * 1000);
    assert_int_equal(f.script.streams_closed, 1);
    assert_non_null(f.script.calls);
    tear_down(&f);
}

static void got_object_lives_until_the_next_turn(void **state)
{
    struct fixture f;
    const struct json *pod;

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", POD("a", "ua", "3")));
    pod = cache_get(f.cache, "d", "a");
    script_send(&f.script, EVENT("MODIFIED", POD("a", "ua", "8")));
    assert_string_equal(object_resource_version(pod), "3"); /* the sanitizer would say otherwise */
    fake_clock_settle(&f.clock);
    assert_string_equal(object_resource_version(cache_get(f.cache, "d", "a")), "8");
    tear_down(&f);
}

static bool collect(void *arg, const struct json *object)
{
    char *names = arg;

    strcat(names, object_name(object));
    return true;
}

static void objects_are_found_by_their_controller(void **state)
{
    struct fixture f;
    char names[64] = "";

    (void)state;
    set_up(&f);
    list_and_watch(&f, LIST("7", OWNED_POD("b", "ub", "1", "o1") "," OWNED_POD(
                                     "a", "ua", "2", "o1") "," OWNED_POD("c", "uc", "3", "o10")));
    cache_each_of_controller(f.cache, "o1", collect, names);
    assert_string_equal(names, "ab");
    script_send(&f.script, EVENT("MODIFIED", OWNED_POD("a", "ua", "8", "o2"))); /* adopted */
    script_send(&f.script, EVENT("DELETED", OWNED_POD("c", "uc", "9", "o10")));
    names[0] = '\0';
    cache_each_of_controller(f.cache, "o1", collect, names);
    assert_string_equal(names, "b");
    names[0] = '\0';
    cache_each_of_controller(f.cache, "o2", collect, names);
    cache_each_of_controller(f.cache, "o10", collect, names);
    assert_string_equal(names, "a");
    names[0] = '\0';
    cache_each(f.cache, collect, names);
    assert_string_equal(names, "ab");
    tear_down(&f);
}

struct seen {
    const struct cache *cache;
    const struct json *last;
    unsigned count;
};

static bool see_whole(void *arg, const struct json *pod)
{
    struct seen *s = arg;

    assert_string_equal(object_namespace(pod), "d");
    assert_string_equal(json_get_string(object_controller(pod), "uid", ""), "o1");
    assert_true(json_string_is(json_get(pod, "kind"), "Pod"));
    if (s->cache)
        s->last = cache_get(s->cache, "d", object_name(pod));
    s->count++;
    return true;
}

/* One of three stays parsed; readers still see all of them, complete. */
static void objects_that_are_not_ready_are_read_all_the_same(void **state)
{
    struct fixture f;
    struct seen s = {.cache = NULL};
    const struct json *b;

    (void)state;
    set_up_with(&f, 1);
    list_and_watch(&f, LIST("5", OWNED_POD("a", "ua", "3", "o1") "," OWNED_POD(
                                     "b", "ub", "4", "o1") "," OWNED_POD("c", "uc", "5", "o1")));
    assert_int_equal(cache_count(f.cache), 3);
    for (int round = 0; round < 3; round++) {
        b = cache_get(f.cache, "d", "b");
        assert_string_equal(object_uid(b), "ub");
        assert_string_equal(object_uid(cache_get(f.cache, "d", "a")), "ua");
        assert_string_equal(object_uid(cache_get(f.cache, "d", "c")), "uc");
        assert_string_equal(object_uid(b), "ub"); /* until the next turn */
        fake_clock_settle(&f.clock);
    }
    cache_each(f.cache, see_whole, &s);
    assert_int_equal(s.count, 3);
    s.cache = f.cache;
    cache_each(f.cache, see_whole, &s);
    assert_string_equal(object_name(s.last), "c"); /* asked for, it outlives the walk */
    fake_clock_settle(&f.clock);
    cache_each_of_controller(f.cache, "o1", see_whole, &s);
    assert_int_equal(s.count, 9);
    assert_string_equal(object_name(s.last), "c");
    fake_clock_settle(&f.clock);
    tear_down(&f);
}

static void objects_that_are_not_ready_change_and_go(void **state)
{
    struct fixture f;

    (void)state;
    set_up_with(&f, 1);
    list_and_watch(&f, LIST("5", OWNED_POD("a", "ua", "3", "o1") "," OWNED_POD(
                                     "b", "ub", "4", "o1") "," OWNED_POD("c", "uc", "5", "o1")));
    script_send(&f.script, EVENT("MODIFIED", OWNED_POD("a", "ua", "6", "o2")));
    script_send(&f.script, EVENT("DELETED", OWNED_POD("b", "ub", "7", "o1")));
    fake_clock_settle(&f.clock);
    assert_string_equal(f.told, "+a@3 +b@4 +c@5 *a@6 -b@4 ");
    assert_null(cache_get(f.cache, "d", "b"));
    assert_string_equal(object_resource_version(cache_get(f.cache, "d", "a")), "6");
    fake_clock_settle(&f.clock);
    script_send(&f.script, EXPIRED);
    fake_clock_advance(&f.clock, 1000);
    list_and_watch(&f,
                   LIST("9", OWNED_POD("a", "ua", "6", "o2") "," OWNED_POD("d", "ud", "9", "o1")));
    assert_string_equal(f.told, "+a@3 +b@4 +c@5 *a@6 -b@4 +d@9 -c@5 ");
    tear_down(&f);
}

#define ENDED(name, uid, rv, more)                                                                 \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\",\"uid\":\"" uid                      \
    "\",\"resourceVersion\":\"" rv "\",\"managedFields\":[{}]" more                                \
    "},\"spec\":{\"x\":[1]},\"status\":{\"phase\":\"Failed\"}}"
#define OWNED                                                                                      \
    ",\"ownerReferences\":[{\"kind\":\"X\",\"name\":\"x\",\"uid\":\"o\",\"controller\":true}]"

static bool count_one(void *arg, const struct json *object)
{
    size_t *count = arg;

    assert_non_null(object);
    (*count)++;
    return true;
}

static void what_has_ended_rests_until_it_is_woken(void **state)
{
    size_t count = 0;
    struct fixture f;

    (void)state;
    set_up_with(&f, 1);
    list_and_watch(
        &f, LIST("9", ENDED("a", "ua", "3", OWNED) "," ENDED("b", "ub", "4", "") "," POD(
                          "c", "uc", "5") "," ENDED("d", "ud", "6", ",\"finalizers\":[\"x\"]")));
    assert_string_equal(f.told, "+c@5 +d@6 ");
    assert_int_equal(cache_count(f.cache), 4);
    cache_each_awake(f.cache, count_one, &count);
    assert_int_equal(count, 2);
    cache_each(f.cache, count_one, &count);
    cache_each_of_controller(f.cache, "o", count_one, &count);
    assert_int_equal(count, 2 + 4 + 1);
    assert_string_equal(json_get_string(cache_get(f.cache, "d", "a"), "kind", ""), "Pod");
    assert_null(json_at(cache_get(f.cache, "d", "a"), "metadata", "managedFields"));
    assert_int_equal(json_len(json_at(cache_get(f.cache, "d", "a"), "spec", "x")), 1);
    assert_true(cache_wake(f.cache, 1));
    assert_string_equal(f.told, "+c@5 +d@6 +a@3 ");
    assert_false(cache_wake(f.cache, 5));
    assert_string_equal(f.told, "+c@5 +d@6 +a@3 +b@4 ");
    assert_false(cache_wake(f.cache, 5));
    tear_down(&f);
}

static void what_rests_changes_and_goes_like_the_others(void **state)
{
    struct fixture f;

    (void)state;
    set_up_with(&f, 1);
    list_and_watch(&f, LIST("5", ENDED("a", "ua", "3", "") "," ENDED("b", "ub", "4", "") "," ENDED(
                                     "c", "uc", "5", "") "," ENDED("e", "ue", "5", "")));
    script_send(&f.script, EVENT("MODIFIED", ENDED("a", "ua", "6", "")));
    script_send(&f.script, EVENT("DELETED", ENDED("b", "ub", "7", "")));
    assert_string_equal(f.told, "*a@6 -b@4 ");
    script_send(&f.script, EXPIRED);
    fake_clock_advance(&f.clock, 1000);
    list_and_watch(&f, LIST("9", ENDED("a", "ua", "6", "") "," ENDED("c", "uc2", "9", "") "," ENDED(
                                     "d", "ud", "8", "")));
    assert_string_equal(f.told, "*a@6 -b@4 -c@5 +c@9 -e@5 ");
    assert_false(cache_wake(f.cache, 9));
    assert_string_equal(f.told, "*a@6 -b@4 -c@5 +c@9 -e@5 +d@8 ");
    tear_down(&f);
}

/* Another part of the process that follows the same objects keeps no second copy of them. */
static void caches_of_the_same_objects_share_their_texts(void **state)
{
    size_t before = shrunk_count();
    struct fixture f, g;

    (void)state;
    set_up_with(&f, 1);
    set_up_with(&g, 1);
    list_and_watch(&f,
                   LIST("7", POD("a", "ua", "3") "," POD("b", "ub", "5") "," POD("c", "uc", "6")));
    list_and_watch(&g,
                   LIST("7", POD("a", "ua", "3") "," POD("b", "ub", "5") "," POD("c", "uc", "6")));
    fake_clock_settle(&f.clock);
    fake_clock_settle(&g.clock);
    assert_int_equal(shrunk_count() - before, 2); /* the third is ready in both */
    assert_string_equal(object_name(cache_get(g.cache, "d", "a")), "a");
    tear_down(&f);
    assert_string_equal(object_uid(cache_get(g.cache, "d", "b")), "ub");
    tear_down(&g);
    assert_int_equal(shrunk_count(), before);
}

/* Nobody asks for the objects of what runs for days without a change. */
static void objects_that_nobody_asks_for_do_not_stay_ready(void **state)
{
    size_t before = shrunk_count();
    struct fixture f;

    (void)state;
    set_up_with(&f, 3);
    list_and_watch(&f, LIST("7", POD("a", "ua", "3") "," POD("b", "ub", "5")));
    fake_clock_settle(&f.clock);
    assert_int_equal(shrunk_count(), before);
    for (int minute = 0; minute < 3; minute++) {
        assert_string_equal(object_uid(cache_get(f.cache, "d", "a")), "ua");
        fake_clock_advance(&f.clock, 60 * 1000);
        assert_int_equal(shrunk_count() - before, 1); /* b */
    }
    assert_string_equal(object_uid(cache_get(f.cache, "d", "b")), "ub");
    fake_clock_advance(&f.clock, 120 * 1000);
    assert_int_equal(shrunk_count() - before, 2);
    assert_string_equal(object_uid(cache_get(f.cache, "d", "a")), "ua");
    tear_down(&f);
    assert_int_equal(shrunk_count(), before);
}

static void freed_with_a_call_under_way(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    cache_free(f.cache);
    f.cache = NULL;
    script_answer(&f.script, 200, LIST("7", POD("a", "ua", "3")));
    assert_string_equal(f.told, "");
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_then_watches_from_the_lists_revision),
        cmocka_unit_test(empty_server_is_listed_again_and_not_watched_from_0),
        cmocka_unit_test(cached_objects_know_their_kind_and_not_who_managed_them),
        cmocka_unit_test(pages_are_followed),
        cmocka_unit_test(page_that_expired_starts_the_list_anew),
        cmocka_unit_test(events_change_the_cache),
        cmocka_unit_test(added_for_a_known_object_is_a_change),
        cmocka_unit_test(same_name_with_another_uid_is_another_object),
        cmocka_unit_test(lines_may_be_cut_anywhere),
        cmocka_unit_test(a_watch_may_be_in_protobuf),
        cmocka_unit_test(old_and_repeated_events_are_not_told),
        cmocka_unit_test(watch_closed_in_good_order_goes_on_from_the_bookmark),
        cmocka_unit_test(half_a_line_at_the_end_is_not_half_an_event),
        cmocka_unit_test(server_that_hangs_up_at_once_is_not_asked_at_once),
        cmocka_unit_test(relist_tells_what_vanished_and_what_changed),
        cmocka_unit_test(refused_and_broken_watches_list_again_later),
        cmocka_unit_test(failing_lists_come_later_and_later),
        cmocka_unit_test(line_that_is_not_an_event_lists_again),
        cmocka_unit_test(line_over_the_ceiling_lists_again),
        cmocka_unit_test(silent_watch_is_given_up),
        cmocka_unit_test(got_object_lives_until_the_next_turn),
        cmocka_unit_test(objects_are_found_by_their_controller),
        cmocka_unit_test(objects_that_are_not_ready_are_read_all_the_same),
        cmocka_unit_test(objects_that_are_not_ready_change_and_go),
        cmocka_unit_test(what_has_ended_rests_until_it_is_woken),
        cmocka_unit_test(what_rests_changes_and_goes_like_the_others),
        cmocka_unit_test(caches_of_the_same_objects_share_their_texts),
        cmocka_unit_test(objects_that_nobody_asks_for_do_not_stay_ready),
        cmocka_unit_test(freed_with_a_call_under_way),
    };

    return cmocka_run_group_tests_name("client/cache", tests, NULL, NULL);
}
