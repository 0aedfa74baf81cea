/* mpi_words_test.c - one sentence out of what mpirun prints when it fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/mpi_watch.h"

#define RULE "--------------------------------------------------------------------------\n"

static void expect_with(const char *text, const struct mpi_end *failed, int code, const char *cause,
                        int wanted_code)
{
    for (size_t step = 1; step < 100; step += 13) {
        struct arena a = ARENA_INIT(65536);
        struct mpi_words w;
        const char *said;
        int got = code;

        mpi_words_init(&w);
        for (size_t at = 0; at < strlen(text); at += step)
            mpi_words_feed(&w, text + at, min_size(step, strlen(text) - at));
        said = mpi_words_cause(&w, &a, failed, &got);
        if (cause)
            assert_string_equal(said, cause);
        else
            assert_null(said);
        assert_int_equal(got, wanted_code);
        mpi_words_release(&w);
        arena_release(&a);
    }
}

static void expect(const char *text, int code, const char *cause, int wanted_code)
{
    expect_with(text, NULL, code, cause, wanted_code);
}

static void a_program_that_is_not_there(void **state)
{
    (void)state;
    expect(RULE "mpirun was unable to launch the specified application as it could not access\n"
                "or execute an executable:\n\nExecutable: /no/such/program\nNode: w-0\n\n"
                "while attempting to start process rank 0.\n" RULE
                "3 total processes failed to start\n",
           132,
           "mpirun was unable to launch the specified application as it could not access or "
           "execute an executable: Executable: /no/such/program Node: w-0 while attempting to "
           "start process rank 0.",
           127);
}

static void a_rank_that_fails_says_why_itself(void **state)
{
    (void)state;
    expect("Traceback (most recent call last):\n  File \"t.py\", line 1\nValueError: no data\n" RULE
           "Primary job  terminated normally, but 1 process returned\n"
           "a non-zero exit code. Per user-direction, the job has been aborted.\n" RULE RULE
           "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
           "the job to be terminated. The first process to do so was:\n\n"
           "  Process name: [[9642,1],2]\n  Exit code:    3\n" RULE,
           3, "rank 2 exited with code 3; it last said: ValueError: no data", 3);
}

static void a_rank_is_named_by_open_mpi_5_too(void **state)
{
    (void)state;
    expect("ValueError: no data\n" RULE
           "prterun detected that one or more processes exited with non-zero status, thus causing\n"
           "the job to be terminated. The first process to do so was:\n\n"
           "   Process name: [prterun-a-1,b-launcher-681@1,12]\n   Exit code:    1\n" RULE,
           1, "rank 12 exited with code 1; it last said: ValueError: no data", 1);
}

/* All fail; the first of them ends the others, wherever they are. */
static void a_rank_that_is_cut_short_does_not_hide_why(void **state)
{
    (void)state;
    expect("Traceback (most recent call last):\n  File \"t.py\", line 1\nValueError: no data\n" RULE
           "Primary job  terminated normally, but 1 process returned\n"
           "a non-zero exit code. Per user-direction, the job has been aborted.\n" RULE
           "Traceback (most recent call last):\n  File \"t.py\", line 1\n" RULE
           "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
           "the job to be terminated. The first process to do so was:\n\n"
           "  Process name: [[9642,1],2]\n  Exit code:    3\n" RULE,
           3, "rank 2 exited with code 3; it last said: ValueError: no data", 3);
}

static void a_lost_worker_is_named(void **state)
{
    (void)state;
    expect(RULE
           "ORTE has lost communication with a remote daemon.\n\n"
           "  HNP daemon   : [[1,0],0] on node l\n  Remote daemon: [[1,0],2] on node w-1\n" RULE,
           205,
           "ORTE has lost communication with a remote daemon. HNP daemon : [[1,0],0] on node l "
           "Remote daemon: [[1,0],2] on node w-1",
           1);
}

static void a_signal_keeps_its_code(void **state)
{
    (void)state;
    expect(RULE "mpirun noticed that process rank 1 with PID 7 on node w-1 exited on signal 9 "
                "(Killed).\n" RULE,
           137,
           "mpirun noticed that process rank 1 with PID 7 on node w-1 exited on signal 9 (Killed).",
           137);
}

/* --enable-recovery: mpirun does not mind, and says nothing. */
static void a_rank_that_mpirun_does_not_mind_is_told(void **state)
{
    struct mpi_end failed = {.rank = 1, .code = 3, .host = "w-1", .why = ""};

    (void)state;
    expect_with("", &failed, 0, "rank 1 on w-1 exited with code 3", 3);
    expect_with("no data\n[l:7] PMIX ERROR: BAD-PARAM in file a.c at line 1\n", &failed, 0,
                "rank 1 on w-1 exited with code 3; it last said: no data", 3);
    failed.code = 139;
    expect_with("", &failed, 0, "rank 1 on w-1 exited with code 139 (segmentation fault, SIGSEGV)",
                139);
    failed.code = 137; /* whether for lack of memory is known in the worker only */
    expect_with("", &failed, 0, "rank 1 on w-1 exited with code 137 (killed, SIGKILL)", 137);
    failed.why = "not for lack of memory";
    expect_with("no data\n", &failed, 0,
                "rank 1 on w-1 exited with code 137 (killed, SIGKILL): not for lack of memory; it "
                "last said: no data",
                137);
}

/* What mpirun itself kills did not cause it. */
static void a_killed_rank_does_not_hide_a_lost_worker(void **state)
{
    struct mpi_end killed = {.rank = 0, .code = 137, .host = "w-0", .why = ""};

    (void)state;
    expect_with(RULE "ORTE has lost communication with a remote daemon.\n" RULE, &killed, 205,
                "ORTE has lost communication with a remote daemon.", 1);
}

/* Open MPI 4.1 then exits with 0. */
static void ranks_that_could_not_be_started_have_failed(void **state)
{
    (void)state;
    expect(RULE "The specified fork agent was not found:\n  Node: w-0\n" RULE, 0,
           "The specified fork agent was not found: Node: w-0", 127);
}

static void what_says_nothing_is_left_alone(void **state)
{
    (void)state;
    expect("some words\n", 1, NULL, 1);
    expect(RULE "a warning\n" RULE, 0, NULL, 0);
    expect(RULE "a box that does not end", 1, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_is_not_there),
        cmocka_unit_test(a_rank_that_fails_says_why_itself),
        cmocka_unit_test(a_rank_that_is_cut_short_does_not_hide_why),
        cmocka_unit_test(a_rank_is_named_by_open_mpi_5_too),
        cmocka_unit_test(a_lost_worker_is_named),
        cmocka_unit_test(a_signal_keeps_its_code),
        cmocka_unit_test(a_rank_that_mpirun_does_not_mind_is_told),
        cmocka_unit_test(a_killed_rank_does_not_hide_a_lost_worker),
        cmocka_unit_test(ranks_that_could_not_be_started_have_failed),
        cmocka_unit_test(what_says_nothing_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
