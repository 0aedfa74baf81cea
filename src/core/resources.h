/* resources.h - amounts of CPU, memory, GPUs, GPU shares and pods, and their text. Pure. */
#ifndef MUSTER_CORE_RESOURCES_H
#define MUSTER_CORE_RESOURCES_H

#include "base/json.h"

enum resource {
    RESOURCE_CPU,
    RESOURCE_MEMORY,
    RESOURCE_GPU,
    RESOURCE_GPU_SHARE,
    RESOURCE_PODS,
    RESOURCE_COUNT
};

struct resources {
    union {
        int64_t amount[RESOURCE_COUNT];
        struct {
            int64_t cpu_milli, memory_bytes, gpus, gpu_shares, pods;
        };
    };
};

static inline int64_t resources_get(const struct resources *r, enum resource which)
{
    return r->amount[which];
}

static inline bool resources_are_zero(const struct resources *r)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (r->amount[i] != 0)
            return false;
    return true;
}

void resources_add(struct resources *sum, const struct resources *r);      /* saturates */
void resources_subtract(struct resources *sum, const struct resources *r); /* saturates */
/* "4 CPU", "8Gi memory", "2 GPU", "1 GPU share", "3 pods"; amounts in milli CPU, bytes, pieces. */
const char *resource_text(struct arena *a, enum resource which, int64_t amount);
/* Just the number: "4", "8Gi", "2". */
const char *resource_number(struct arena *a, enum resource which, int64_t amount);
const char *resource_key(enum resource which); /* "cpu", "memory", "nvidia.com/gpu" */

/* Of a capacity, allocatable, requests or limits map. */
struct resources resources_of(const struct json *map);
/* The reverse, omitting zeros and pods, which are counted rather than requested. */
struct json *resources_map(struct arena *a, const struct resources *r) must_check;
/* What a pod asks for: max(sum of containers, largest init container) plus overhead. Requests, else
 * limits. Counts as one pod. */
struct resources pod_requests(const struct json *pod_spec);
/* The same for any one resource, in thousandths and up to INT64_MAX; part: "requests" or "limits".
 * Overhead is only added to existing limits. */
int64_t pod_amount_milli(const struct json *pod_spec, const char *part, const char *resource);
/* How much of it others hold, in thousandths. */
typedef int64_t held_fn(const void *arg, const char *resource);
/* The first extended resource (amd.com/gpu, rdma/hca) of which the pod requests more than
 * allocatable leaves besides what others hold (held NULL: nothing); NULL: none. */
const char *pod_unoffered(const struct json *pod_spec, const struct json *allocatable,
                          held_fn *held, const void *arg);

#endif
