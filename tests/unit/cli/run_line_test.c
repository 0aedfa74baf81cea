/* run_line_test.c - the job that a command line means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/object.h"
#include "cli/run_line.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__})
#define NAME_OF(...)                                                                               \
    run_line_name(&arena, WORDS(__VA_ARGS__), sizeof(WORDS(__VA_ARGS__)) / sizeof(char *))

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena = (struct arena)ARENA_INIT(16u * 1024u * 1024u);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static void test_a_job_is_called_after_its_program(void **state)
{
    (void)state;
    assert_string_equal(NAME_OF("python", "train.py", "--lr", "0.1"), "train");
    assert_string_equal(NAME_OF("/usr/bin/python3.11", "-u", "src/Train_Big.v2.py"),
                        "train-big-v2");
    assert_string_equal(NAME_OF("python", "-m", "pkg.sub.train"), "train");
    assert_string_equal(NAME_OF("python", "-c", "print(1)"), "python");
    assert_string_equal(NAME_OF("bash", "run.sh"), "run");
    assert_string_equal(NAME_OF("./a.out", "x.py"), "a");
    assert_string_equal(NAME_OF("pythonic", "x.py"), "pythonic");
    assert_string_equal(NAME_OF("2048"), "job-2048");
    assert_string_equal(NAME_OF("..."), "job");
    assert_string_equal(NAME_OF("训练"), "job");
    assert_int_equal(strlen(NAME_OF("aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee")), 40);
}

static struct json *job_here(const struct run_line_options *o, const char *const *words, size_t len,
                             bool here)
{
    auto_err err = ERR_INIT;
    struct json *job = run_line_job(&arena, o, "x", words, len, here, &err);
    const struct kind *k = job ? kind_of_object(job) : NULL;

    assert_non_null(job);
    assert_non_null(k);
    assert_int_equal(object_decode(&arena, k, job, FIELD_VALIDATION_STRICT, NULL, NULL, &err), 0);
    object_set_defaults(&arena, k, job);
    assert_int_equal(object_validate(k, job, NULL, &err), 0);
    return job;
}

#define JOB_OF(o, ...)                                                                             \
    job_here(o, WORDS(__VA_ARGS__), sizeof(WORDS(__VA_ARGS__)) / sizeof(char *), false)

static void assert_words(const struct json *list, const char *joined)
{
    struct buf out = BUF_INIT(4096);

    json_each (word, list)
        buf_addf(&out, "%s%s", out.len ? "|" : "", json_string(word, "?"));
    assert_string_equal(out.data ? out.data : "", joined);
    buf_release(&out);
}

static const struct json *first_of(const struct json *job)
{
    return json_index(json_at(job, "spec", "replicaSpecs"), 0);
}

static const struct json *container_of_job(const struct json *replicas)
{
    return json_index(json_at(replicas, "template", "spec", "containers"), 0);
}

static void test_words_reach_the_program_as_they_are(void **state)
{
    struct run_line_options o = {.workers = 3};
    const struct json *job;

    (void)state;
    o.env.items[o.env.len++] = "A=$(B)=c";
    job = JOB_OF(&o, "sh", "-c", "echo $(date) $HOME");
    assert_int_equal(json_get_int(first_of(job), "replicas", 0), 3);
    assert_null(json_get(first_of(job), "restartPolicy")); /* what has a default is left out */
    assert_words(json_get(container_of_job(first_of(job)), "command"), "sh|-c|echo $$(date) $HOME");
    assert_string_equal(
        json_get_string(json_index(json_get(container_of_job(first_of(job)), "env"), 0), "value",
                        ""),
        "$$(B)=c");
    job = JOB_OF(&o, "a$$b", "$$(A)", "$");
    assert_words(json_get(container_of_job(first_of(job)), "command"), "a$$$b|$$$$(A)|$");
    assert_int_equal(setenv("LD_PRELOAD", "/x/$(RANK)", 1), 0);
    job = job_here(&o, WORDS("true"), 1, true);
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    json_each (variable, json_get(container_of_job(first_of(job)), "env"))
        if (json_string_is(json_get(variable, "name"), "LD_PRELOAD"))
            assert_string_equal(json_get_string(variable, "value", ""), "/x/$$(RANK)");
}

static void test_torchrun_gets_the_script(void **state)
{
    static const struct run_line_options o = {.workers = 2, .nproc = 4, .max_restarts = 2};
    const struct json *job;

    (void)state;
    job = JOB_OF(&o, "python", "-u", "train.py", "--lr", "1");
    assert_words(json_get(container_of_job(first_of(job)), "args"), "train.py|--lr|1");
    assert_null(json_at(job, "spec", "torchrunConfig", "extraOptions"));
    assert_string_equal(json_string(json_at(job, "spec", "torchrunConfig", "procPerNode"), ""),
                        "4");
    assert_string_equal(json_string(json_at(job, "spec", "runPolicy", "restartScope"), ""), "Job");
    assert_int_equal(json_int(json_at(job, "spec", "runPolicy", "backoffLimit"), 0), 2);
    assert_string_equal(json_get_string(first_of(job), "restartPolicy", ""), "OnFailure");
    job = JOB_OF(&o, "python3", "-m", "pkg.train");
    assert_words(json_get(container_of_job(first_of(job)), "args"), "-m|pkg.train");
    job = JOB_OF(&o, "python", "-W", "ignore", "train.py");
    assert_words(json_get(container_of_job(first_of(job)), "args"), "python|-W|ignore|train.py");
    assert_words(json_at(job, "spec", "torchrunConfig", "extraOptions"), "--no_python");
    job = JOB_OF(&o, "python");
    assert_words(json_get(container_of_job(first_of(job)), "args"), "python");
}

