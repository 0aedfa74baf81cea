/* podfolder_test.c - files of a pod's folder that are read while they are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/podfolder.h"

#define WRITES 4000

struct writer {
    int dir_fd;
    atomic_uint writes;
};

/* A long one and a short one in turn, each into the file that was read before. */
static void *write_on(void *arg)
{
    static const char brief[] = "{\"n\":1}";
    struct writer *w = arg;
    static char text[60000];

    memset(text, ' ', sizeof(text));
    memcpy(text, "{\"n\":", 5);
    memcpy(text + sizeof(text) - 2, "2}", 2);
    while (w->writes < WRITES) {
        w->writes += 2;
        (void)!pod_file_write(w->dir_fd, POD_FILE_STATE, text, sizeof(text), POD_NOT_SYNCED);
        (void)!pod_file_write(w->dir_fd, POD_FILE_STATE, brief, sizeof(brief) - 1, POD_NOT_SYNCED);
    }
    return NULL;
}

static void a_file_is_read_whole_while_it_is_replaced(void **state)
{
    char dir[] = "/tmp/muster-test-XXXXXX";
    struct writer w = {0};
    pthread_t thread;

    (void)state;
    assert_non_null(mkdtemp(dir));
    w.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(w.dir_fd >= 0);
    assert_int_equal(pod_file_write(w.dir_fd, POD_FILE_STATE, "{\"n\":0}", 7, POD_NOT_SYNCED), 0);
    assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
    while (w.writes < WRITES) {
        struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
        auto_err err = ERR_INIT;
        const struct json *v = pod_file_read_json(w.dir_fd, POD_FILE_STATE, &a, &err);

        if (!v)
            print_error("after %u writes: %s\n", w.writes, err.text);
        assert_non_null(v);
        assert_in_range(json_get_int(v, "n", 9), 0, 2);
        arena_release(&a);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(unlinkat(w.dir_fd, POD_FILE_STATE, 0), 0);
    pod_file_give_up_room(w.dir_fd, POD_FILE_STATE);
    assert_int_equal(close(w.dir_fd), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole_while_it_is_replaced),
    };

    return cmocka_run_group_tests_name("podfolder", tests, NULL, NULL);
}
