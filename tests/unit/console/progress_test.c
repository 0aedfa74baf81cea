/* progress_test.c - what a log says of its progress, which tag is the loss, and what becomes of it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "api/object.h"
#include "console/log_folder.h"
#include "console/progress_status.h"

static struct log_progress after(const char *text)
{
    struct log_progress p = {.epoch = 0};

    log_progress_take(&p, text, strlen(text));
    return p;
}

/* -1: it cannot be told. */
static double fraction_after(const char *text)
{
    struct log_progress p = after(text);
    double fraction = -1;

    return log_progress_fraction(&p, &fraction) ? fraction : -1;
}

static void fractions(void **state)
{
    static const struct {
        const char *text;
        double fraction;
    } cases[] = {
        {"", -1},
        {"starting\n", -1},
        {"Epoch 3/10\n", 0.2},
        {"epoch 3 of 10\n", 0.2},
        {"Epoch [3/10], loss: 0.5\n", 0.2},
        {"Epoch: 3/10\nstep 50/100\n", 0.25},
        {"Epoch 3/10\n 45%|####5     | 450/1000 [00:10<00:12, 41.2it/s]\r", 0.245},
        {"Epoch 3/10:  50%|#####     | 5/10 [00:10<00:10]\n", 0.25},
        {"epoch 1/3 step 50 loss 0.9 (100 img/s)\n", 0},
        {"epoch 1/3 step 50 loss 0.9\nepoch 1/3 done: validation loss 0.4\n", 1.0 / 3},
        {"epoch 3/3 done: validation loss 0.4 accuracy 0.9\n", 1},
        {"Epoch 0/4\nEpoch 1/4\n", 0.25},
        {"Epoch 3/10\nstep 50/100\nEpoch 4/10\n", 0.3},
        {" 45%|####5     | 450/1000 [00:10<00:12, 41.2it/s]\r 46%|####6     | 460/1000 [00:10<",
         0.46},
        {"step 100/1000 loss 0.3\n", 0.1},
        {"iteration 7 of 14\n", 0.5},
        /* two ranks into one log; a restart */
        {"[rank 0] step 83/2400\n[rank 1] step 82/2400\n", 82.0 / 2400},
        {"step 5/10\nstep 0/10\nstep 1/10\n", 0.1},
        /* these say no total, or not of the whole */
        {"Epoch 3:  45%|####5     | 450/1000 [00:10<00:12]\n", -1},
        {"100%|##########| 10/10 [00:01<00:00]\n 10%|#         | 1/10 [00:00<00:01]\n", -1},
        {"step 9/10\nstep 0/10\n", -1},
        {"step 100 loss 0.3\n", -1},
        {"{'loss': 0.5, 'epoch': 1.37}\n", -1},
        {"resumed from checkpoint at epoch 2\n", -1},
        {"downloaded 30/30 files\n", -1},
        {"Epoch 30/10\n", -1},
        /* what it was called with */
        {"train.py: error: unrecognized arguments: --step 3/10\n", -1},
        {"-epochs 3/10\n", -1},
        {"mini-batch 5/10\n", 0.5},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        double got = fraction_after(cases[i].text);

        if (fabs(got - cases[i].fraction) > 1e-9)
            fail_msg("\"%s\": %g, not %g", cases[i].text, got, cases[i].fraction);
    }
}

/* The end of a log is given again and again. */
static void reading_the_same_lines_again_changes_nothing(void **state)
{
    static const char text[] = "Epoch 3/10\nstep 50/100\nEpoch 4/10\nstep 20/100 loss 0.25\n";
    struct log_progress p = after(text), once = p;

    (void)state;
    log_progress_take(&p, text, strlen(text));
    assert_memory_equal(&p, &once, sizeof(p));
    p = once = after("step 0/4\nstep 1/4\nstep 2/4\nstep 3/4\n");
    log_progress_take(&p, "step 0/4\nstep 1/4\nstep 2/4\nstep 3/4\n", 36);
    assert_memory_equal(&p, &once, sizeof(p));
}

