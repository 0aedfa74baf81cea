/* image_store_test.c - names of images, and which are removed when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/image_store.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HOUR_MS INT64_C(3600000)
#define NOW_MS (INT64_C(1800000000) * 1000)

struct fixture {
    struct arena arena;
    char data[64];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    arena_init(&f->arena, 1u << 24);
    (void)strcpy(f->data, "/tmp/muster-images-XXXXXX");
    *state = f;
    return mkdtemp(f->data) ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = file_remove_tree(f->data);

    arena_release(&f->arena);
    free(f);
    return rc;
}

static void write_file(struct fixture *f, const char *path, const char *text)
{
    const char *whole = arena_printf(&f->arena, "%s/%s", f->data, path);
    const char *slash = strrchr(whole, '/');

    assert_int_equal(file_make_dirs(arena_strndup(&f->arena, whole, (size_t)(slash - whole)), 0700),
                     0);
    assert_int_equal(file_write_atomic(whole, text, strlen(text), 0600), 0);
}

/* As a pull leaves it: of so many bytes, with one layer, last used so long ago. */
static void put_image(struct fixture *f, const char *name, char digit, const char *blob, int bytes,
                      int64_t unused_ms)
{
    char hex[65], path[256], text[512];
    struct timespec times[2] = {{.tv_sec = (NOW_MS - unused_ms) / 1000}};

    memset(hex, digit, 64);
    hex[64] = '\0';
    times[1] = times[0];
    (void)snprintf(path, sizeof(path), "images/names/%s%%3A1", name);
    (void)snprintf(text, sizeof(text), "{\"digest\":\"sha256:%s\"}", hex);
    write_file(f, path, text);
    (void)snprintf(path, sizeof(path), "images/unpacked/%s/rootfs/file", hex);
    write_file(f, path, "x");
    (void)snprintf(path, sizeof(path), "images/blobs/sha256/%s", blob);
    write_file(f, path, "x");
    (void)snprintf(path, sizeof(path), "images/unpacked/%s/image.json", hex);
    (void)snprintf(text, sizeof(text),
                   "{\"config\":{},\"bytes\":%d,\"blobs\":[\"sha256:%s\",\"sha256:base\"]}", bytes,
                   blob);
    write_file(f, path, text);
    assert_int_equal(utimensat(AT_FDCWD, arena_printf(&f->arena, "%s/%s", f->data, path), times, 0),
                     0);
}

static bool is_there(struct fixture *f, const char *name)
{
    struct image image;

    return image_find(&f->arena, f->data, name, &image) == 0;
}

static bool has_blob(struct fixture *f, const char *blob)
{
    return access(arena_printf(&f->arena, "%s/images/blobs/sha256/%s", f->data, blob), F_OK) == 0;
}

static int prune(struct fixture *f, int64_t age_ms, int64_t limit_bytes)
{
    auto_err err = ERR_INIT;

    return image_prune(&f->arena, f->data, NOW_MS, age_ms, limit_bytes, &err);
}

/* A pod's container is in the image whose digest is this digit, 64 times. */
static void use_image(struct fixture *f, char digit)
{
    char hex[65];

    memset(hex, digit, 64);
    hex[64] = '\0';
    write_file(f, "scratch/uid/" IMAGE_LAYER_PREFIX "main/other", "");
    assert_int_equal(
        symlink(arena_printf(&f->arena, "%s/images/unpacked/%s", f->data, hex),
                arena_printf(&f->arena,
                             "%s/scratch/uid/" IMAGE_LAYER_PREFIX "main/" IMAGE_LAYER_LINK,
                             f->data)),
        0);
}

static void names_are_completed(void **state)
{
    static const struct {
        const char *given, *complete;
    } table[] = {{"busybox", "busybox:latest"},
                 {"busybox:1", "busybox:1"},
                 {"host:5000/a/b", "host:5000/a/b:latest"},
                 {"host:5000/a/b:v1.2_x-3", "host:5000/a/b:v1.2_x-3"},
                 {"a@sha256:" A64, "a@sha256:" A64},
                 {"host:5000/a:tag@sha256:" A64, "host:5000/a@sha256:" A64},
                 {"", NULL},
                 {"-rf", NULL},
                 {"/etc/passwd", NULL},
                 {"a b", NULL},
                 {"a//b", NULL},
                 {"a\n", NULL},
                 {"a@sha256:12", NULL},
                 {"a@md5:" A64, NULL},
                 {"a@sha256:" A64 "0", NULL}};
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(table); i++) {
        auto_err err = ERR_INIT;
        const char *name = NULL;
        int rc = image_name_complete(&f->arena, table[i].given, &name, &err);

        if (table[i].complete) {
            assert_int_equal(rc, 0);
            assert_string_equal(name, table[i].complete);
        } else {
            assert_true(rc < 0);
            assert_non_null(strstr(err.text, "is not the name of an image"));
        }
    }
}

static void what_nobody_uses_goes_by_age(void **state)
{
    struct fixture *f = *state;

    put_image(f, "old", '1', "one", 10, 50 * HOUR_MS);
    put_image(f, "new", '2', "two", 10, 2 * HOUR_MS);
    put_image(f, "used", '3', "three", 10, 50 * HOUR_MS);
    write_file(f, "images/blobs/sha256/base", "x");
    use_image(f, '3');
    assert_int_equal(prune(f, 24 * HOUR_MS, 0), 1);
    assert_false(is_there(f, "old:1"));
    assert_true(is_there(f, "new:1"));
    assert_true(is_there(f, "used:1"));
    assert_false(has_blob(f, "one"));
    assert_true(has_blob(f, "two") && has_blob(f, "three") && has_blob(f, "base"));
    assert_int_equal(prune(f, 24 * HOUR_MS, 0), 0);
}

static void the_longest_unused_makes_room(void **state)
{
    struct fixture *f = *state;

    put_image(f, "first", '1', "one", 40, 3 * HOUR_MS);
    put_image(f, "second", '2', "two", 40, 2 * HOUR_MS);
    put_image(f, "third", '3', "three", 40, 1 * HOUR_MS);
    assert_int_equal(prune(f, 0, 200), 0);
    assert_int_equal(prune(f, 0, 100), 1);
    assert_false(is_there(f, "first:1"));
    assert_true(is_there(f, "second:1") && is_there(f, "third:1"));
}

static void what_was_just_pulled_stays(void **state)
{
    struct fixture *f = *state;

    put_image(f, "fresh", '1', "one", 40, IMAGE_KEPT_MS / 2);
    assert_int_equal(prune(f, 1, 1), 0);
    assert_true(is_there(f, "fresh:1"));
}

static void a_name_goes_before_the_image_of_two(void **state)
{
    struct fixture *f = *state;
    auto_err err = ERR_INIT;

    put_image(f, "one", '1', "one", 40, HOUR_MS);
    put_image(f, "other", '1', "one", 40, HOUR_MS);
    assert_int_equal(image_remove(&f->arena, f->data, "one:1", &err), 0);
    assert_false(is_there(f, "one:1"));
    assert_true(is_there(f, "other:1"));
    use_image(f, '1');
    assert_true(image_remove(&f->arena, f->data, "other:1", &err) < 0);
    assert_int_equal(err.reason, ERR_CONFLICT);
    assert_true(is_there(f, "other:1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_completed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_uses_goes_by_age, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_longest_unused_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_just_pulled_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_goes_before_the_image_of_two, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
