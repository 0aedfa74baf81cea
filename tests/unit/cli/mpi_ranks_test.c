/* mpi_ranks_test.c - ranks tell their launcher how they ended, whatever mpirun makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/mpi_ranks.h"

struct fixture {
    struct mpi_ranks *ranks;
    int alive[2]; /* open as long as a rank is */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    auto_err err = ERR_INIT;

    assert_non_null(f);
    f->ranks = mpi_ranks_new(true, &err);
    assert_non_null(f->ranks);
    assert_int_equal(pipe(f->alive), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mpi_ranks_free(f->ranks);
    (void)close(f->alive[0]);
    (void)close(f->alive[1]);
    free(f);
    return 0;
}

/* As mpirun starts it in a worker. */
static pid_t start(struct fixture *f, const char *rank, const char *script)
{
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL}, where[200];
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    (void)close(f->alive[0]);
    (void)snprintf(where, sizeof(where), "%s w-%s", getenv(MPI_RANKS_VARIABLE), rank);
    (void)setenv(MPI_RANKS_VARIABLE, where, 1);
    (void)setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    (void)setenv("PMIX_NAMESPACE", "1", 1);
    _exit(mpi_rank_main(3, argv));
}

/* Until all ranks have ended. */
static void follow(struct fixture *f)
{
    (void)close(f->alive[1]);
    for (;;) {
        struct pollfd fds[] = {{.fd = mpi_ranks_fd(f->ranks), .events = POLLIN},
                               {.fd = f->alive[0], .events = POLLIN}};

        if (poll(fds, ELEMS(fds), -1) < 0)
            continue;
        if (fds[0].revents)
            mpi_ranks_serve(f->ranks);
        else if (fds[1].revents)
            break;
    }
    (void)close(f->alive[0]);
    assert_int_equal(pipe(f->alive), 0);
}

static int status_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void the_first_that_failed_is_named(void **state)
{
    struct fixture *f = *state;
    struct mpi_end end;
    pid_t good = start(f, "0", "[ -z \"$" MPI_RANKS_VARIABLE "\" ]"), bad = start(f, "7", "exit 3");

    follow(f);
    assert_true(mpi_ranks_failure(f->ranks, &end));
    assert_int_equal(end.rank, 7);
    assert_int_equal(end.code, 3);
    assert_string_equal(end.host, "w-7");
    assert_int_equal(WEXITSTATUS(status_of(good)), 0); /* the program does not see our key */
    assert_int_equal(WEXITSTATUS(status_of(bad)), 3);
}

static void ranks_that_end_well_are_no_failure(void **state)
{
    struct fixture *f = *state;
    struct mpi_end end;
    pid_t one = start(f, "0", "true"), two = start(f, "1", "true");

    follow(f);
    assert_false(mpi_ranks_failure(f->ranks, &end));
    assert_int_equal(status_of(one), 0);
    assert_int_equal(status_of(two), 0);
}

static void a_signal_is_passed_on_as_it_was(void **state)
{
    struct fixture *f = *state;
    struct mpi_end end;
    pid_t rank = start(f, "0", "kill -SEGV $$");

    follow(f);
    assert_true(mpi_ranks_failure(f->ranks, &end));
    assert_int_equal(end.code, 128 + SIGSEGV);
    assert_true(WIFSIGNALED(status_of(rank)));
}

/* The program dies with it, as its result could not be reported. */
static void a_rank_that_cannot_say_anything_was_killed(void **state)
{
    struct fixture *f = *state;
    struct mpi_end end;
    pid_t rank = start(f, "4", "kill -KILL $PPID; exec sleep 1000");

    follow(f);
    assert_true(mpi_ranks_failure(f->ranks, &end));
    assert_int_equal(end.rank, 4);
    assert_int_equal(end.code, 128 + SIGKILL);
    assert_true(WIFSIGNALED(status_of(rank)));
}

static void a_restarted_rank_is_counted_again(void **state)
{
    struct fixture *f = *state;
    struct mpi_end end;
    pid_t first = start(f, "0", "exit 3"), second;

    follow(f);
    assert_int_equal(WEXITSTATUS(status_of(first)), 3);
    second = start(f, "0", "exit 0");
    follow(f);
    assert_int_equal(status_of(second), 0);
    assert_false(mpi_ranks_failure(f->ranks, &end));
}

/* Another user of the machine. */
static void who_does_not_know_the_key_is_not_believed(void **state)
{
    struct fixture *f = *state;
    char known[200], forged[200], address[100], port[10];
    struct mpi_end end;
    pid_t rank;

    (void)snprintf(known, sizeof(known), "%s", getenv(MPI_RANKS_VARIABLE));
    assert_int_equal(sscanf(known, "%99s %9s", address, port), 2);
    (void)snprintf(forged, sizeof(forged), "%s %s 00000000-0000-4000-8000-000000000000", address,
                   port);
    (void)setenv(MPI_RANKS_VARIABLE, forged, 1);
    rank = start(f, "0", "exit 3");
    follow(f);
    assert_false(mpi_ranks_failure(f->ranks, &end));
    assert_int_equal(WEXITSTATUS(status_of(rank)), 1); /* it lost a launcher it never had */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_that_failed_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranks_that_end_well_are_no_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_signal_is_passed_on_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rank_that_cannot_say_anything_was_killed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_restarted_rank_is_counted_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_know_the_key_is_not_believed, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
