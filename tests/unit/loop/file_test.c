/* file_test.c - whole files, folders, and what is made of entropy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"
#include "loop/random.h"

#define PATH_SIZE 256

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/muster-file-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static const char *in_folder(char out[PATH_SIZE], const char *name)
{
    snprintf(out, PATH_SIZE, "%s/%s", folder, name);
    return out;
}

static void what_is_written_is_read(void **state)
{
    char path[PATH_SIZE];
    struct buf b = BUF_INIT(100000);
    struct stat st;
    char *big = malloc(50000);

    (void)state;
    memset(big, 'x', 50000);
    in_folder(path, "a");
    assert_int_equal(file_write_atomic(path, "old", 3, 0644), 0);
    assert_int_equal(file_write_atomic(path, big, 50000, 0600), 0);
    buf_adds(&b, "before:");
    assert_int_equal(file_read(path, 50000, &b), 0);
    assert_int_equal(b.len, 50007);
    assert_memory_equal(b.data, "before:", 7);
    assert_memory_equal(b.data + 7, big, 50000);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    buf_release(&b);
    free(big);
}

static void too_long_a_file_leaves_the_buffer_alone(void **state)
{
    char path[PATH_SIZE];
    struct buf b = BUF_INIT(8);

    (void)state;
    in_folder(path, "a");
    assert_int_equal(file_write_atomic(path, "123456", 6, 0600), 0);
    buf_adds(&b, "abc");
    assert_int_equal(file_read(path, 5, &b), -EFBIG);  /* asked limit */
    assert_int_equal(file_read(path, 50, &b), -EFBIG); /* the buffer's own */
    assert_int_equal(file_read(in_folder(path, "no"), 50, &b), -ENOENT);
    assert_string_equal(b.data, "abc");
    assert_false(b.failed);
    buf_release(&b);
}

static void failed_write_leaves_nothing_behind(void **state)
{
    char path[PATH_SIZE];
    int files = 0;
    DIR *d;

    (void)state;
    in_folder(path, "taken");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(file_write_atomic(path, "x", 1, 0600), -EISDIR);
    assert_int_equal(file_write_atomic(in_folder(path, "no/x"), "x", 1, 0600), -ENOENT);
    d = opendir(folder);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        files += e->d_name[0] != '.';
    closedir(d);
    assert_int_equal(files, 1);
}

static void folders_are_made_with_their_parents(void **state)
{
    char path[PATH_SIZE];
    struct stat st;

    (void)state;
    assert_int_equal(file_make_dirs(in_folder(path, "x/y//z"), 0700), 0);
    assert_int_equal(file_make_dirs(path, 0755), 0);
    assert_int_equal(file_make_dirs(in_folder(path, "x/y/z/"), 0755), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(file_write_atomic(in_folder(path, "x/f"), "", 0, 0600), 0);
    assert_int_equal(file_make_dirs(path, 0700), -ENOTDIR);
    assert_int_equal(file_make_dirs(in_folder(path, "x/f/g"), 0700), -ENOTDIR);
}

static void uids_are_version_4_and_differ(void **state)
{
    char a[RANDOM_UID_SIZE], b[RANDOM_UID_SIZE];

    (void)state;
    random_uid(a);
    random_uid(b);
    assert_string_not_equal(a, b);
    assert_int_equal(strlen(a), 36);
    assert_int_equal(strspn(a, "0123456789abcdef-"), 36);
    assert_int_equal(a[14], '4');
    assert_non_null(strchr("89ab", a[19]));
    for (size_t i = 0; i < 36; i++)
        assert_int_equal(a[i] == '-', i == 8 || i == 13 || i == 18 || i == 23);
}

static void suffixes_use_every_letter_evenly(void **state)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    unsigned seen[256] = {0};
    char s[RANDOM_SUFFIX_SIZE];

    (void)state;
    for (int i = 0; i < 5400; i++) {
        random_suffix(s);
        assert_int_equal(strlen(s), 5);
        for (size_t k = 0; k < 5; k++)
            seen[(unsigned char)s[k]]++;
    }
    for (size_t i = 0; i < sizeof(letters) - 1; i++) /* 1000 each expected, sigma 31 */
        assert_in_range(seen[(unsigned char)letters[i]], 750, 1250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_folder, remove_folder)
        TEST(what_is_written_is_read),
        TEST(too_long_a_file_leaves_the_buffer_alone),
        TEST(failed_write_leaves_nothing_behind),
        TEST(folders_are_made_with_their_parents),
        cmocka_unit_test(uids_are_version_4_and_differ),
        cmocka_unit_test(suffixes_use_every_letter_evenly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
