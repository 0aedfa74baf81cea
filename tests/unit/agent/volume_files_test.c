/* volume_files_test.c - files of volumes stay in their volume, and trees go without leaving theirs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/scratch.h"
#include "agent/volume_files.h"

struct world {
    char root[64];
    char inside[128], outside[128];
    int fd; /* of inside */
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    strcpy(w->root, "/tmp/muster-test-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    (void)snprintf(w->inside, sizeof(w->inside), "%s/inside", w->root);
    (void)snprintf(w->outside, sizeof(w->outside), "%s/outside", w->root);
    assert_int_equal(mkdir(w->outside, 0700), 0);
    w->fd = volume_folder_make(w->inside, 0755, 0);
    assert_true(w->fd >= 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    (void)close(w->fd);
    assert_true(volume_tree_remove(w->root, NULL));
    assert_int_equal(access(w->root, F_OK), -1);
    free(w);
    return 0;
}

static int put(struct world *w, const char *path)
{
    auto_err err = ERR_INIT;

    return volume_file_write(w->fd, path, "text", 4, 0640, 0, &err);
}

static void paths_that_lead_out_are_known(void **state)
{
    static const char *const bad[] = {"", "/", "/etc", "..", "../x", "a/..", "a/../b", "./../x"};
    static const char *const good[] = {"a", "a/b", "..a",  "a..", "a/..b/c",
                                       ".", "./a", "a//b", "..."};

    (void)state;
    for (size_t i = 0; i < ELEMS(bad); i++)
        assert_false(volume_path_is_safe(bad[i]));
    for (size_t i = 0; i < ELEMS(good); i++)
        assert_true(volume_path_is_safe(good[i]));
}

static void files_get_their_folders_and_modes(void **state)
{
    struct world *w = *state;
    struct stat st;

    assert_int_equal(put(w, "a/b//c"), 0);
    assert_int_equal(fstatat(w->fd, "a/b/c", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(st.st_size, 4);
    assert_int_not_equal(put(w, "../escaped"), 0);
    assert_int_not_equal(put(w, "/tmp/escaped"), 0);
    assert_int_not_equal(put(w, "a/b"), 0); /* a folder */
}

static void links_are_not_followed(void **state)
{
    struct world *w = *state;
    char path[192];

    assert_int_equal(symlinkat(w->outside, w->fd, "link"), 0);
    (void)snprintf(path, sizeof(path), "%s/file", w->outside);
    assert_int_equal(symlinkat(path, w->fd, "file"), 0);
    assert_int_not_equal(put(w, "link/x"), 0);
    assert_int_equal(put(w, "file"), 0); /* in the link's place */
    assert_int_equal(access(path, F_OK), -1);
    (void)snprintf(path, sizeof(path), "%s/x", w->outside);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_tree_goes_and_what_it_links_to_stays(void **state)
{
    struct world *w = *state;
    char path[192];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/kept", w->outside);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(put(w, "a/b/c"), 0);
    assert_int_equal(symlinkat(w->outside, w->fd, "a/link"), 0);
    assert_int_equal(fchmodat(w->fd, "a/b", 0, 0), 0);
    assert_true(volume_tree_remove(w->inside, NULL));
    assert_int_equal(access(w->inside, F_OK), -1);
    assert_int_equal(access(path, F_OK), 0);
}

/* So many folders, each in the one before; of some file systems one of them may not be changed. The
 * descriptor of that one. */
static int make_deep(int fd, int levels, int immutable_level)
{
    int kept = -1;

    fd = dup(fd);
    for (int i = 0; i < levels; i++) {
        int below;

        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(below >= 0);
        if (i == immutable_level)
            kept = fd;
        else
            (void)close(fd);
        fd = below;
    }
    (void)close(fd);
    return kept;
}

static void a_deep_tree_goes_with_few_descriptors(void **state)
{
    struct world *w = *state;

    (void)make_deep(w->fd, 500, -1);
    assert_true(volume_tree_remove(w->inside, NULL));
    assert_int_equal(access(w->inside, F_OK), -1);
}

static bool set_immutable(int fd, bool immutable)
{
    int flags = 0;

    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
        return false;
    flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/* At the depth at which folders are moved up, so that this cannot be done either. */
static void what_cannot_be_removed_is_left(void **state)
{
    struct world *w = *state;
    int fd = make_deep(w->fd, 100, 33);

    if (!set_immutable(fd, true)) {
        (void)close(fd);
        skip();
    }
    assert_false(volume_tree_remove(w->inside, NULL));
    assert_true(set_immutable(fd, false));
    (void)close(fd);
    assert_true(volume_tree_remove(w->inside, NULL));
    assert_int_equal(access(w->inside, F_OK), -1);
}

static void a_removal_can_be_stopped(void **state)
{
    static const _Atomic bool stop = true;
    struct world *w = *state;

    (void)make_deep(w->fd, 10000, -1);
    assert_false(volume_tree_remove(w->inside, &stop));
    assert_int_equal(faccessat(w->fd, "d/d/d", F_OK, 0), 0);
    assert_true(volume_tree_remove(w->inside, NULL));
}

/* A pod's folder that is immutable is left, and goes when it can, without being asked for. */
static void what_was_left_is_tried_again(void **state)
{
    struct world *w = *state;
    struct loop *l = loop_new(NULL);
    struct scratch *s = scratch_new(l, loop_clock(l), w->root, 1);
    int fd;

    assert_non_null(s);
    assert_int_equal(mkdirat(w->fd, "d", 0700), 0);
    fd = openat(w->fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(fd, "below", 0700), 0);
    if (!set_immutable(fd, true)) {
        scratch_free(s);
        loop_free(l);
        skip();
    }
    scratch_remove(s, strrchr(w->inside, '/') + 1);
    for (int i = 0; i < 10; i++)
        loop_run_once(l);
    assert_int_equal(faccessat(fd, "below", F_OK, 0), 0);
    assert_true(set_immutable(fd, false));
    while (faccessat(fd, "below", F_OK, 0) == 0)
        loop_run_once(l);
    (void)close(fd);
    scratch_free(s);
    loop_free(l);
}

#define MIB (1024 * 1024)

static void put_large(int dir_fd, const char *name)
{
    static char data[MIB];
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    memset(data, 'x', sizeof(data));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, sizeof(data)), MIB);
    assert_int_equal(fsync(fd), 0); /* some file systems find room only now */
    (void)close(fd);
}

static void a_tree_takes_what_its_files_take(void **state)
{
    struct world *w = *state;
    int outside = open(w->outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t bytes;

    assert_int_equal(volume_tree_bytes("/nonexistent", MIB), 0);
    assert_true(volume_tree_bytes(w->inside, MIB) < MIB);
    assert_int_equal(put(w, "a/b/small"), 0);
    put_large(w->fd, "a/b/large");
    put_large(outside, "large");
    assert_int_equal(symlinkat(w->outside, w->fd, "a/link"), 0);
    assert_int_equal(linkat(w->fd, "a/b/large", w->fd, "same", 0), 0);
    bytes = volume_tree_bytes(w->inside, 100 * MIB);
    assert_true(bytes >= MIB && bytes < 2 * MIB); /* once, and not what is elsewhere */
    assert_true(volume_tree_bytes(w->inside, 1000) > 1000);
    (void)close(outside);
}

static void a_renewed_folder_is_empty(void **state)
{
    struct world *w = *state;
    int fd;

    assert_int_equal(put(w, "old"), 0);
    fd = volume_folder_renew(w->inside, 0700, 0);
    assert_true(fd >= 0);
    assert_int_equal(faccessat(fd, "old", F_OK, 0), -1);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_that_lead_out_are_known),
        cmocka_unit_test_setup_teardown(files_get_their_folders_and_modes, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tree_goes_and_what_it_links_to_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(a_deep_tree_goes_with_few_descriptors, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_removed_is_left, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removal_can_be_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_left_is_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tree_takes_what_its_files_take, setup, teardown),
        cmocka_unit_test_setup_teardown(a_renewed_folder_is_empty, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
