/*
 * disk_limits.h - limits for emptyDir volumes on disk (sizeLimit) and for containers
 * (ephemeral-storage: their start folder, and everything deleted with the pod). Nothing on a plain
 * disk keeps a folder from growing, so they are measured while their pod runs, as the kubelet does;
 * a pod that exceeds one is evicted (pod_sync.h). For volumes in memory the kernel enforces the
 * limit.
 */
#ifndef MUSTER_AGENT_DISK_LIMITS_H
#define MUSTER_AGENT_DISK_LIMITS_H

struct agent;
struct disk_limits;

struct disk_limits *disk_limits_new(struct agent *a); /* NULL: out of memory */
void disk_limits_free(struct disk_limits *d);         /* NULL-safe */

#endif
