/* nvml_test.c - GPU figures through a library of our own that answers like NVIDIA's; it is compiled
 * here, for there is no other on most machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/nvml.h"
#include "agent/samples_gpu.h"

/* Two GPUs: the first half busy with two processes, the second lost its utilisation. */
static const char source[] =
    "#include <string.h>\n"
    "#define N(x) ((int)(long)(x))\n"
    "int nvmlInit_v2(void) { return FAILS; }\n"
    "int nvmlShutdown(void) { return 0; }\n"
    "int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }\n"
    "int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(i + 1L); return 0; }\n"
    "int nvmlDeviceGetName(void *d, char *s, unsigned n) { strncpy(s, \"NVIDIA H200\", n); return "
    "0; }\n"
    "int nvmlDeviceGetUUID(void *d, char *s, unsigned n) { strncpy(s, N(d) == 1 ? \"GPU-1\" : "
    "\"GPU-2\", n); return 0; }\n"
    "int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { m[0] = 1000; m[1] = 300; m[2] = "
    "700; return 0; }\n"
    "int nvmlDeviceGetUtilizationRates(void *d, unsigned *u) { u[0] = 50; u[1] = 10; return N(d) "
    "== 1 ? 0 : 3; }\n"
    "int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, unsigned *l) { *l = 40; return 0; "
    "}\n"
    "int nvmlDeviceGetP2PStatus(void *a, void *b, unsigned how, unsigned *s) { *s = how != 2; "
    "return 0; }\n"
    "struct p { unsigned pid; unsigned long long m; unsigned g, c; };\n"
    "int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct p *p) {\n"
    "  if (N(d) == 2) { *n = 0; return 0; }\n"
    "  p[0].pid = 11; p[0].m = 400; p[1].pid = 12; p[1].m = ~0ULL; p[2].pid = 13; p[2].m = 30;\n"
    "  *n = 3; return 0; }\n";

struct library {
    char dir[32], path[64];
};

static void compile(struct library *l, const char *name, int fails)
{
    char file[64], command[256];
    FILE *f;

    (void)snprintf(file, sizeof(file), "%s/nvml.c", l->dir);
    f = fopen(file, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(source, 1, strlen(source), f), strlen(source));
    assert_int_equal(fclose(f), 0);
    (void)snprintf(l->path, sizeof(l->path), "%s/%s.so", l->dir, name);
    (void)snprintf(command, sizeof(command), "cc -w -DFAILS=%d -shared -fPIC -o %s %s", fails,
                   l->path, file);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    struct library *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    strcpy(l->dir, "/tmp/muster-nvml-XXXXXX");
    assert_non_null(mkdtemp(l->dir));
    compile(l, "good", 0);
    *state = l;
    return 0;
}

static int tear_down(void **state)
{
    struct library *l = *state;
    char command[64];

    (void)snprintf(command, sizeof(command), "rm -rf %s", l->dir);
    assert_int_equal(system(command), 0);
    free(l);
    return 0;
}

static void devices_and_processes(void **state)
{
    struct library *l = *state;
    struct nvml *n = nvml_open(l->path);
    struct nvml_process processes[NVML_PROCESSES_LIMIT];
    struct nvml_device d;

    assert_non_null(n);
    assert_int_equal(nvml_count(n), 2);
    assert_int_equal(nvml_distance(n, 0, 1), GPU_LINK_NUMA);
    assert_int_equal(nvml_distance(n, 1, 1), GPU_SAME);
    assert_int_equal(nvml_distance(n, 0, 7), GPU_SYSTEM);
    assert_true(nvml_device_read(n, 0, &d));
    assert_string_equal(d.name, "NVIDIA H200");
    assert_string_equal(d.uuid, "GPU-1");
    assert_int_equal(d.memory_total_bytes, 1000);
    assert_int_equal(d.memory_used_bytes, 700);
    assert_true(d.utilisation == 0.5);
    assert_true(nvml_device_read(n, 1, &d));
    assert_true(d.utilisation < 0);
    assert_false(nvml_device_read(n, 2, &d));
    assert_int_equal(nvml_processes_read(n, 0, processes), 3);
    assert_int_equal(processes[0].pid, 11);
    assert_int_equal(processes[0].memory_bytes, 400);
    assert_int_equal(processes[1].memory_bytes, -1);
    assert_int_equal(nvml_processes_read(n, 1, processes), 0);
    assert_int_equal(nvml_processes_read(n, 9, processes), 0);
    nvml_close(n);
}

