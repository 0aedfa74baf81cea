/* tensorboard_test.c - validation of TensorBoards, alone and in a job, and their warnings. */
#include "api/tensorboard_rules.h"

#include "fixture.h"

#define KIND (&kind_tensorboard)
#define BOARD(spec) "metadata: {name: b, namespace: ns}\nspec: {" spec "}\n"

static void folders_are_cleaned_and_come_once(void **state)
{
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];
    const struct json *b = admitted(
        KIND, BOARD("trainingLogFilesets: ['t9k://pvc/a/./x//y/', 't9k://pvc/a', 't9k://pvc/a/'], "
                    "logDir: {pvc: [{name: a, subpath: [x/y, /z, './log']}, {name: c}]}"));
    size_t n = tensorboard_folders(&arena, json_get(b, "spec"), folders);

    (void)state;
    assert_int_equal(n, 5);
    assert_string_equal(folders[0].claim, "a");
    assert_string_equal(folders[0].path, "x/y");
    assert_string_equal(folders[1].path, "");
    assert_string_equal(folders[2].path, "z");
    assert_string_equal(folders[3].path, "log");
    assert_string_equal(folders[4].claim, "c");
    assert_non_null(json_get(json_index(json_at(b, "spec", "logDir", "pvc"), 0), "subPath"));
}

/* What another server has stored is read as far as it can be. */
static void what_cannot_be_read_is_left_out(void **state)
{
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];
    const struct json *spec = parse("{trainingLogFilesets: ['t9k://minio/s/b/x', 't9k://pvc//x', "
                                    "'t9k://pvc/a/../b', 7], logDir: {pvc: [{name: A_B}]}}");

    (void)state;
    assert_int_equal(tensorboard_folders(&arena, spec, folders), 0);
}

static void the_older_way_to_pause_is_rewritten(void **state)
{
    const struct json *paused = admitted(
        KIND, BOARD("runMode: paused, trainingLogFilesets: ['t9k://pvc/a/x']"));
    const struct json *running = admitted(
        KIND, BOARD("runMode: running, trainingLogFilesets: ['t9k://pvc/a/x']"));

    (void)state;
    assert_null(json_at(paused, "spec", "runMode"));
    assert_true(json_bool(json_at(paused, "spec", "suspend"), false));
    assert_false(json_bool(json_at(running, "spec", "suspend"), true));
}

