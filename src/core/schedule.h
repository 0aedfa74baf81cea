/*
 * schedule.h - which waiting pods start now. Pure. Gangs (pods of one controller with min-member)
 * start whole, first come first served by their owner's age; one that could never fit blocks
 * nobody; a waiting pod is told in one sentence what is missing (condition PodScheduled=False,
 * reason Unschedulable).
 *
 * The snapshot must show every bind made before: whoever carries plans out looks again only when
 * the cache has caught up with them, or the same GPU would be given twice.
 */
#ifndef MUSTER_CORE_SCHEDULE_H
#define MUSTER_CORE_SCHEDULE_H

#include "core/plan.h"

struct schedule_snapshot {
    const struct json *const *pods; /* all pods of all namespaces */
    size_t pods_len;
    const struct json *const *nodes;
    size_t nodes_len;
    bool overcommit; /* CPU and memory are not counted; GPUs always are */
    int64_t now_ms;
};

/* How the sentence begins that is told to what could not run if all were free. */
#define NEVER_FITS "can never fit"

void schedule(const struct schedule_snapshot *s, struct plan *plan);

struct resources {
    int64_t cpu_milli, memory_bytes, gpus;
};
enum resource { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_GPU, RESOURCE_COUNT };
int64_t resources_get(const struct resources *r, enum resource which);
void resources_add(struct resources *sum, const struct resources *r);
/* "4 CPU", "8Gi memory", "2 GPU"; amounts in milli CPU, bytes, GPUs. */
const char *resource_text(struct arena *a, enum resource which, int64_t amount);
/* The number alone: "4", "8Gi", "2". */
const char *resource_number(struct arena *a, enum resource which, int64_t amount);

/* Of a capacity, allocatable, requests or limits map. */
struct resources resources_of(const struct json *map);
/* What a pod asks for: max(sum of containers, largest init container) plus overhead. Requests, else
 * limits. */
struct resources pod_requests(const struct json *pod_spec);

#endif
