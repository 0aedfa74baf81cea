/*
 * schedule.h - which waiting pods start now. Pure. Gangs (pods of one controller with min-member)
 * start whole, first come first served by their owner's age; one that could never fit blocks
 * nobody; a waiting pod is told in one sentence what is missing (condition PodScheduled=False,
 * reason Unschedulable).
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

void schedule(const struct schedule_snapshot *s, struct plan *plan);

/* What a pod asks for: max(sum of containers, largest init container) plus overhead. Requests, else
 * limits. */
struct resources {
    int64_t cpu_milli, memory_bytes, gpus;
};
struct resources pod_requests(const struct json *pod_spec);

#endif
