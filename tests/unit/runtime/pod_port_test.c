/* pod_port_test.c - only a port that the pod's own processes listen on is connected to. */
#include "runtime/pod_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 10000

static const struct pod_start nobody = {.uid = "u"};

/* A listening socket on the address with port 0 or this one; -1 when the machine has no such. */
static int listen_on(const char *address, unsigned *port, int option)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)*port)};
    bool four = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
    struct sockaddr *at = four ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    socklen_t len = four ? sizeof(v4) : sizeof(v6);
    int fd = socket(four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (!four)
        assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    if (option)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)), 0);
    if (fd < 0 || bind(fd, at, len) != 0 || listen(fd, 8) != 0 || getsockname(fd, at, &len) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    *port = ntohs(four ? v4.sin_port : v6.sin6_port);
    return fd;
}

/* A process that holds the socket, which we do not any more; depth: below how many others. */
static pid_t hold_in_child(int fd, unsigned depth)
{
    int ready[2];
    pid_t child;
    char byte;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ready[0]);
        for (unsigned i = 0; i < depth; i++)
            if (fork() != 0) {
                (void)close(fd);
                (void)close(ready[1]);
                for (;;)
                    (void)pause();
            } else {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            }
        if (write(ready[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(fd);
    return child;
}

static void end_child(pid_t child)
{
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

static int try(pid_t root, unsigned port)
{
    struct pod_members m = {.pod = &nobody, .roots = {root}, .roots_len = 1};
    int fd = pod_port_connect(&m, port, WAIT_MS, NULL);

    if (fd >= 0)
        (void)close(fd);
    return fd < 0 ? fd : 0;
}

static int try_own(const char *address, unsigned depth)
{
    unsigned port = 0;
    int fd = listen_on(address, &port, 0), r;
    pid_t child;

    if (fd < 0)
        return 0; /* no IPv6 here */
    child = hold_in_child(fd, depth);
    r = try(child, port);
    end_child(child);
    return r;
}

static void its_own_ports_are_reached(void **state)
{
    static const char *const addresses[] = {"127.0.0.1", "0.0.0.0", "::", "::1",
                                            "::ffff:127.0.0.1"};

    (void)state;
    for (size_t i = 0; i < ELEMS(addresses); i++)
        for (unsigned depth = 0; depth < 3; depth += 2) {
            int r = -EPERM;

            /* a free port of one address may be another program's on another address */
            for (int tries = 0; r == -EPERM && tries < 10; tries++)
                r = try_own(addresses[i], depth);
            assert_int_equal(r, 0);
        }
}

static void another_ones_ports_are_not(void **state)
{
    unsigned port = 0;
    int fd = listen_on("127.0.0.1", &port, 0);
    pid_t listens = hold_in_child(fd, 0), other = hold_in_child(dup(STDIN_FILENO), 0);

    (void)state;
    assert_int_equal(try(other, port), -EPERM);
    assert_int_equal(try(listens, port), 0);
    end_child(listens);
    assert_int_equal(try(other, port), -ECONNREFUSED);
    end_child(other);
}

static void a_port_that_is_shared_with_another_is_not(void **state)
{
    unsigned port = 0;
    pid_t pod = hold_in_child(listen_on("127.0.0.1", &port, SO_REUSEPORT), 0);
    int theirs = listen_on("127.0.0.1", &port, SO_REUSEPORT); /* ours: the test is no pod */

    (void)state;
    assert_true(theirs >= 0);
    assert_int_equal(try(pod, port), -EPERM);
    (void)close(theirs);
    assert_int_equal(try(pod, port), 0);
    end_child(pod);
}

static void one_that_is_bound_elsewhere_does_not_count(void **state)
{
    unsigned port = 0;
    int fd = listen_on("127.0.0.2", &port, 0);
    pid_t child = hold_in_child(fd, 0);

    (void)state;
    assert_int_equal(try(child, port), -ECONNREFUSED);
    end_child(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_ports_are_reached),
        cmocka_unit_test(another_ones_ports_are_not),
        cmocka_unit_test(a_port_that_is_shared_with_another_is_not),
        cmocka_unit_test(one_that_is_bound_elsewhere_does_not_count),
    };

    int failed = cmocka_run_group_tests_name("runtime/pod_port", tests, NULL, NULL);

    pod_port_from_proc = true;
    return failed + cmocka_run_group_tests_name("runtime/pod_port by /proc", tests, NULL, NULL);
}
