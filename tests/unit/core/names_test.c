/* names_test.c - names of children, the index, exit codes in words, $(VAR). */
#include "core/exit_words.h"
#include "core/expand.h"
#include "core/name_index.h"
#include "world.h"

static void hash5_matches_the_known_triples(void **state)
{
    static const struct {
        const char *name, *uid, *hash5;
    } known[] = {
        {"mnist", "cffea855-5ce2-496a-8956-f6e76fe2f565", "40c14"},
        {"mnist", "422e8cc7-163f-4d49-9fb8-d059e490a09b", "12e8d"},
        {"mnist", "f7989e9b-7c73-4224-93ac-5f538d4ca82c", "1f409"},
        {"torch-mnist-trainingjob", "9dcea839-3a99-4b6f-b594-620d79f8377d", "7a8f5"},
        {"gpt-125m", "e2a69076-1c19-46ce-9c70-2cdf20176e01", "d02e2"},
        {"tutorial", "bbc4817d-ba41-4b29-81c2-cefa3a3d376f", "af483"},
    };
    char out[HASH5_SIZE];

    (void)state;
    for (size_t i = 0; i < ELEMS(known); i++) {
        replica_hash5(known[i].name, known[i].uid, out);
        assert_string_equal(out, known[i].hash5);
    }
}

static void a_small_hash_keeps_its_zeros(void **state)
{
    char out[HASH5_SIZE], uid[32];
    int with_zero = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(uid, sizeof(uid), "%d", i);
        replica_hash5("a", uid, out);
        assert_int_equal(strlen(out), 5);
        with_zero += out[0] == '0';
    }
    assert_true(with_zero > 0);
}

static void names_have_four_parts(void **state)
{
    struct arena a = ARENA_INIT(4096);

    (void)state;
    assert_string_equal(replica_name(&a, "mnist", "40c14", "worker", 12), "mnist-40c14-worker-12");
    arena_release(&a);
}

static void index_finds_what_was_put(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct name_index x;
    int values[300];
    char names[300][8];

    (void)state;
    name_index_init(&x, &a, ELEMS(values));
    for (size_t i = 0; i < ELEMS(values); i++) {
        (void)snprintf(names[i], sizeof(names[i]), "n%zu", i);
        assert_ptr_equal(name_index_put(&x, names[i], &values[i]), &values[i]);
    }
    for (size_t i = 0; i < ELEMS(values); i++)
        assert_ptr_equal(name_index_get(&x, names[i]), &values[i]);
    assert_ptr_equal(name_index_put(&x, "n7", &values[0]), &values[7]);
    assert_null(name_index_get(&x, "other"));
    arena_release(&a);
}

static void an_index_without_memory_finds_nothing(void **state)
{
    struct arena a = ARENA_INIT(0);
    struct name_index x;
    int value;

    (void)state;
    name_index_init(&x, &a, 10);
    assert_null(name_index_put(&x, "a", &value));
    assert_null(name_index_get(&x, "a"));
    assert_true(arena_failed(&a));
}

static void exit_codes_have_words(void **state)
{
    (void)state;
    assert_string_equal(exit_words(137, "", false), "killed, SIGKILL: likely out of memory");
    assert_string_equal(exit_words(137, "Error", true), "killed, SIGKILL");
    assert_string_equal(exit_words(137, "OOMKilled", true),
                        "killed, SIGKILL: out of memory, according to the kernel");
    assert_string_equal(exit_words(1, "OOMKilled", false),
                        "out of memory, according to the kernel");
    assert_string_equal(exit_words(139, "Error", true), "segmentation fault, SIGSEGV");
    assert_string_equal(exit_words(134, "", false), "aborted, SIGABRT");
    assert_string_equal(exit_words(127, "", false), "command not found");
    assert_string_equal(exit_words(127, "StartError", true), "command not found");
    assert_string_equal(exit_words(126, "StartError", true), "command found but not executable");
    assert_string_equal(exit_words(128, "StartError", true), "the container could not be started");
    assert_string_equal(exit_words(143, "", false), "terminated, SIGTERM");
    assert_string_equal(exit_words(130, "", false), "interrupted, SIGINT");
    assert_string_equal(exit_words(1, "", false), "the program ended with an error");
    assert_null(exit_words(1, "Error", true)); /* its own words are better */
    assert_null(exit_words(77, "", false));
    assert_null(exit_words(77, "Error", false));
    assert_true(exit_by_signal(139) && exit_by_signal(129) && exit_by_signal(192));
    assert_false(exit_by_signal(128) || exit_by_signal(138) || exit_by_signal(193));
}

static const char *look_up(void *arg, const char *name, size_t len)
{
    static const char *const vars[][2] = {{"A", "1"}, {"LONG_NAME", "$(A)"}, {"EMPTY", ""}};

    (void)arg;
    for (size_t i = 0; i < ELEMS(vars); i++)
        if (strlen(vars[i][0]) == len && memcmp(vars[i][0], name, len) == 0)
            return vars[i][1];
    return NULL;
}

static void variables_expand_as_in_kubernetes(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"$(A)", "1"},
        {"x$(A)y$(A)", "x1y1"},
        {"$(LONG_NAME)", "$(A)"}, /* values are not expanded again */
        {"[$(EMPTY)]", "[]"},
        {"$(NONE)", "$(NONE)"},
        {"$()", "$()"},
        {"$$(A)", "$(A)"},
        {"$$$(A)", "$1"},
        {"$$", "$"},
        {"$", "$"},
        {"a$", "a$"},
        {"$A", "$A"},
        {"$(A", "$(A"},
        {"$(A $(A)", "$(A $(A)"}, /* the name is everything up to the first ) */
        {"cost $5", "cost $5"},
    };
    struct arena a = ARENA_INIT(1 << 16);

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_string_equal(expand_vars(&a, cases[i][0], look_up, NULL), cases[i][1]);
    arena_release(&a);
    arena_init(&a, 0);
    assert_null(expand_vars(&a, "x", look_up, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash5_matches_the_known_triples),
        cmocka_unit_test(a_small_hash_keeps_its_zeros),
        cmocka_unit_test(names_have_four_parts),
        cmocka_unit_test(index_finds_what_was_put),
        cmocka_unit_test(an_index_without_memory_finds_nothing),
        cmocka_unit_test(exit_codes_have_words),
        cmocka_unit_test(variables_expand_as_in_kubernetes),
    };

    return cmocka_run_group_tests_name("core names", tests, NULL, NULL);
}
