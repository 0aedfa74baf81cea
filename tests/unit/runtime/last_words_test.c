/* last_words_test.c - the line of stderr that tells why, and what the kernel says of a kill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "runtime/last_words.h"
#include "runtime/oom.h"

static void assert_words(const char *text, const char *expected)
{
    /* however it is cut into reads */
    for (size_t step = 1; step < 8; step += 3) {
        struct arena a = ARENA_INIT(1u << 20);
        struct last_words w = {0};
        size_t len = strlen(text);

        for (size_t at = 0; at < len; at += step)
            last_words_feed(&w, text + at, len - at < step ? len - at : step);
        assert_string_equal(last_words_text(&w, &a), expected);
        arena_release(&a);
    }
}

static void the_last_line_counts(void **state)
{
    (void)state;
    assert_words("", "");
    assert_words("\n \n\n", "");
    assert_words("one\ntwo\n", "two");
    assert_words("one\ntwo", "two");
    assert_words("one\n   two  \n\n\n", "two");
    assert_words("one\n=====\n", "one"); /* a ruler says nothing */
    assert_words("epoch 1:  10%\repoch 1:  20%\r", "epoch 1:  20%");
}

static void a_traceback_ends_with_its_exception(void **state)
{
    (void)state;
    assert_words(
        "loading\nTraceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n"
        "    f()\nRuntimeError: CUDA error: out of memory\n",
        "RuntimeError: CUDA error: out of memory");
    /* what torch writes behind it does not hide it */
    assert_words("Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n"
                 "RuntimeError: Connection closed by peer\n"
                 "Exception raised from recv (most recent call first):\nframe #0: c10::Error\n"
                 "frame #1: __libc_start_main\n",
                 "RuntimeError: Connection closed by peer ... Exception raised from recv (most "
                 "recent call first):");
    assert_words("[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\", line 3\n"
                 "[rank1]: ValueError: bad shape\n",
                 "ValueError: bad shape");
}

static void the_second_exception_is_the_one(void **state)
{
    (void)state;
    assert_words("Traceback (most recent call last):\n  File \"t.py\", line 1\nKeyError: 'a'\n\n"
                 "During handling of the above exception, another exception occurred:\n\n"
                 "Traceback (most recent call last):\n  File \"t.py\", line 3\nOSError: gone\n",
                 "OSError: gone");
}

static void torchruns_report_gives_way_to_the_worker(void **state)
{
    (void)state;
    assert_words("Traceback (most recent call last):\n  File \"t.py\", line 9\n"
                 "ZeroDivisionError: division by zero\n"
                 "ERROR:torch.distributed.elastic: failed (exitcode: 1) local_rank: 0\n"
                 "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8\n"
                 "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
                 "=========\nt.py FAILED\nRoot Cause\n",
                 "ZeroDivisionError: division by zero");
    assert_words("Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8\n"
                 "x.ChildFailedError:\n====\nt.py FAILED\n",
                 "x.ChildFailedError:");
}

#define TORCHRUN                                                                                   \
    "ERROR:torch.distributed.elastic: failed (exitcode: 1) local_rank: 0\n"                        \
    "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8\n"                   \
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"                        \
    "=====\nt.py FAILED\n-----\nFailures:\n"
#define NONE "  <NO_OTHER_FAILURES>\n"
#define FAILURE(number, rank, code, reason)                                                        \
    "[" number                                                                                     \
    "]:\n  time      : 2026-11-16_12:01:51\n  host      : localhost\n  rank      : " rank          \
    " (local_rank: " rank ")\n  exitcode  : " code " (pid: 7)\n  error_file: <N/A>\n"              \
    "  traceback : " reason "\n"
#define ROOT "-----\nRoot Cause (first observed failure):\n"
#define NO_REASON "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
#define VICTIM "RuntimeError: [gloo/pair.cc:598] Connection closed by peer [127.0.0.1]:475"
#define TRACED(mark, exception)                                                                    \
    mark "Traceback (most recent call last):\n" mark "  File \"t.py\", line 6\n" mark exception "\n"