static void no_library_or_no_driver(void **state)
{
    struct library *l = *state;

    assert_null(nvml_open("/nowhere/libnvidia-ml.so.1"));
    assert_null(nvml_open("libz.so.1")); /* a library, but another */
    compile(l, "bad", 9);
    assert_null(nvml_open(l->path));
    nvml_close(NULL);
}

/* What came of each GPU by itself. */
struct singles {
    size_t len, gpu[4];
    struct usage_sample s[4];
};

static void note_single(void *arg, size_t gpu, const struct usage_sample *s)
{
    struct singles *all = arg;

    assert_true(all->len < 4);
    all->gpu[all->len] = gpu;
    all->s[all->len++] = *s;
}

static void figures_of_a_pod_are_those_of_its_gpus(void **state)
{
    struct library *l = *state;
    struct samples_gpu *g = calloc(1, sizeof(*g));
    struct usage_target *pod = calloc(1, sizeof(*pod));
    struct singles singles = {0};
    struct usage_sample node;
    int64_t pids[] = {5, 11, 13};

    assert_non_null(g);
    assert_non_null(pod);
    usage_sample_clear(&node, 1);
    g->library = l->path;
    samples_gpu_look(g, 0); /* the machine has none: nothing is loaded */
    samples_gpu_add_node(g, &node, note_single, &singles);
    assert_true(isnan(node.v[USAGE_GPU]));
    samples_gpu_look(g, 2);
    assert_int_equal(singles.len, 0);
    samples_gpu_add_node(g, &node, note_single, &singles);
    assert_true(isnan(node.v[USAGE_GPU])); /* one of them does not say */
    assert_true(node.v[USAGE_GPU_MEMORY] == 1400);
    assert_int_equal(singles.len, 2);
    assert_true(singles.s[0].v[USAGE_GPU] == 0.5f && singles.s[0].time_ms == 1);
    assert_true(isnan(singles.s[1].v[USAGE_GPU]) && singles.s[1].v[USAGE_GPU_MEMORY] == 700);
    singles.len = 0;
    pod->pids = pids;
    pod->pids_len = 3;
    usage_sample_clear(&pod->sample, 1);
    samples_gpu_add(g, "", pod, note_single, &singles);
    assert_true(isnan(pod->sample.v[USAGE_GPU]));
    samples_gpu_add(g, "0", pod, note_single, &singles);
    assert_true(pod->sample.v[USAGE_GPU] == 0.5f);
    assert_true(pod->sample.v[USAGE_GPU_MEMORY] == 430); /* of 11 and 13; 12 is unknown */
    pod->pids_len = 1;
    samples_gpu_add(g, "0", pod, note_single, &singles);
    assert_true(pod->sample.v[USAGE_GPU_MEMORY] == 700); /* none of its own is named: all of it */
    assert_int_equal(singles.len, 0);                    /* one GPU is the pod's own figure */
    pod->pids_len = 3;
    samples_gpu_add(g, "0,1,7", pod, note_single, &singles);
    assert_true(isnan(pod->sample.v[USAGE_GPU]));
    assert_true(pod->sample.v[USAGE_GPU_MEMORY] == 1130);
    assert_int_equal(singles.len, 2);
    assert_int_equal(singles.gpu[1], 1);
    assert_true(singles.s[0].v[USAGE_GPU_MEMORY] == 430 && isnan(singles.s[0].v[USAGE_CPU]));
    samples_gpu_release(g);
    free(pod);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices_and_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_library_or_no_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(figures_of_a_pod_are_those_of_its_gpus, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
