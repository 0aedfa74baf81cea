/* log_test.c - the log's file, and that it stays as small as it may be. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

#define LIMIT_BYTES 4096u

static void a_file_that_is_full_makes_room_for_another(void **state)
{
    char folder[] = "/tmp/muster-log-XXXXXX", path[PATH_MAX], last[PATH_MAX], third[PATH_MAX];
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), fd;
    struct stat now, before;
    char text[LIMIT_BYTES] = "";
    int got, kept, more;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/muster.log", folder);
    (void)snprintf(last, sizeof(last), "%s/muster.log.1", folder);
    (void)snprintf(third, sizeof(third), "%s/muster.log.2", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)fflush(NULL);
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
    log_keep_file(path, LIMIT_BYTES);
    for (int i = 0; i < 1000; i++)
        log_warn("line %d", i);
    log_keep_file(NULL, 0);
    got = stat(path, &now);
    kept = stat(last, &before);
    more = access(third, F_OK);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)!read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)close(out);
    (void)close(err);
    (void)remove(path);
    (void)remove(last);
    (void)rmdir(folder);
    assert_int_equal(got, 0);
    assert_int_equal(kept, 0);
    assert_true(more < 0);
    assert_true(now.st_size <= LIMIT_BYTES && before.st_size <= LIMIT_BYTES);
    assert_int_equal(now.st_mode & 0777, 0600);
    assert_non_null(strstr(text, " W line 999\n"));
}

static void a_line_has_no_control_characters(void **state)
{
    char text[256] = "";
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    log_copy_to(ends[1]);
    log_warn("a\x1b[2J\nb\xc2\x9b\x32J\xe2\x80\xaej\xe2\x81\xa6k\x9bl \xc3\xa9 %s", "\xe2\x80");
    log_copy_to(-1);
    (void)!read(ends[0], text, sizeof(text) - 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_non_null(strstr(text, " W a [2J b  2J   j   k l \xc3\xa9   \n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_that_is_full_makes_room_for_another),
                                       cmocka_unit_test(a_line_has_no_control_characters)};

    return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
