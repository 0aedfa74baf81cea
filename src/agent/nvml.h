/*
 * nvml.h - NVIDIA's management library. It is loaded at run time: most machines have none, and none
 * is needed to build. Must not be called from two threads at once.
 */
#ifndef MUSTER_AGENT_NVML_H
#define MUSTER_AGENT_NVML_H

#include "base/base.h"
#include "core/gpus.h"

struct nvml;

#define NVML_PROCESSES_LIMIT 256 /* per GPU; more are not reported */

struct nvml_device {
    char name[96], uuid[96];
    int64_t memory_total_bytes, memory_used_bytes;
    double utilisation; /* 0 ... 1; negative: unknown */
};

struct nvml_process {
    int64_t pid;
    int64_t memory_bytes; /* negative: unknown */
};

/* library NULL: the driver's own. NULL when there is none or it finds no driver. */
struct nvml *nvml_open(const char *library);
void nvml_close(struct nvml *n); /* NULL-safe */
size_t nvml_count(const struct nvml *n);
/* By index in PCI bus order, like leases. False when it does not answer. */
bool nvml_device_read(const struct nvml *n, size_t index, struct nvml_device *ret);
/* How two GPUs are connected; GPU_SYSTEM when unknown. */
enum gpu_distance nvml_distance(const struct nvml *n, size_t one, size_t other);
/* The compute processes on it; returns how many were filled in. */
size_t nvml_processes_read(const struct nvml *n, size_t index,
                           struct nvml_process out[NVML_PROCESSES_LIMIT]);

#endif
