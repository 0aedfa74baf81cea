/* samples_gpu.h - the GPU columns of samples. Belongs to the measuring pool thread. */
#ifndef MUSTER_AGENT_SAMPLES_GPU_H
#define MUSTER_AGENT_SAMPLES_GPU_H

#include "agent/nvml.h"
#include "runtime/usage_file.h"

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
    } gpus[USAGE_GPUS_LIMIT];
};

/* One of several GPUs; its sample has only the GPU columns. */
typedef void samples_gpu_fn(void *arg, size_t gpu, const struct usage_sample *s);

/* Reads all GPUs; none with expected 0. */
void samples_gpu_look(struct samples_gpu *g, size_t expected);
/* Adds the machine's numbers to its sample, and with several GPUs calls fn for each. */
void samples_gpu_add_node(const struct samples_gpu *g, struct usage_sample *node,
                          samples_gpu_fn *fn, void *arg);
/* The same for the GPUs leased to a pod ("0,3"). They are the pod's own, so their activity is the
 * pod's; their memory is that of the pod's processes if the driver lists these. */
void samples_gpu_add(const struct samples_gpu *g, const char *leased, struct usage_target *pod,
                     samples_gpu_fn *fn, void *arg);
void samples_gpu_release(struct samples_gpu *g);

#endif