static void test_mpi(void **state)
{
    static const struct run_line_options o = {.workers = 2, .nproc = 3, .mpi = true, .cpus = "2"};
    const struct json *job = JOB_OF(&o, "./pi", "100"), *workers;

    (void)state;
    workers = json_index(json_at(job, "spec", "replicaSpecs"), 1);
    assert_words(json_at(job, "spec", "mpiConfig", "script"), "./pi|100");
    assert_words(json_at(job, "spec", "mpiConfig", "extraArgs"), "-N|3");
    assert_int_equal(json_get_int(workers, "replicas", 0), 2);
    assert_string_equal(
        json_string(json_at(container_of_job(workers), "resources", "requests", "cpu"), ""), "2");
}

static void test_what_is_asked_for(void **state)
{
    struct run_line_options o = {.gpus = 2, .memory = "4Gi", .queue = "night", .image = "i:1"};
    const struct json *job, *container;

    (void)state;
    o.volumes.items[o.volumes.len++] = "data:/data";
    o.volumes.items[o.volumes.len++] = "/srv:/mnt/srv:ro";
    o.labels.items[o.labels.len++] = "team=a";
    job = JOB_OF(&o, "true");
    container = container_of_job(first_of(job));
    assert_string_equal(
        json_string(json_at(container, "resources", "limits", "nvidia.com/gpu"), ""), "2");
    assert_string_equal(json_string(json_at(container, "resources", "requests", "memory"), ""),
                        "4Gi");
    assert_string_equal(json_get_string(container, "image", ""), "i:1");
    assert_string_equal(json_string(json_at(job, "metadata", "labels", "team"), ""), "a");
    assert_string_equal(json_string(json_at(job, "spec", "scheduler", "t9kScheduler", "queue"), ""),
                        "night");
    assert_true(
        json_get_bool(json_index(json_get(container, "volumeMounts"), 1), "readOnly", false));
    assert_string_equal(
        json_get_string(json_index(json_get(container, "volumeMounts"), 1), "mountPath", ""),
        "/mnt/srv");
}

static void test_wrong_values_name_their_option(void **state)
{
    static const struct {
        const char *env, *volume, *label, *error, *word;
    } cases[] = {
        {.word = "\xff\xfe", .error = "argument 1 of the command is not UTF-8 at byte 0xff"},
        {.env = "A=b\xff", .error = "--env A is not UTF-8 at byte 0xff"},
        {.volume = "/a\xff:/b", .error = "--volume is not UTF-8 at byte 0xff"},
        {.env = "=x", .error = "--env takes KEY=VALUE, not '=x'"},
        {.env = "MUSTER_NO_SUCH", .error = "--env MUSTER_NO_SUCH: there is no such variable here"},
        {.volume = "data", .error = "--volume takes NAME:PATH or /DIR:PATH, not 'data'"},
        {.volume = "data:rel", .error = "--volume takes NAME:PATH"},
        {.volume = "data:/x:rw", .error = "--volume takes NAME:PATH"},
        {.volume = ":/x", .error = "--volume takes NAME:PATH"},
        {.label = "x", .error = "--label takes KEY=VALUE, not 'x'"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct run_line_options o = {.workers = 1};
        auto_err err = ERR_INIT;

        if (cases[i].env)
            o.env.items[o.env.len++] = cases[i].env;
        if (cases[i].volume)
            o.volumes.items[o.volumes.len++] = cases[i].volume;
        if (cases[i].label)
            o.labels.items[o.labels.len++] = cases[i].label;
        assert_null(run_line_job(
            &arena, &o, "x", WORDS("true", cases[i].word ? cases[i].word : "b"), 2, false, &err));
        assert_ptr_equal(strstr(err.text, cases[i].error), err.text);
    }
}

static const struct json *command_of(const struct json *job)
{
    return json_get(container_of_job(first_of(job)), "command");
}

static void make_program(const char *dir, const char *name)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* As on a bare Debian. */
static void test_python3_serves_where_there_is_no_python(void **state)
{
    char dir[] = "/tmp/muster-run-line-XXXXXX", path[256];
    struct run_line_options o = {0};

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(setenv("PATH", dir, 1), 0);
    make_program(dir, "python3");
    assert_words(command_of(job_here(&o, WORDS("python", "train.py"), 2, true)),
                 "python3|train.py");
    assert_words(command_of(job_here(&o, WORDS("python", "train.py"), 2, false)),
                 "python|train.py");
    make_program(dir, "python");
    assert_words(command_of(job_here(&o, WORDS("python", "train.py"), 2, true)), "python|train.py");
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, i ? "python" : "python3");
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_job_is_called_after_its_program, setup, teardown),
        cmocka_unit_test_setup_teardown(test_words_reach_the_program_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(test_torchrun_gets_the_script, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mpi, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_values_name_their_option, setup, teardown),
        cmocka_unit_test_setup_teardown(test_python3_serves_where_there_is_no_python, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