static void losses(void **state)
{
    static const struct {
        const char *text;
        double loss; /* -1: none */
    } cases[] = {
        {"step 5 loss 0.25\n", 0.25},
        {"train_loss=1.5e-2\n", 0.015},
        {"{'loss': 0.5, 'lr': 1}\n", 0.5},
        {"Loss: 3\n", 3},
        {"val_loss: 0.1\n", -1},
        {"validation loss 0.1\n", -1},
        {"test loss 0.1\n", -1},
        {"eval/loss 0.1\n", -1},
        {"val_loss: 0.1 loss: 0.2\n", 0.2},
        {"lossless 3\n", -1},
        {"a loss of memory\n", -1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct log_progress p = after(cases[i].text);
        double got = p.has_loss ? p.loss : -1;

        if (fabs(got - cases[i].loss) > 1e-9)
            fail_msg("\"%s\": %g, not %g", cases[i].text, got, cases[i].loss);
    }
    assert_true(isnan(after("loss nan\n").loss));
}

static void which_tag_is_the_loss(void **state)
{
    static const struct {
        const char *tag;
        int rank;
    } cases[] = {
        {"loss", 1},        {"Loss", 1},       {"train/loss", 1}, {"train_loss", 1},
        {"Loss/train", 1},  {"model/loss", 2}, {"total_loss", 2}, {"train/loss_step", 2},
        {"my loss (a)", 3}, {"val/loss", 0},   {"val_loss", 0},   {"loss/test", 0},
        {"Loss/eval", 0},   {"accuracy", 0},   {"lossless", 0},   {"validation/loss", 0},
        {"evaluation", 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        if (loss_tag_rank(cases[i].tag) != cases[i].rank)
            fail_msg("%s: %d, not %d", cases[i].tag, loss_tag_rank(cases[i].tag), cases[i].rank);
}

static void time_left_is_measured(void **state)
{
    struct progress_pace pace = {.any = false};
    double left;

    (void)state;
    assert_false(progress_pace_left(&pace, 0, &left));
    progress_pace_note(&pace, 0.1, 1000);
    assert_false(progress_pace_left(&pace, 60000, &left)); /* it has not moved */
    progress_pace_note(&pace, 0.2, 10000);
    assert_false(progress_pace_left(&pace, 60000, &left)); /* since when it was at 0.1 is unknown */
    progress_pace_note(&pace, 0.4, 20000);
    assert_true(progress_pace_left(&pace, 20000, &left));
    assert_true(fabs(left - 30) < 1e-6);
    assert_true(progress_pace_left(&pace, 25000, &left));
    assert_true(fabs(left - 25) < 1e-6); /* time goes by without news */
    assert_true(progress_pace_left(&pace, 999000, &left));
    assert_true(left == 0);
    progress_pace_note(&pace, 0.1, 30000); /* began again */
    assert_false(progress_pace_left(&pace, 30000, &left));
}

static struct json *status_of(struct arena *a, const char *log, const struct board_progress *board,
                              bool ended)
{
    struct log_progress l = after(log);
    struct progress_pace pace = {.any = false};

    return progress_status(a, &(struct progress_facts){.log = &l,
                                                       .board = board,
                                                       .pace = &pace,
                                                       .now_ms = 1000000,
                                                       .ended = ended,
                                                       .succeeded = ended});
}

static void what_is_written(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct buf out = BUF_INIT(1u << 16);
    struct board_progress nothing = {.has_step = false};
    struct board_progress board = {.has_step = true,
                                   .has_loss = true,
                                   .has_rate = true,
                                   .step = 450,
                                   .loss = 0.3125,
                                   .steps_per_second = 2.5,
                                   .wall_time = 999};

    (void)state;
    assert_null(status_of(&a, "hello\n", &nothing, false));
    json_write(&out, status_of(&a, "Epoch 3/10\n", &board, false));
    assert_string_equal(out.data,
                        "{\"step\":450,\"loss\":0.3125,\"stepsPerSecond\":2.5,\"fraction\":"
                        "0.2,\"secondsLeft\":null,\"message\":\"epoch 3/10\"}");
    buf_clear(&out);
    board.loss = NAN;
    board.wall_time = 1; /* long ago: what its speed was is history */
    json_write(&out, status_of(&a, "", &board, false));
    assert_string_equal(out.data, "{\"step\":450,\"loss\":\"NaN\",\"stepsPerSecond\":null,"
                                  "\"fraction\":null,\"secondsLeft\":null,\"message\":null}");
    buf_clear(&out);
    json_write(&out, status_of(&a, "Epoch 10/10\n", &nothing, true));
    assert_non_null(strstr(out.data, "\"fraction\":1,"));
    buf_clear(&out);
    json_write(&out, status_of(&a, "step 8/10\nstep 9/10\n", &nothing, true));
    assert_non_null(strstr(out.data, "\"fraction\":1,"));
    assert_non_null(strstr(out.data, "\"message\":null")); /* not 9/10 */
    buf_release(&out);
    arena_release(&a);
}

/* --- where event files are -------------------------------------------------------------- */

static struct json *parse(struct arena *a, const char *text)
{
    auto_err err = ERR_INIT;
    struct json *v = json_parse(a, text, strlen(text), &err);

    assert_non_null(v);
    return v;
}

static void filesets(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    const char *claim, *path;
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(log_fileset_parse(&a, "t9k://pvc/logs/a/b", &claim, &path, &err), 0);
    assert_string_equal(claim, "logs");
    assert_string_equal(path, "a/b");
    assert_int_equal(log_fileset_parse(&a, "t9k://pvc/logs", &claim, &path, &err), 0);
    assert_string_equal(path, "");
    assert_true(log_fileset_parse(&a, "s3://bucket/x", &claim, &path, &err) < 0);
    assert_non_null(strstr(err.text, "t9k://pvc/NAME/path"));
    arena_release(&a);
}

static void a_job_has_its_own_files_of_a_shared_folder(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct log_folder f;
    auto_err err = ERR_INIT;
    struct json *job = parse(
        &a, "{\"metadata\":{\"name\":\"ddp\",\"uid\":\"u\",\"creationTimestamp\":"
            "\"2001-09-09T01:46:40Z\"},\"spec\":{\"replicaSpecs\":[{\"template\":{\"spec\":"
            "{\"containers\":[{\"workingDir\":\"/work\"}]}}}]},"
            "\"status\":{\"completionTime\":\"2001-09-09T01:48:20Z\"}}");
    char mine[512];

    (void)state;
    assert_int_equal(log_folder_of(&a, job, "host1", &f, &err), 0);
    assert_string_equal(f.roots[0].base, "/work");
    assert_int_equal(f.roots[0].scope, FOLDER_WORKING);
    (void)snprintf(mine, sizeof(mine), "events.out.tfevents.1000000050.%sworker-0.1.0",
                   f.rule.host_prefix);
    assert_true(log_rule_wants(&f.rule, mine, 7));
    (void)snprintf(mine, sizeof(mine), "events.out.tfevents.999999999.%sworker-0.1.0",
                   f.rule.host_prefix);
    assert_false(log_rule_wants(&f.rule, mine, 7)); /* older than the job */
    assert_true(log_rule_wants(&f.rule, "events.out.tfevents.1000000050.host1.1.0", 7));
    assert_false(log_rule_wants(&f.rule, "events.out.tfevents.1000000101.host1.1.0", 7));
    assert_false(
        log_rule_wants(&f.rule, "events.out.tfevents.1000000050.ddp-other-worker-0.1.0", 7));
    assert_false(log_rule_wants(&f.rule, "some.tfevents", 7));
    arena_release(&a);
}

/* A daemon that may read everything shows a job no files that its user could not have written. */
static void files_of_others_are_not_the_jobs(void **state)
{
    static const char file[] = "events.out.tfevents.1000000050.host1.1.0";
    static const char text[] =
        "{\"metadata\":{\"name\":\"ddp\",\"uid\":\"u\",\"creationTimestamp\":"
        "\"2001-09-09T01:46:40Z\"},\"spec\":{\"replicaSpecs\":[{\"template\":{\"spec\":{"
        "\"securityContext\":{\"runAsUser\":%d},\"containers\":[{\"workingDir\":\"/work\"}]}}}]}}";
    struct arena a = ARENA_INIT(1u << 20);
    struct json *job;
    struct log_folder f;
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(log_folder_of(&a, parse(&a, arena_printf(&a, text, 1000)), "host1", &f, &err),
                     0);
    assert_true(log_rule_wants(&f.rule, file, 1000));
    assert_int_equal(log_rule_wants(&f.rule, file, 7), geteuid() != 0);
    job = parse(&a, arena_printf(&a, text, 0));
    assert_int_equal(log_folder_of(&a, job, "host1", &f, &err), 0);
    assert_true(log_rule_wants(&f.rule, file, 7));
    /* Whatever its template says, a marked job's pods run as its user. */
    json_set_string(&a, json_make_object(&a, json_get_mut(job, "metadata"), "annotations"),
                    ANNOTATION_RUN_AS, "2001000000");
    assert_int_equal(log_folder_of(&a, job, "host1", &f, &err), 0);
    assert_true(log_rule_wants(&f.rule, file, 2001000000));
    assert_false(log_rule_wants(&f.rule, file, 7));
    arena_release(&a);
}

static void an_annotation_says_where(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    struct log_folder f;
    auto_err err = ERR_INIT, none = ERR_INIT;
    struct json *job = parse(&a, "{\"metadata\":{\"name\":\"j\",\"uid\":\"u\",\"annotations\":"
                                 "{\"muster.dev/log-dir\":\"/logs\"}}}");

    (void)state;
    assert_int_equal(log_folder_of(&a, job, "h", &f, &err), 0);
    assert_string_equal(f.roots[0].base, "/logs");
    assert_true(log_rule_wants(&f.rule, "any.tfevents", 7));
    assert_true(log_folder_of(&a, parse(&a, "{\"metadata\":{\"name\":\"j\"}}"), "h", &f, &none) <
                0);
    assert_non_null(strstr(none.hint, "workingDir"));
    assert_int_equal(log_folder_of(&a,
                                   parse(&a, "{\"metadata\":{\"name\":\"j\",\"annotations\":{"
                                             "\"muster.dev/folder\":\"/beside/it\"}}}"),
                                   "h", &f, &err),
                     0);
    assert_string_equal(f.roots[0].base, "/beside/it");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fractions),
        cmocka_unit_test(reading_the_same_lines_again_changes_nothing),
        cmocka_unit_test(losses),
        cmocka_unit_test(which_tag_is_the_loss),
        cmocka_unit_test(time_left_is_measured),
        cmocka_unit_test(what_is_written),
        cmocka_unit_test(filesets),
        cmocka_unit_test(a_job_has_its_own_files_of_a_shared_folder),
        cmocka_unit_test(files_of_others_are_not_the_jobs),
        cmocka_unit_test(an_annotation_says_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
