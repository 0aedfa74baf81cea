/* pod_env_test.c - what a pod's spec becomes: arguments and environment. */
#include "agent/pod_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/pod_sync.h"

#define LIMIT (4u * 1024 * 1024)

static char *const daemon_env[] = {(char[]){"PATH=/bin"}, (char[]){"SECRET=x"},
                                   (char[]){"LC_ALL=C"}, (char[]){"HOME=/root"}, NULL};

struct fixture {
    struct arena arena;
    struct pod_machine machine;
    struct pod_start start;
    const struct start_note *notes;
    struct err err;
};

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){
        .arena = ARENA_INIT(LIMIT),
        .machine = {.env = daemon_env, .address = "127.0.0.1", .allocatable = {.cpu_milli = 16000}},
        .err = ERR_INIT};
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_release(&f->arena);
    err_release(&f->err);
    return 0;
}

static const struct json *parse(struct fixture *f, const char *text)
{
    const struct json *v = json_parse(&f->arena, text, strlen(text), NULL);

    assert_non_null(v);
    return v;
}

static const struct json *pod_with(struct fixture *f, const char *containers)
{
    return parse(f, arena_printf(&f->arena,
                                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\","
                                 "\"labels\":{\"a/b\":\"l\"},\"annotations\":{\"muster.dev/gpus\":"
                                 "\"2,3,5\"}},\"spec\":{\"nodeName\":\"n\",\"containers\":[%s]}}",
                                 containers));
}

static int build(struct fixture *f, const char *containers)
{
    const struct json *pod = pod_with(f, containers);

    return pod_start_build(&f->arena, pod, NULL, &f->machine, &f->start, &f->notes, &f->err);
}

static const char *env(struct fixture *f, size_t container, const char *name)
{
    const char *found = NULL;

    for (const char *const *e = f->start.containers[container].env; *e; e++)
        if (strncmp(*e, name, strlen(name)) == 0 && (*e)[strlen(name)] == '=') {
            assert_null(found); /* each name once */
            found = *e + strlen(name) + 1;
        }
    return found;
}

static void the_daemons_environment_is_not_the_pods(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(build(f, "{\"name\":\"c\",\"command\":[\"x\"]}"), 0);
    assert_string_equal(env(f, 0, "PATH"), "/bin");
    assert_string_equal(env(f, 0, "LC_ALL"), "C");
    assert_null(env(f, 0, "SECRET"));
    assert_string_equal(env(f, 0, "HOSTNAME"), "p");
    assert_null(env(f, 0, "CUDA_VISIBLE_DEVICES"));
    assert_null(f->start.containers[0].cwd); /* a folder of its own */
    assert_string_equal(f->start.uid, "u");
    assert_int_equal(f->start.grace_seconds, 30);
}

static void variables_expand_as_in_kubernetes(void **state)
{
    struct fixture *f = *state;
    const char *const *argv;

    assert_int_equal(
        build(f, "{\"name\":\"c\",\"command\":[\"run\",\"$(A)\"],\"args\":[\"$(PATH)\",\"$$(A)\","
                 "\"--x=$(B)\"],\"env\":[{\"name\":\"B\",\"value\":\"$(A)\"},{\"name\":\"A\","
                 "\"value\":\"1\"},{\"name\":\"C\",\"value\":\"$(A)2\"},{\"name\":\"PATH2\","
                 "\"value\":\"\"}],\"workingDir\":\"/w\"}"),
        0);
    argv = f->start.containers[0].argv;
    assert_string_equal(argv[0], "run");
    assert_string_equal(argv[1], "1");
    assert_string_equal(argv[2], "$(PATH)"); /* the machine's own: not the manifest's business */
    assert_string_equal(argv[3], "$(A)");
    assert_string_equal(argv[4], "--x=$(A)"); /* B came before A */
    assert_null(argv[5]);
    assert_string_equal(env(f, 0, "C"), "12");
    assert_string_equal(env(f, 0, "PATH2"), "");
    assert_string_equal(f->start.containers[0].cwd, "/w");
}

static void the_pods_own_values_win(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(build(f, "{\"name\":\"c\",\"args\":[\"x\"],\"env\":[{\"name\":\"PATH\","
                              "\"value\":\"/mine\"},{\"name\":\"X\",\"value\":\"1\"},{\"name\":"
                              "\"X\",\"value\":\"2\"}]}"),
                     0);
    assert_string_equal(env(f, 0, "PATH"), "/mine");
    assert_string_equal(env(f, 0, "X"), "2");
    assert_string_equal(f->start.containers[0].argv[0], "x");
}