static void torchruns_root_cause_is_told(void **state)
{
    (void)state;
    /* as torch 1.13 writes it: nothing tells whose a traceback is */
    assert_words(TRACED("", "PermissionError: denied") TRACED("", VICTIM)
                     TORCHRUN NONE ROOT FAILURE("0", "0", "1", NO_REASON) "=====\n",
                 "rank 0: PermissionError: denied");
    assert_words(TRACED("", VICTIM) TRACED("", "PermissionError: denied")
                     TORCHRUN NONE ROOT FAILURE("0", "3", "1", NO_REASON) "=====\n",
                 "rank 3: PermissionError: denied");
    /* with marks, line by line between one another */
    assert_words("[rank1]: Traceback (most recent call last):\n"
                 "[rank0]: Traceback (most recent call last):\n"
                 "[rank1]:   File \"t.py\", line 6\n[rank0]:   File \"t.py\", line 5\n"
                 "[rank0]: PermissionError: denied\n[rank1]: KeyError: 'x'\n" TORCHRUN FAILURE(
                     "1", "1", "1", NO_REASON) ROOT FAILURE("0", "0", "1", NO_REASON),
                 "rank 0: PermissionError: denied");
    /* a program that records its errors */
    assert_words(TRACED("", VICTIM) TORCHRUN FAILURE(
                     "1", "1", "1",
                     "Traceback (most recent call last):\n    File \"t.py\", line 9\n"
                     "      dist.all_reduce(x)\n  " VICTIM "\n  ")
                     ROOT FAILURE("0", "0", "1",
                                  "Traceback (most recent call last):\n    File \"t.py\"\n"
                                  "  PermissionError: denied\n  ") "=====\n",
                 "rank 0: PermissionError: denied");
    assert_words(TORCHRUN NONE ROOT FAILURE("0", "2", "4", NO_REASON) "=====\n",
                 "rank 2 exited with code 4");
    {
        char many[65536] = TRACED("", "KeyError: 'x'") TORCHRUN;

        for (int i = 0; i < 100; i++)
            strcat(many, FAILURE("7", "7", "1", NO_REASON));
        assert_words(strcat(many, ROOT FAILURE("0", "0", "1", NO_REASON)), "rank 0: KeyError: 'x'");
    }
}

/* It sees two ends at once, and takes the first in order. */
static void a_victim_gives_way_though_torchrun_names_it(void **state)
{
    (void)state;
    assert_words(TRACED("", VICTIM)
                     TORCHRUN FAILURE("1", "1", "-9", "Signal 9 (SIGKILL) received by PID 7")
                         ROOT FAILURE("0", "0", "1", NO_REASON) "=====\n",
                 "rank 1: Signal 9 (SIGKILL) received by PID 7");
    assert_words(TRACED("[rank0]: ", VICTIM) TRACED("[rank1]: ", "KeyError: 'x'")
                     TORCHRUN FAILURE("1", "1", "1", NO_REASON)
                         ROOT FAILURE("0", "0", "1", NO_REASON),
                 "rank 1: KeyError: 'x'");
    /* the cause is in another replica */
    assert_words(TRACED("", VICTIM)
                     TORCHRUN FAILURE("1", "1", "-15", "Signal 15 (SIGTERM) received by PID 7")
                         ROOT FAILURE("0", "0", "1", NO_REASON) "=====\n",
                 "rank 0: " VICTIM);
}

static void an_exception_long_ago_is_history(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct last_words w = {0};
    const char *survived = "Traceback (most recent call last):\n  File\nIOError: retried\n";

    (void)state;
    last_words_feed(&w, survived, strlen(survived));
    for (int i = 0; i < 101; i++)
        last_words_feed(&w, "step\n", 5);
    last_words_feed(&w, "disk full\n", 10);
    assert_string_equal(last_words_text(&w, &a), "disk full");
    arena_release(&a);
}

static void bytes_are_made_fit_for_a_status(void **state)
{
    (void)state;
    assert_words("\x1b[31mError:\x1b[0m \x07"
                 "bell\ttab\x7f\n",
                 "Error: bell tab");
    assert_words("caf\xc3\xa9 \xff!\xc2\x9bz....\n", "caf\xc3\xa9 \xef\xbf\xbd!z....");
    assert_words("cut \x1b[", "cut");
}

