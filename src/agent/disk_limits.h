/*
 * disk_limits.h - emptyDir volumes on disk that have a sizeLimit, and containers with a limit of
 * ephemeral-storage: the folder they start in, and all that dies with the pod. Nothing on a plain
 * disk keeps a folder from growing, so they are measured while their pod runs, as the kubelet does
 * it; a pod with one that is too large is evicted (pod_sync.h). Volumes in memory have their limit
 * from the kernel and are none of this file's business.
 */
#ifndef MUSTER_AGENT_DISK_LIMITS_H
#define MUSTER_AGENT_DISK_LIMITS_H

struct agent;
struct disk_limits;

struct disk_limits *disk_limits_new(struct agent *a); /* NULL: out of memory */
void disk_limits_free(struct disk_limits *d);         /* NULL-safe */

#endif