static void fields_of_the_pod_are_values(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        build(f,
              "{\"name\":\"c\",\"command\":[\"x\"],\"env\":["
              "{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}},"
              "{\"name\":\"L\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
              "\"metadata.labels['a/b']\"}}},"
              "{\"name\":\"I\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.podIP\"}}}]}"),
        0);
    assert_string_equal(env(f, 0, "N"), "p");
    assert_string_equal(env(f, 0, "L"), "l");
    assert_string_equal(env(f, 0, "I"), "127.0.0.1");
    assert_int_not_equal(build(f, "{\"name\":\"c\",\"command\":[\"x\"],\"env\":[{\"name\":\"N\","
                                  "\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.x\"}}}]}"),
                         0);
    assert_string_equal(f->err.text, "container c: env N: fieldRef \"spec.x\" is not supported");
}

static void config_maps_and_secrets_are_values(void **state)
{
    struct fixture *f = *state;
    const struct json *pod = pod_with(
        f, "{\"name\":\"c\",\"command\":[\"x\"],\"envFrom\":[{\"prefix\":\"P_\",\"configMapRef\":"
           "{\"name\":\"cm\"}}],\"env\":[{\"name\":\"S\",\"valueFrom\":{\"secretKeyRef\":{\"name\":"
           "\"s\",\"key\":\"k\"}}},{\"name\":\"O\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\","
           "\"key\":\"no\",\"optional\":true}}},{\"name\":\"E\",\"value\":\"$(P_a)\"}]}");
    struct pod_ref *refs = pod_refs(&f->arena, pod);
    size_t n = 0;

    for (struct pod_ref *r = refs; r; r = r->next, n++)
        r->object = parse(f, r->kind == &kind_secret ? "{\"data\":{\"k\":\"aGk=\"}}"
                                                     : "{\"data\":{\"a\":\"v\"}}");
    assert_int_equal(n, 2);
    assert_int_equal(
        pod_start_build(&f->arena, pod, refs, &f->machine, &f->start, &f->notes, &f->err), 0);
    assert_string_equal(env(f, 0, "P_a"), "v");
    assert_string_equal(env(f, 0, "E"), "v");
    assert_string_equal(env(f, 0, "S"), "hi");
    assert_null(env(f, 0, "O"));
}

static void containers_see_their_own_gpus(void **state)
{
    struct fixture *f = *state;

    f->machine.has_gpus = true;
    assert_int_equal(
        build(f,
              "{\"name\":\"a\",\"command\":[\"x\"],\"resources\":{\"limits\":{\"nvidia.com/gpu\":"
              "1}}},{\"name\":\"b\",\"command\":[\"x\"]},{\"name\":\"c\",\"command\":[\"x\"],"
              "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}"),
        0);
    assert_string_equal(env(f, 0, "CUDA_VISIBLE_DEVICES"), "2");
    assert_string_equal(env(f, 1, "CUDA_VISIBLE_DEVICES"), "");
    assert_string_equal(env(f, 1, "NVIDIA_VISIBLE_DEVICES"), "void");
    assert_string_equal(env(f, 2, "CUDA_VISIBLE_DEVICES"), "3,5");
}

static void containers_with_a_share_see_the_shared_gpu(void **state)
{
    struct fixture *f = *state;

    f->machine.has_gpus = true;
    assert_int_equal(
        build(f, "{\"name\":\"a\",\"command\":[\"x\"],\"resources\":{\"limits\":{"
                 "\"nvidia.com/gpu.shared\":1}}},{\"name\":\"b\",\"command\":[\"x\"],"
                 "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}},{\"name\":\"c\","
                 "\"command\":[\"x\"],\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\","
                 "\"nvidia.com/gpu.shared\":\"1\"}}},{\"name\":\"d\",\"command\":[\"x\"]}"),
        0);
    assert_string_equal(env(f, 0, "CUDA_VISIBLE_DEVICES"), "5");
    assert_string_equal(env(f, 0, "NVIDIA_VISIBLE_DEVICES"), "5");
    assert_string_equal(env(f, 1, "CUDA_VISIBLE_DEVICES"), "2");
    assert_string_equal(env(f, 2, "CUDA_VISIBLE_DEVICES"), "3,5");
    assert_string_equal(env(f, 3, "CUDA_VISIBLE_DEVICES"), "");
}

static void without_mounts_the_address_takes_the_names_place(void **state)
{
    struct fixture *f = *state;

    f->machine.host_address = "127.0.0.1";
    assert_int_equal(build(f, "{\"name\":\"c\",\"command\":[\"x\",\"$(MASTER_ADDR):$(PORT)\"],"
                              "\"env\":[{\"name\":\"MASTER_ADDR\",\"value\":\"job-worker-0\"},"
                              "{\"name\":\"PORT\",\"value\":\"1\"},{\"name\":\"NAME\",\"value\":"
                              "\"job-worker-0\"}]}"),
                     0);
    assert_string_equal(env(f, 0, "MASTER_ADDR"), "127.0.0.1");
    assert_string_equal(f->start.containers[0].argv[1], "127.0.0.1:1");
    assert_string_equal(env(f, 0, "NAME"), "job-worker-0");
}

