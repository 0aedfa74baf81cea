/* peer_user_test.c - the user of the process at the other end; none once it is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/peer_user.h"

#define NOBODY 65534u

struct pair {
    int listener, ours, theirs;
};

static struct pair join(int family)
{
    struct sockaddr_storage at = {.ss_family = (sa_family_t)family};
    socklen_t len = sizeof(at);
    struct pair p = {.listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0),
                     .theirs = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct in_addr v4 = {.s_addr = htonl(INADDR_LOOPBACK)};

    if (family == AF_INET)
        memcpy(&((struct sockaddr_in *)&at)->sin_addr, &v4, sizeof(v4));
    else
        memcpy(&((struct sockaddr_in6 *)&at)->sin6_addr, &in6addr_loopback,
               sizeof(in6addr_loopback));
    assert_int_equal(
        bind(p.listener, (struct sockaddr *)&at,
             family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)),
        0);
    assert_int_equal(listen(p.listener, 1), 0);
    assert_int_equal(getsockname(p.listener, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(connect(p.theirs, (struct sockaddr *)&at, len), 0);
    p.ours = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(p.ours >= 0);
    return p;
}

static void check_family(int family)
{
    struct pair p = join(family);
    uid_t user = NOBODY;

    assert_true(peer_user(p.ours, &user));
    assert_int_equal(user, geteuid());
    /* The kernel would say root: what is sent and left at once must not pass for his. */
    (void)close(p.theirs);
    assert_false(peer_user(p.ours, &user));
    (void)close(p.ours);
    (void)close(p.listener);
}

static void it_is_the_other_ends(void **state)
{
    (void)state;
    check_family(AF_INET);
    check_family(AF_INET6);
}

static void another_user_is_told(void **state)
{
    uid_t user = 0;
    int status;
    pid_t child;

    (void)state;
    if (geteuid() != 0)
        skip();
    child = fork();
    if (child == 0) {
        struct pair p;

        if (seteuid(NOBODY) != 0)
            _exit(2);
        p = join(AF_INET);
        _exit(peer_user(p.ours, &user) && user == NOBODY ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_is_no_connection_has_none(void **state)
{
    uid_t user;
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_false(peer_user(fds[0], &user));
    (void)close(fds[0]);
    (void)close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_other_ends),
        cmocka_unit_test(another_user_is_told),
        cmocka_unit_test(what_is_no_connection_has_none),
    };
    int failed = cmocka_run_group_tests_name("net/peer_user", tests, NULL, NULL);

    peer_user_from_proc = true;
    return failed + cmocka_run_group_tests_name("net/peer_user by /proc", tests, NULL, NULL);
}