static void long_lines_are_bounded_and_stay_utf8(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct last_words w = {0};
    const char *text;

    (void)state;
    last_words_feed(&w, "x", 1);
    for (int i = 0; i < 100000; i++)
        last_words_feed(&w, "\xe4\xbd\xa0", 3);
    text = last_words_text(&w, &a);
    assert_true(strlen(text) < LAST_WORDS_LINE_BYTES && strlen(text) > LAST_WORDS_LINE_BYTES - 8);
    for (const char *p = text; *p;) {
        size_t n = utf8_sequence(p, strlen(p));

        assert_true(n > 0);
        assert_int_not_equal((unsigned char)*p, 0xef);
        p += n;
    }
    arena_release(&a);
}

static void without_memory_there_are_no_words(void **state)
{
    struct arena a = ARENA_INIT(0);
    struct last_words w = {0};

    (void)state;
    last_words_feed(&w, "words\n", 6);
    assert_string_equal(last_words_text(&w, &a), "");
    arena_release(&a);
}

/* --- the kernel --- */

static void write_file(const char *root, const char *name, const char *text)
{
    char path[512], *slash;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void counts_are_read_in_both_cgroup_versions(void **state)
{
    char root[] = "/tmp/muster-oom-XXXXXX", command[64];
    struct oom_count n;

    (void)state;
    assert_non_null(mkdtemp(root));
    n = oom_count_read(root);
    assert_true(n.cgroup == -1 && n.machine == -1);
    write_file(root, "proc/vmstat", "nr_free_pages 1\noom_kill 7\nx 1\n");
    write_file(root, "proc/self/cgroup", "nonsense\n9:cpu:/a\n8:memory:/job\n");
    write_file(root, "sys/fs/cgroup/memory/job/memory.oom_control",
               "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    n = oom_count_read(root);
    assert_true(n.cgroup == 3 && n.machine == 7);
    write_file(root, "proc/self/cgroup", "0::/user/job\n");
    assert_int_equal(oom_count_read(root).cgroup, -1);
    write_file(root, "sys/fs/cgroup/user/job/memory.events", "low 0\noom 2\noom_kill 2\n");
    assert_int_equal(oom_count_read(root).cgroup, 2);
    (void)snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static void a_risen_count_tells_who_killed(void **state)
{
    static const struct {
        struct oom_count before, after;
        const char *reason, *words;
    } cases[] = {
        {{0, 4, 0}, {1, 5, 0}, "OOMKilled", "its cgroup's oom_kill went from 0 to 1"},
        {{2, 4, 0}, {2, 5, 0}, "Error", "likely for lack of memory"},
        {{-1, 4, 0}, {-1, 4, 0}, "Error", "not for lack of memory"},
        {{-1, -1, 0}, {-1, -1, 0}, "Error", ""},
        {{-1, -1, 0}, {1, -1, 0}, "Error", ""},
    };
    struct arena a = ARENA_INIT(1u << 16), none = ARENA_INIT(0);
    const char *reason;

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const char *text = oom_words(&a, cases[i].before, cases[i].after, &reason);

        assert_string_equal(reason, cases[i].reason);
        assert_int_equal(strncmp(text, cases[i].words, strlen(cases[i].words)), 0);
        assert_int_equal(text[0] == '\0', cases[i].words[0] == '\0');
    }
    assert_string_equal(oom_words(&none, cases[0].before, cases[0].after, &reason), "");
    assert_string_equal(reason, "OOMKilled");
    arena_release(&a);
    arena_release(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_counts),
        cmocka_unit_test(a_traceback_ends_with_its_exception),
        cmocka_unit_test(the_second_exception_is_the_one),
        cmocka_unit_test(torchruns_report_gives_way_to_the_worker),
        cmocka_unit_test(torchruns_root_cause_is_told),
        cmocka_unit_test(a_victim_gives_way_though_torchrun_names_it),
        cmocka_unit_test(an_exception_long_ago_is_history),
        cmocka_unit_test(bytes_are_made_fit_for_a_status),
        cmocka_unit_test(long_lines_are_bounded_and_stay_utf8),
        cmocka_unit_test(without_memory_there_are_no_words),
        cmocka_unit_test(counts_are_read_in_both_cgroup_versions),
        cmocka_unit_test(a_risen_count_tells_who_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