static void wrong_ones_are_refused_by_field(void **state)
{
    static const struct {
        const char *spec, *text;
    } cases[] = {
        {"", "spec.logDir: Required value: where the event files are"},
        {"logDir: {s3: {secretRef: {name: k}, uri: ['s3://b/x']}}",
         "spec.logDir.s3: Forbidden: event files on S3 stores cannot be read yet: copy them to a "
         "PersistentVolumeClaim and use logDir.pvc"},
        {"logDir: {http: {url: ['http://x/y']}}",
         "spec.logDir.http: Forbidden: event files on web servers cannot be read yet"},
        {"trainingLogFilesets: ['t9k://minio/s/b/x']",
         "spec.trainingLogFilesets[0]: Invalid value: \"t9k://minio/s/b/x\": object stores cannot "
         "be read yet"},
        {"trainingLogFilesets: ['t9k://pvc/a/x', '/data/log']",
         "spec.trainingLogFilesets[1]: Invalid value: \"/data/log\": must be t9k://pvc/NAME/PATH"},
        {"trainingLogFilesets: ['t9k://pvc/A/x']", "must be t9k://pvc/NAME/PATH; NAME: "},
        {"trainingLogFilesets: ['t9k://pvc/a/x/../../b']", "must not contain \"..\""},
        {"logDir: {pvc: [{name: a, subPath: [x, '../b']}]}",
         "spec.logDir.pvc[0].subPath[1]: Invalid value: \"../b\": must not contain \"..\""},
        {"logDir: {pvc: [{name: a, subPath: [\"x\\ny\"]}]}", "control characters"},
        {"logDir: {pvc: [{name: a, subPath: [x, 'y,z']}]}",
         "spec.logDir.pvc[0].subPath[1]: Invalid value: \"y,z\": must not contain ',' or ':'"},
        {"trainingLogFilesets: ['t9k://pvc/a/x:y', 't9k://pvc/a/z']",
         "spec.trainingLogFilesets[0]: Invalid value"},
        {"logDir: {pvc: [{name: ''}]}", "spec.logDir.pvc[0].name: Required value"},
        {"logDir: {pvc: [{name: A_B}]}", "spec.logDir.pvc[0].name: Invalid value"},
        {"logDir: {pvc: [{subPath: [x]}]}", "spec.logDir.pvc[0].name: Required value"},
        {"runMode: stopped, logDir: {pvc: [{name: a}]}", "spec.runMode: Unsupported value"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        const char *text = arena_printf(&arena, "metadata: {name: b, namespace: ns}\nspec: {%s}\n",
                                        cases[i].spec);

        if (admit(KIND, parse(text), NULL, FIELD_VALIDATION_STRICT, &err) == 0 ||
            !strstr(err.text, cases[i].text))
            fail_msg("case %zu: %s", i, err.text ? err.text : "accepted");
    }
}

/* One folder is TensorBoard's own root: nothing is separated there. */
static void a_single_folder_may_have_any_name(void **state)
{
    (void)state;
    (void)admitted(KIND, BOARD("logDir: {pvc: [{name: a, subPath: ['x,y:z']}]}"));
    (void)admitted(KIND, BOARD("trainingLogFilesets: ['t9k://pvc/a/x,y:z']"));
}

static void jobs_are_held_to_the_same(void **state)
{
    static const struct {
        const char *spec, *text;
    } cases[] = {
        {"logDir: {s3: {uri: ['s3://b/x']}}", "spec.tensorboardSpec.logDir.s3: Forbidden"},
        {"trainingLogFilesets: ['t9k://minio/s/b/x']",
         "spec.tensorboardSpec.trainingLogFilesets[0]: Invalid value"},
        {"image: x", NULL},
        {"logDir: {pvc: [{name: a, subpath: ['./log']}]}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        const char *text = arena_printf(
            &arena,
            "metadata: {name: j}\nspec:\n  tensorboardSpec: {%s}\n  replicaSpecs:\n"
            "  - {type: w, template: {spec: {containers: [{name: c}]}}}\n",
            cases[i].spec);

        (void)admit(&kind_pytorch_training_job, parse(text), NULL, FIELD_VALIDATION_STRICT, &err);
        if (cases[i].text ? !err.text || !strstr(err.text, cases[i].text) : err_is_set(&err))
            fail_msg("case %zu: %s", i, err.text ? err.text : "accepted");
    }
}

static void names_leave_room_for_the_pods(void **state)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"a23456789012345678901234567890123456789012345678901234567890", NULL},
        {"a234567890123456789012345678901234567890123456789012345678901",
         "must be no more than 60 characters"},
        {"1a", "a service is named after it"},
        {"a.b", "a service is named after it"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        const char *text = arena_printf(
            &arena, "metadata: {name: '%s'}\nspec: {logDir: {pvc: [{name: a}]}}\n", cases[i].name);

        (void)admit(KIND, parse(text), NULL, FIELD_VALIDATION_STRICT, &err);
        if (cases[i].text ? !err.text || !strstr(err.text, cases[i].text) : err_is_set(&err))
            fail_msg("case %zu: %s", i, err.text ? err.text : "accepted");
    }
}

static void there_is_a_limit_to_folders(void **state)
{
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];
    struct buf spec = BUF_INIT(1u << 20);
    auto_err err = ERR_INIT;
    struct json *b;

    (void)state;
    buf_adds(&spec, "metadata: {name: b}\nspec: {logDir: {pvc: [{name: a, subPath: [");
    for (unsigned i = 0; i <= TENSORBOARD_FOLDERS_LIMIT; i++)
        buf_addf(&spec, "%sx%u", i ? ", " : "", i);
    buf_adds(&spec, "]}]}}\n");
    b = parse(spec.data);
    assert_true(admit(KIND, b, NULL, FIELD_VALIDATION_STRICT, &err) < 0);
    assert_non_null(strstr(err.text, "must have at most 64"));
    assert_int_equal(tensorboard_folders(&arena, json_get(b, "spec"), folders),
                     TENSORBOARD_FOLDERS_LIMIT);
    buf_release(&spec);
}

static void resources_stay_as_they_were(void **state)
{
    const struct json *old = admitted(
        KIND, BOARD("logDir: {pvc: [{name: a}]}, resources: {limits: {cpu: 1}}"));
    auto_err err = ERR_INIT;

    (void)state;
    assert_true(admit(KIND,
                      parse(BOARD("logDir: {pvc: [{name: a}]}, resources: {limits: {cpu: 2}}")),
                      old, FIELD_VALIDATION_STRICT, &err) < 0);
    assert_non_null(strstr(err.text, "spec.resources"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(folders_are_cleaned_and_come_once, reset),
        cmocka_unit_test_teardown(what_cannot_be_read_is_left_out, reset),
        cmocka_unit_test_teardown(the_older_way_to_pause_is_rewritten, reset),
        cmocka_unit_test_teardown(wrong_ones_are_refused_by_field, reset),
        cmocka_unit_test_teardown(a_single_folder_may_have_any_name, reset),
        cmocka_unit_test_teardown(jobs_are_held_to_the_same, reset),
        cmocka_unit_test_teardown(names_leave_room_for_the_pods, reset),
        cmocka_unit_test_teardown(there_is_a_limit_to_folders, reset),
        cmocka_unit_test_teardown(resources_stay_as_they_were, reset),
    };

    return cmocka_run_group_tests_name("api tensorboard", tests, NULL, NULL);
}
