/* samples_gpu.h - the GPU columns of samples. Belongs to the pool thread that takes them. */
#ifndef MUSTER_AGENT_SAMPLES_GPU_H
#define MUSTER_AGENT_SAMPLES_GPU_H

#include "agent/nvml.h"
#include "runtime/usage.h"

#define SAMPLES_GPUS_LIMIT 64

struct samples_gpu {
    struct nvml *nvml;
    const char *library; /* NULL: the driver's own */
    bool tried;
    size_t len;
    struct {
        struct nvml_device device;
        bool known;
        struct nvml_process processes[NVML_PROCESSES_LIMIT];
        size_t processes_len;
    } gpus[SAMPLES_GPUS_LIMIT];
};

/* Looks at all GPUs and gives the machine's figures. With expected 0 nothing is looked for. */
void samples_gpu_look(struct samples_gpu *g, size_t expected, struct usage_sample *node);
/* The figures of the GPUs leased to a pod ("0,3"). They are the pod's own, so what they do, the pod
 * does; their memory is that of the pod's processes where the driver names these. */
void samples_gpu_add(const struct samples_gpu *g, const char *leased, struct usage_target *pod);
void samples_gpu_release(struct samples_gpu *g);

#endif
