/* transport_test.c - the in-process transport itself: callers, streams that are opened, paused
 * or closed, and users that free it from inside. */
#include "server/fixture.h"

#include <sys/resource.h>

#include "server/tokens.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"

static void a_stream_that_is_called_for_is_refused(void **state)
{
    struct fixture *f = *state;
    struct answer a = ask(f, "GET", CONFIG_MAPS "?watch=true", NULL);

    assert_int_equal(a.status, 0);
    assert_string_equal(a.body, "the answer is a stream: open it instead");
    (void)expect(f, "GET", CONFIG_MAPS, NULL, 200);
}

static void ask_of_a_freed_transport(void **state)
{
    struct fixture *f = *state;
    struct transport *t = server_local_transport(f->server, &caller_owner);
    struct answer never = {.fixture = f};
    const struct api_call call = {.method = "GET", .path = CONFIG_MAPS "?watch=true"};

    assert_non_null(t);
    transport_call(t, &call, answer_came, &never);
    transport_free(t);
    (void)expect(f, "GET", CONFIG_MAPS, NULL, 200);
    assert_false(never.came);
}

static void make(struct fixture *f, const char *name)
{
    char body[128];

    (void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", name);
    (void)expect(f, "POST", CONFIG_MAPS, body, 201);
}

static void a_paused_stream_says_nothing_until_it_goes_on(void **state)
{
    struct fixture *f = *state;
    struct reader r;

    reader_open(f, &r, CONFIG_MAPS "?watch=true&fieldSelector=metadata.name%3Dmine");
    make(f, "mine");
    assert_event(reader_next(&r), "ADDED", "mine");
    transport_pause(f->transport, r.stream, true);
    (void)expect(f, "DELETE", CONFIG_MAPS "/mine", NULL, 200);
    make(f, "mine");
    make(f, "another");
    assert_int_equal(r.in.len, 0);
    transport_pause(f->transport, r.stream, false);
    assert_event(reader_next(&r), "DELETED", "mine");
    assert_event(reader_next(&r), "ADDED", "mine");
    reader_close(&r);
}

struct freer {
    struct transport *transport;
    unsigned calls;
};

static void free_on_data(void *arg, const char *data, size_t len)
{
    struct freer *x = arg;

    (void)data, (void)len;
    x->calls++;
    transport_free(x->transport);
}

static void free_on_end(void *arg, const struct api_reply *reply)
{
    (void)reply;
    free_on_data(arg, "", 0);
}

static void it_may_be_freed_from_inside(void **state)
{
    static const char *const paths[] = {CONFIG_MAPS "?watch=true", CONFIG_MAPS, "/api/v1/nothings"};
    struct fixture *f = *state;

    make(f, "one");
    for (size_t i = 0; i < ELEMS(paths); i++) {
        struct freer x = {.transport = server_local_transport(f->server, &caller_owner)};
        const struct api_stream_handler h = {
            .on_data = free_on_data, .on_end = free_on_end, .arg = &x};

        assert_non_null(transport_open(x.transport, paths[i], &h));
        while (!x.calls)
            loop_run_once(f->loop);
        (void)expect(f, "GET", CONFIG_MAPS, NULL, 200);
        assert_int_equal(x.calls, 1);
    }
}

static void asks_with_the_rights_of_who_it_is_for(void **state)
{
    struct fixture *f = *state;
    struct arena a = ARENA_INIT(65536);
    static const char *const groups[] = {"system:authenticated", NULL};
    struct caller *who = arena_alloc(&a, sizeof(*who));
    struct transport *owners = f->transport;

    *who = (struct caller){.kind = CALLER_IMPERSONATED,
                           .user = "system:serviceaccount:default:guest",
                           .uid = "1",
                           .groups = groups,
                           .ns = "default",
                           .name = "guest"};
    f->transport = server_local_transport(f->server, who);
    assert_non_null(f->transport);
    arena_release(&a); /* it has its own */
    assert_says(expect(f, "GET", CONFIG_MAPS, NULL, 403), "Forbidden",
                "User \"system:serviceaccount:default:guest\" cannot list");
    transport_free(f->transport);
    f->transport = owners;
    (void)expect(f, "GET", CONFIG_MAPS, NULL, 200);
}

#ifndef __SANITIZE_ADDRESS__ /* its own memory ends the program before ours is short */
/* Takes all there is, in ever smaller pieces, each of which begins with where the last one is. */
static void *take_all_memory(void)
{
    void *last = NULL;

    for (size_t size = 1u << 20; size >= sizeof(void *); size /= 2)
        for (void **piece; (piece = malloc(size)) != NULL; last = piece)
            *piece = last;
    return last;
}

static void every_call_is_answered_without_memory(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, now = {.rlim_cur = 1};
    struct answer answers[3];
    void *taken;

    (void)expect(f, "GET", CONFIG_MAPS, NULL, 200);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    now.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
    taken = take_all_memory();
    for (size_t i = 0; i < ELEMS(answers); i++)
        ask_with(f, &answers[i], "GET", CONFIG_MAPS, NULL, NULL, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    while (taken) {
        void *next = *(void **)taken;

        free(taken);
        taken = next;
    }
    for (size_t i = 0; i < ELEMS(answers); i++) {
        assert_int_equal(wait_for(f, &answers[i]).status, 0);
        assert_string_equal(answers[i].body, "out of memory");
    }
}
#endif

/* A call without a caller is refused, not allowed everything. */
static void refuses_who_is_not_said(void **state)
{
    static const struct caller unknown = {.user = "", .uid = "", .ns = "", .name = ""};
    static const char *const paths[] = {CONFIG_MAPS, "/api/v1", "/apis", "/version"};
    const struct caller *const nobodies[] = {NULL, &unknown, &caller_anonymous};
    struct fixture *f = *state;
    struct transport *owners = f->transport;

    for (size_t i = 0; i < ELEMS(nobodies); i++) {
        f->transport = server_local_transport(f->server, nobodies[i]);
        assert_non_null(f->transport);
        for (size_t p = 0; p < ELEMS(paths); p++)
            (void)expect(f, "GET", paths[p], NULL,
                         nobodies[i] == &caller_anonymous && p == ELEMS(paths) - 1 ? 200 : 401);
        transport_free(f->transport);
    }
    f->transport = owners;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stream_that_is_called_for_is_refused),        TEST(ask_of_a_freed_transport),
        TEST(a_paused_stream_says_nothing_until_it_goes_on), TEST(it_may_be_freed_from_inside),
        TEST(asks_with_the_rights_of_who_it_is_for),         TEST(refuses_who_is_not_said),
#ifndef __SANITIZE_ADDRESS__
        TEST(every_call_is_answered_without_memory),
#endif
    };

    return cmocka_run_group_tests_name("server/transport", tests, NULL, NULL);
}
