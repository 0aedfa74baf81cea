/* map_test.c - the ordered map against a sorted array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"

static uint64_t seed = 1;

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

#define KEYS 600u

struct model {
    bool there[KEYS];
    uintptr_t value[KEYS];
};

/* Keys in their own order: two bytes, big end first, some with a NUL. */
static void key_of(unsigned i, char key[2])
{
    key[0] = (char)(i >> 8);
    key[1] = (char)(i & 0xff);
}

static unsigned number_of(const struct map_node *n)
{
    assert_int_equal(n->key_len, 2);
    return (unsigned)(unsigned char)n->key[0] << 8 | (unsigned char)n->key[1];
}

static void same_as(const struct map *m, const struct model *model)
{
    const struct map_node *n = map_first(m);
    size_t count = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        if (!model->there[i])
            continue;
        assert_non_null(n);
        assert_int_equal(map_rank(m, n->key, n->key_len), count);
        count++;
        assert_int_equal(number_of(n), i);
        assert_int_equal((uintptr_t)n->value, model->value[i]);
        n = map_after(m, n->key, n->key_len);
    }
    assert_null(n);
    assert_int_equal(m->count, count);
}

static void check_seek(const struct map *m, const struct model *model, unsigned i)
{
    const struct map_node *at, *after;
    unsigned first = i, next = i + 1;
    char key[2];

    key_of(i, key);
    while (first < KEYS && !model->there[first])
        first++;
    while (next < KEYS && !model->there[next])
        next++;
    at = map_seek(m, key, 2);
    after = map_after(m, key, 2);
    assert_int_equal(at ? number_of(at) : KEYS, first);
    assert_int_equal(after ? number_of(after) : KEYS, next);
}

static void ten_thousand_operations_agree_with_a_sorted_array(void **state)
{
    struct map m = MAP_INIT;
    struct model *model = calloc(1, sizeof(*model));

    (void)state;
    for (unsigned step = 1; step <= 10000; step++) {
        unsigned i = pick(KEYS);
        void *old = (void *)1;
        char key[2];

        key_of(i, key);
        if (pick(3)) {
            assert_int_equal(map_put(&m, key, 2, (void *)(uintptr_t)step, &old), 0);
            assert_int_equal((uintptr_t)old, model->there[i] ? model->value[i] : 0);
            model->there[i] = true;
            model->value[i] = step;
        } else {
            assert_int_equal((uintptr_t)map_remove(&m, key, 2),
                             model->there[i] ? model->value[i] : 0);
            model->there[i] = false;
        }
        assert_int_equal((uintptr_t)map_get(&m, key, 2), model->there[i] ? model->value[i] : 0);
        check_seek(&m, model, pick(KEYS));
        if (step % 500 == 0)
            same_as(&m, model);
    }
    map_release(&m, NULL);
    assert_null(map_first(&m));
    free(model);
}

static void order_is_bytewise_and_shorter_first(void **state)
{
    static const char *const keys[] = {"", "a", "a/b", "aa", "ab", "b", "\x7f", "\x80", "\xff"};
    struct map m = MAP_INIT;
    size_t i = 0;

    (void)state;
    for (size_t k = ELEMS(keys); k--;)
        assert_int_equal(map_puts(&m, keys[k], (void *)keys[k], NULL), 0);
    map_for_each (node, &m)
        assert_string_equal(node->key, keys[i++]);
    assert_int_equal(i, ELEMS(keys));
    assert_string_equal(map_gets(&m, "aa"), "aa");
    assert_null(map_gets(&m, "aaa"));
    assert_string_equal(map_removes(&m, "aa"), "aa");
    assert_null(map_removes(&m, "aa"));
    map_release(&m, NULL);
}

static unsigned depth_of(const struct map_node *n)
{
    unsigned l, r;

    if (!n)
        return 0;
    l = depth_of(n->left);
    r = depth_of(n->right);
    return 1 + (l > r ? l : r);
}

/* Names that count up are what controllers make; the tree must stay low all the same. */
static void rising_keys_keep_the_tree_low(void **state)
{
    struct map m = MAP_INIT;
    char key[32];

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        int n = snprintf(key, sizeof(key), "default/worker-%08u", i);

        assert_int_equal(map_put(&m, key, (size_t)n, &m, NULL), 0);
    }
    assert_true(depth_of(m.root) < 60);
    map_release(&m, NULL);
}

static void values_are_freed_when_asked(void **state)
{
    struct map m = MAP_INIT;

    (void)state;
    for (int i = 0; i < 10; i++) {
        char key = (char)('a' + i);

        assert_int_equal(map_put(&m, &key, 1, malloc(8), NULL), 0);
    }
    map_release(&m, free);
    assert_int_equal(m.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_operations_agree_with_a_sorted_array),
        cmocka_unit_test(order_is_bytewise_and_shorter_first),
        cmocka_unit_test(rising_keys_keep_the_tree_low),
        cmocka_unit_test(values_are_freed_when_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
