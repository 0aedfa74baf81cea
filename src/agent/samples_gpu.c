/* samples_gpu.c - see samples_gpu.h. In a container the driver tells the pids of outside, which we
 * do not know: then a leased GPU's whole memory counts, nobody else should have any of it. */
#include "agent/samples_gpu.h"

#include <math.h>
#include <stdlib.h>

void samples_gpu_look(struct samples_gpu *g, size_t expected, struct usage_sample *node)
{
    float busy = 0, memory = 0;
    bool any = false;

    if (expected > 0 && !g->tried) {
        g->tried = true;
        g->nvml = nvml_open(g->library);
    }
    g->len = g->nvml ? min_size(nvml_count(g->nvml), SAMPLES_GPUS_LIMIT) : 0;
    for (size_t i = 0; i < g->len; i++) {
        g->gpus[i].known = nvml_device_read(g->nvml, i, &g->gpus[i].device);
        g->gpus[i].processes_len = nvml_processes_read(g->nvml, i, g->gpus[i].processes);
        if (!g->gpus[i].known)
            continue;
        any = true;
        busy += g->gpus[i].device.utilisation < 0 ? NAN : (float)g->gpus[i].device.utilisation;
        memory += (float)g->gpus[i].device.memory_used_bytes;
    }
    if (any) {
        node->v[USAGE_GPU] = busy;
        node->v[USAGE_GPU_MEMORY] = memory;
    }
}

static bool has_pid(const struct usage_target *pod, int64_t pid)
{
    for (size_t i = 0; i < pod->pids_len; i++)
        if (pod->pids[i] == pid)
            return true;
    return false;
}

/* What the pod's processes have on one GPU; all of it when none of them is named. */
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

void samples_gpu_add(const struct samples_gpu *g, const char *leased, struct usage_target *pod)
{
    float busy = 0, memory = 0;
    bool any = false;
    char *end;

    for (const char *at = leased; *at; at = *end ? end + 1 : end) {
        unsigned long i = strtoul(at, &end, 10);

        if (end == at)
            return;
        if (i >= g->len || !g->gpus[i].known)
            continue;
        any = true;
        busy += g->gpus[i].device.utilisation < 0 ? NAN : (float)g->gpus[i].device.utilisation;
        memory += memory_on(g, i, pod);
    }
    if (!any)
        return;
    pod->sample.v[USAGE_GPU] = busy;
    pod->sample.v[USAGE_GPU_MEMORY] = memory;
}

void samples_gpu_release(struct samples_gpu *g)
{
    nvml_close(g->nvml);
    g->nvml = NULL;
}
