/* samples_gpu.c - see samples_gpu.h. In a container the driver reports outside pids, which we
 * cannot map: then a leased GPU's whole memory counts, as nothing else should use it. */
#include "agent/samples_gpu.h"

#include <math.h>
#include <stdlib.h>

void samples_gpu_look(struct samples_gpu *g, size_t expected)
{
    if (expected > 0 && !g->tried) {
        g->tried = true;
        g->nvml = nvml_open(g->library);
    }
    g->len = g->nvml ? min_size(nvml_count(g->nvml), USAGE_GPUS_LIMIT) : 0;
    for (size_t i = 0; i < g->len; i++) {
        g->gpus[i].known = nvml_device_read(g->nvml, i, &g->gpus[i].device);
        g->gpus[i].processes_len = nvml_processes_read(g->nvml, i, g->gpus[i].processes);
    }
}

static bool has_pid(const struct usage_target *pod, int64_t pid)
{
    for (size_t i = 0; i < pod->pids_len; i++)
        if (pod->pids[i] == pid)
            return true;
    return false;
}

/* Memory of the pod's processes on one GPU; all of it when none of them is listed. */
static float memory_on(const struct samples_gpu *g, size_t i, const struct usage_target *pod)
{
    float own = 0;
    bool named = false;

    for (size_t k = 0; k < g->gpus[i].processes_len; k++) {
        const struct nvml_process *p = &g->gpus[i].processes[k];

        if (p->memory_bytes < 0 || !has_pid(pod, p->pid))
            continue;
        named = true;
        own += (float)p->memory_bytes;
    }
    return named ? own : (float)g->gpus[i].device.memory_used_bytes;
}

static float busy_of(const struct nvml_device *d)
{
    return d->utilisation < 0 ? NAN : (float)d->utilisation;
}

/* Adds the sum of these GPUs to s, and passes each of several to fn. pod NULL: for the machine. */
static void add(const struct samples_gpu *g, const size_t *list, size_t len,
                const struct usage_target *pod, struct usage_sample *s, samples_gpu_fn *fn,
                void *arg)
{
    float busy = 0, memory = 0;

    for (size_t k = 0; k < len; k++) {
        const struct nvml_device *d = &g->gpus[list[k]].device;
        struct usage_sample one;

        usage_sample_clear(&one, s->time_ms);
        one.v[USAGE_GPU] = busy_of(d);
        one.v[USAGE_GPU_MEMORY] = pod ? memory_on(g, list[k], pod) : (float)d->memory_used_bytes;
        busy += one.v[USAGE_GPU];
        memory += one.v[USAGE_GPU_MEMORY];
        if (len > 1)
            fn(arg, list[k], &one);
    }
    if (len == 0)
        return;
    s->v[USAGE_GPU] = busy;
    s->v[USAGE_GPU_MEMORY] = memory;
}

void samples_gpu_add_node(const struct samples_gpu *g, struct usage_sample *node,
                          samples_gpu_fn *fn, void *arg)
{
    size_t list[USAGE_GPUS_LIMIT], len = 0;

    for (size_t i = 0; i < g->len; i++)
        if (g->gpus[i].known)
            list[len++] = i;
    add(g, list, len, NULL, node, fn, arg);
}

void samples_gpu_add(const struct samples_gpu *g, const char *leased, struct usage_target *pod,
                     samples_gpu_fn *fn, void *arg)
{
    size_t list[USAGE_GPUS_LIMIT], len = 0;
    char *end;

    for (const char *at = leased; *at && len < USAGE_GPUS_LIMIT; at = *end ? end + 1 : end) {
        unsigned long i = strtoul(at, &end, 10);

        if (end == at)
            return;
        if (i < g->len && g->gpus[i].known)
            list[len++] = i;
    }
    add(g, list, len, pod, &pod->sample, fn, arg);
}

void samples_gpu_release(struct samples_gpu *g)
{
    nvml_close(g->nvml);
    g->nvml = NULL;
}
