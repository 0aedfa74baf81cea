/* identity_test.c - who a program is, by who the daemon is and what the pod asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/identity.h"

#define LIMIT (1024u * 1024u)

static bool find_user(struct arena *a, uint32_t uid, struct identity_user *ret)
{
    static const uint32_t groups[] = {100, 44};

    (void)a;
    if (uid != 1000)
        return false;
    *ret = (struct identity_user){
        .name = "alice", .home = "/home/alice", .gid = 100, .groups = groups, .groups_len = 2};
    return true;
}

struct test_case {
    const char *pod, *container; /* their securityContext */
    uint32_t daemon;             /* 0: root */
    const char *obstacle;
    /* what comes of it */
    const char *error; /* part of it; NULL: none */
    bool wanted;
    uint32_t uid, gid;
    uint32_t groups[4]; /* 0 ends them */
    const char *home;
};

static const struct test_case cases[] = {
    {.pod = "{}", .container = "{}"},
    {.pod = "{}", .container = "{}", .daemon = 7},
    {.pod = "{\"runAsUser\":1000}",
     .container = "{}",
     .wanted = true,
     .uid = 1000,
     .gid = 100,
     .groups = {100, 44},
     .home = "/home/alice"},
    {.pod = "{\"runAsUser\":2000}",
     .container = "{}",
     .wanted = true,
     .uid = 2000,
     .gid = 2000,
     .home = "/"},
    {.pod = "{\"runAsUser\":2000,\"runAsGroup\":5}",
     .container = "{\"runAsUser\":3000}",
     .wanted = true,
     .uid = 3000,
     .gid = 5,
     .home = "/"},
    {.pod = "{\"fsGroup\":9,\"supplementalGroups\":[8,9]}",
     .container = "{}",
     .wanted = true,
     .groups = {9, 8}},
    {.pod = "{\"runAsNonRoot\":true}", .container = "{}", .error = "runAsNonRoot is true"},
    {.pod = "{\"runAsNonRoot\":true}", .container = "{\"runAsNonRoot\":false}"},
    {.pod = "{\"runAsNonRoot\":true}", .container = "{}", .daemon = 7},
    {.pod = "{\"runAsNonRoot\":true}",
     .container = "{\"runAsUser\":0}",
     .daemon = 7,
     .error = "runAsNonRoot is true"},
    {.pod = "{\"runAsUser\":1000}",
     .container = "{}",
     .daemon = 7,
     .wanted = true,
     .uid = 1000,
     .gid = 7},
    {.pod = "{\"runAsUser\":7,\"runAsGroup\":7}",
     .container = "{}",
     .daemon = 7,
     .obstacle = "no way"},
    {.pod = "{\"runAsUser\":1000}",
     .container = "{}",
     .daemon = 7,
     .obstacle = "no way",
     .error = "runAsUser is 1000, but muster runs as user 7, group 7: no way"},
    {.pod = "{\"runAsGroup\":8}",
     .container = "{}",
     .daemon = 7,
     .obstacle = "no way",
     .error = "runAsGroup is 8"},
    {.pod = "{\"fsGroup\":9}", .container = "{}", .daemon = 7},
    {.pod = "{\"supplementalGroups\":[7]}", .container = "{}", .daemon = 7},
    {.pod = "{\"supplementalGroups\":[8]}",
     .container = "{}",
     .daemon = 7,
     .error = "supplementalGroups 8 cannot be given"},
    {.pod = "{\"runAsUser\":-1}", .container = "{}", .error = "runAsUser must be between"},
    {.pod = "{\"fsGroup\":3000000000}", .container = "{}", .error = "fsGroup must be between"},
};

static struct json *context(struct arena *a, const char *text)
{
    struct json *v = json_new_object(a);

    (void)json_set(a, v, "securityContext", json_parse(a, text, strlen(text), NULL));
    return v;
}

static void check(const struct test_case *t)
{
    struct arena a = ARENA_INIT(LIMIT);
    auto_err err = ERR_INIT;
    struct json *pod = json_new_object(&a);
    struct identity_machine m = {
        .uid = t->daemon, .gid = t->daemon, .obstacle = t->obstacle, .find_user = find_user};
    struct identity who;
    int rc;

    (void)json_set(&a, pod, "spec", context(&a, t->pod));
    rc = identity_of(&a, pod, context(&a, t->container), &m, &who, &err);
    if (t->error) {
        assert_int_not_equal(rc, 0);
        if (!strstr(err.text, t->error))
            fail_msg("%s: %s", t->pod, err.text);
    } else {
        assert_int_equal(rc, 0);
        assert_int_equal(who.id.wanted, t->wanted);
        assert_int_equal(who.id.uid, t->uid);
        assert_int_equal(who.id.gid, t->gid);
        for (size_t i = 0; i < who.id.groups_len; i++)
            assert_int_equal(who.id.groups[i], t->groups[i]);
        assert_int_equal(t->groups[who.id.groups_len], 0);
        assert_string_equal(who.home ? who.home : "", t->home ? t->home : "");
    }
    arena_release(&a);
}

static void all_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        check(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