static void awaited(struct fixture *f, const char *address, const char *expected)
{
    const struct json *pod = pod_with(
        f, arena_printf(&f->arena,
                        "{\"name\":\"c\",\"env\":[{\"name\":\"MASTER_ADDR\",\"value\":"
                        "\"%s\"}]}",
                        address));
    const char *name = pod_awaited_service(&f->arena, pod);

    if (expected)
        assert_string_equal(name, expected);
    else
        assert_null(name);
}

static void only_service_names_are_waited_for(void **state)
{
    struct fixture *f = *state;

    awaited(f, "job-worker-0", "job-worker-0");
    awaited(f, "job-worker-0.ns.svc", "job-worker-0");
    awaited(f, "localhost", NULL);
    awaited(f, "10.0.0.1", NULL);
    awaited(f, "::1", NULL);
    awaited(f, "", NULL);
    assert_null(pod_awaited_service(&f->arena, pod_with(f, "{\"name\":\"c\"}")));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static const struct json *pod_of_job(struct fixture *f, const char *annotations,
                                     const char *container)
{
    return parse(f,
                 arena_printf(&f->arena,
                              "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"annotations\":{%s}},"
                              "\"spec\":{\"containers\":[{\"name\":\"c\",\"command\":[\"x\"]%s}]}}",
                              annotations, container));
}

static void threads_are_the_containers_share(void **state)
{
    static const struct {
        int64_t replicas;
        const char *annotations, *container, *threads, *note;
    } cases[] = {
        {0, "", "", "16", "the machine's cores:"},
        {5, "", "", "3", "the machine's cores for each of 5 replicas:"},
        {2, "\"muster.dev/processes\":\"4\"", "", "2", "replicas, divided by 4 processes:"},
        {40, "", "", "1", "the machine's cores for each of 40 replicas:"},
        {4, "", ",\"resources\":{\"requests\":{\"cpu\":\"2500m\"}}", "2", "the CPU it asks for:"},
        {4, "", ",\"resources\":{\"limits\":{\"cpu\":\"8\"},\"requests\":{\"cpu\":\"1\"}}", "8",
         "its CPU limit:"},
        {4, "\"muster.dev/processes\":\"4\"", ",\"resources\":{\"limits\":{\"cpu\":\"8\"}}", "2",
         "its CPU limit, divided by 4 processes:"},
    };

    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct fixture *f = *state;
        const struct json *pod = pod_of_job(f, cases[i].annotations, cases[i].container);

        f->notes = NULL;
        f->machine.replicas = cases[i].replicas;
        assert_int_equal(
            pod_start_build(&f->arena, pod, NULL, &f->machine, &f->start, &f->notes, &f->err), 0);
        assert_string_equal(env(f, 0, "OMP_NUM_THREADS"), cases[i].threads);
        assert_non_null(strstr(f->notes->message, cases[i].note));
    }
}

static void threads_the_author_sets_are_his(void **state)
{
    struct fixture *f = *state;
    const struct json *pod = pod_of_job(
        f, "", ",\"env\":[{\"name\":\"OMP_NUM_THREADS\",\"value\":\"9\"}]");

    assert_int_equal(
        pod_start_build(&f->arena, pod, NULL, &f->machine, &f->start, &f->notes, &f->err), 0);
    assert_string_equal(env(f, 0, "OMP_NUM_THREADS"), "9");
    assert_null(f->notes);
}

static void a_container_starts_where_its_job_was_read(void **state)
{
    struct fixture *f = *state;
    const struct json *pod = pod_of_job(f, "\"muster.dev/folder\":\"/where/it/was\"", "");

    assert_int_equal(
        pod_start_build(&f->arena, pod, NULL, &f->machine, &f->start, &f->notes, &f->err), 0);
    assert_string_equal(f->start.containers[0].cwd, "/where/it/was");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_daemons_environment_is_not_the_pods),
        T(variables_expand_as_in_kubernetes),
        T(the_pods_own_values_win),
        T(fields_of_the_pod_are_values),
        T(config_maps_and_secrets_are_values),
        T(containers_see_their_own_gpus),
        T(containers_with_a_share_see_the_shared_gpu),
        T(without_mounts_the_address_takes_the_names_place),
        T(only_service_names_are_waited_for),
        T(threads_are_the_containers_share),
        T(threads_the_author_sets_are_his),
        T(a_container_starts_where_its_job_was_read),
    };

    return cmocka_run_group_tests_name("pod_env", tests, NULL, NULL);
}
