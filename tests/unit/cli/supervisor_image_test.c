/* supervisor_image_test.c - the supervisor's program runs out of memory and cannot be changed
 * there. */
#include "cli/supervisor_image.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "runtime/supervisor.h"

#ifdef __SANITIZE_ADDRESS__
#define IS_BUILT_IN false
#elif defined(__has_feature)
#define IS_BUILT_IN (!__has_feature(address_sanitizer))
#else
#define IS_BUILT_IN true
#endif

static void it_runs(void **state)
{
    char *const argv[] = {(char[]){"muster"}, (char[]){SUPERVISOR_COMMAND},
                          (char[]){"/nonexistent"}, NULL};
    const char *path = supervisor_image_path();
    int status;
    pid_t pid;

    (void)state;
    if (!IS_BUILT_IN) {
        assert_null(path);
        return;
    }
    assert_non_null(path);
    assert_ptr_equal(supervisor_image_path(), path);
    assert_int_equal(posix_spawn(&pid, path, NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1); /* there is no such folder */
}

static void it_is_sealed(void **state)
{
    const char *path = supervisor_image_path();
    int fd;

    (void)state;
    assert_int_equal(path != NULL, IS_BUILT_IN);
    if (!path)
        return;
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd < 0 || (write(fd, "x", 1) < 0 && errno == EPERM));
    if (fd >= 0)
        (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs),
        cmocka_unit_test(it_is_sealed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
