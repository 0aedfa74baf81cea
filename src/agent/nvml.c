/*
 * nvml.c - see nvml.h. The few structures are declared here as in the library's documentation; the
 * suffixes _v2 and _v3 name the layout, and the newest one a driver has is used.
 */
#include "agent/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"
#define NVML_SUCCESS 0
#define NVML_GPUS_LIMIT GPUS_PER_NODE_LIMIT
#define P2P_NVLINK 2 /* in NVML's list: read, write, NVLink ... */
#define P2P_OK 0

struct memory_info {
    unsigned long long total, free, used;
};

struct utilisation {
    unsigned gpu, memory; /* percent */
};

struct process_v1 {
    unsigned pid;
    unsigned long long memory;
};

struct process_v2 {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct gpu; /* opaque */

struct nvml {
    void *library;
    size_t count;
    struct gpu *devices[NVML_GPUS_LIMIT];
    int (*init)(void);
    int (*shutdown)(void);
    int (*get_count)(unsigned *count);
    int (*get_handle)(unsigned index, struct gpu **d);
    int (*get_name)(struct gpu *d, char *out, unsigned size);
    int (*get_uuid)(struct gpu *d, char *out, unsigned size);
    int (*get_memory)(struct gpu *d, struct memory_info *out);
    int (*get_utilisation)(struct gpu *d, struct utilisation *out);
    int (*get_ancestor)(struct gpu *one, struct gpu *other, unsigned *level);
    int (*get_p2p)(struct gpu *one, struct gpu *other, unsigned how, unsigned *status);
    int (*get_processes_v1)(struct gpu *d, unsigned *count, struct process_v1 *out);
    int (*get_processes_v2)(struct gpu *d, unsigned *count, struct process_v2 *out);
};

/* Data and function pointers have the same size wherever dlsym works. */
static bool find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);

    memcpy(out, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(struct nvml *n)
{
    void *l = n->library;

    (void)find(l, "nvmlDeviceGetUtilizationRates", &n->get_utilisation);
    (void)find(l, "nvmlDeviceGetTopologyCommonAncestor", &n->get_ancestor);
    (void)find(l, "nvmlDeviceGetP2PStatus", &n->get_p2p);
    if (!find(l, "nvmlDeviceGetComputeRunningProcesses_v3", &n->get_processes_v2) &&
        !find(l, "nvmlDeviceGetComputeRunningProcesses_v2", &n->get_processes_v2))
        (void)find(l, "nvmlDeviceGetComputeRunningProcesses", &n->get_processes_v1);
    return find(l, "nvmlInit_v2", &n->init) && find(l, "nvmlShutdown", &n->shutdown) &&
           find(l, "nvmlDeviceGetCount_v2", &n->get_count) &&
           find(l, "nvmlDeviceGetHandleByIndex_v2", &n->get_handle) &&
           find(l, "nvmlDeviceGetName", &n->get_name) &&
           find(l, "nvmlDeviceGetUUID", &n->get_uuid) &&
           find(l, "nvmlDeviceGetMemoryInfo", &n->get_memory);
}

static bool find_devices(struct nvml *n)
{
    unsigned count = 0;

    if (n->get_count(&count) != NVML_SUCCESS)
        return false;
    for (unsigned i = 0; i < count && i < NVML_GPUS_LIMIT; i++)
        if (n->get_handle(i, &n->devices[i]) != NVML_SUCCESS)
            n->devices[i] = NULL; /* lost: its index stays, so that the others keep theirs */
    n->count = min_size(count, NVML_GPUS_LIMIT);
    return true;
}

struct nvml *nvml_open(const char *library)
{
    void *l = dlopen(library ? library : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    struct nvml *n = l ? calloc(1, sizeof(*n)) : NULL;

    if (!n) {
        if (l)
            (void)dlclose(l);
        return NULL;
    }
    n->library = l;
    if (!find_all(n) || n->init() != NVML_SUCCESS) {
        (void)dlclose(l);
        free(n);
        return NULL;
    }
    if (!find_devices(n)) {
        nvml_close(n);
        return NULL;
    }
    return n;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    (void)n->shutdown();
    (void)dlclose(n->library);
    free(n);
}

size_t nvml_count(const struct nvml *n)
{
    return n->count;
}

bool nvml_device_read(const struct nvml *n, size_t index, struct nvml_device *ret)
{
    struct gpu *d = index < n->count ? n->devices[index] : NULL;
    struct memory_info memory = {0};
    struct utilisation busy = {0};

    *ret = (struct nvml_device){.utilisation = -1};
    if (!d || n->get_name(d, ret->name, sizeof(ret->name)) != NVML_SUCCESS ||
        n->get_memory(d, &memory) != NVML_SUCCESS)
        return false;
    if (n->get_uuid(d, ret->uuid, sizeof(ret->uuid)) != NVML_SUCCESS)
        ret->uuid[0] = '\0';
    ret->memory_total_bytes = (int64_t)memory.total;
    ret->memory_used_bytes = (int64_t)memory.used;
    if (n->get_utilisation && n->get_utilisation(d, &busy) == NVML_SUCCESS)
        ret->utilisation = busy.gpu / 100.0;
    return true;
}

/* The library reports the common ancestor of two devices in tens: one board, one PCIe switch,
 * several, a host bridge, a NUMA node, the system. */
enum gpu_distance nvml_distance(const struct nvml *n, size_t one, size_t other)
{
    static const enum gpu_distance by_pcie[] = {GPU_PCIE_SWITCH, GPU_PCIE_SWITCH, GPU_PCIE_SWITCHES,
                                                GPU_HOST_BRIDGE, GPU_NUMA,        GPU_SYSTEM};
    struct gpu *a = one < n->count ? n->devices[one] : NULL;
    struct gpu *b = other < n->count ? n->devices[other] : NULL;
    unsigned level = 50, status = 1;
    enum gpu_distance pcie;

    if (one == other)
        return GPU_SAME;
    if (!a || !b || !n->get_ancestor || n->get_ancestor(a, b, &level) != NVML_SUCCESS)
        level = 50;
    pcie = by_pcie[min_size(level / 10, ELEMS(by_pcie) - 1)];
    if (!a || !b || !n->get_p2p || n->get_p2p(a, b, P2P_NVLINK, &status) != NVML_SUCCESS ||
        status != P2P_OK)
        return pcie;
    return pcie == GPU_PCIE_SWITCH ? GPU_LINK_SWITCH : pcie < GPU_SYSTEM ? GPU_LINK_NUMA : GPU_LINK;
}

static struct nvml_process process_of(unsigned pid, unsigned long long memory)
{
    return (struct nvml_process){.pid = pid,
                                 .memory_bytes = memory > INT64_MAX ? -1 : (int64_t)memory};
}

size_t nvml_processes_read(const struct nvml *n, size_t index,
                           struct nvml_process out[NVML_PROCESSES_LIMIT])
{
    struct gpu *d = index < n->count ? n->devices[index] : NULL;
    struct process_v1 v1[NVML_PROCESSES_LIMIT];
    struct process_v2 v2[NVML_PROCESSES_LIMIT];
    unsigned count = NVML_PROCESSES_LIMIT;

    if (d && n->get_processes_v2 && n->get_processes_v2(d, &count, v2) == NVML_SUCCESS) {
        for (unsigned i = 0; i < count; i++)
            out[i] = process_of(v2[i].pid, v2[i].memory);
        return count;
    }
    if (d && n->get_processes_v1 && n->get_processes_v1(d, &count, v1) == NVML_SUCCESS) {
        for (unsigned i = 0; i < count; i++)
            out[i] = process_of(v1[i].pid, v1[i].memory);
        return count;
    }
    return 0;
}
