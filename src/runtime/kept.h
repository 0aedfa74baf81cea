/*
 * kept.h - the logs of removed pods: <root>/<namespace>/<name>/<uid>, a pod's folder as it was
 * left. A replaced replica keeps its name, so a name may have several.
 */
#ifndef MUSTER_RUNTIME_KEPT_H
#define MUSTER_RUNTIME_KEPT_H

#include "loop/loop.h"
#include "port/node.h"

#define KEPT_UID_SIZE 256u

/* The newest of a name (dir: <root>/<namespace>/<name>) with that attempt or NODE_ANY_ATTEMPT,
 * other than not_uid. */
bool kept_find(const char *dir, const char *not_uid, int64_t attempt, char ret[KEPT_UID_SIZE]);

/* Lists a namespace's logs (format: port/node.h), of pods in pod_root and of removed ones; a pod
 * being removed may appear twice, but is never missed. Reads some folders at a time. -ENOMEM, or
 * -EINVAL for an invalid name. The stream is freed by its close. */
int kept_list_open(struct loop *l, const char *pod_root, const char *root, const char *ns,
                   struct stream **ret) must_check;

struct kept_limits {
    int64_t group_bytes, total_bytes;    /* a group: one job's pods, or those of one name */
    size_t group_folders, total_folders; /* one per pod */
};

/* Removes the oldest until the rest is within the limits, and then empty folders. Reads the whole
 * tree: not on a loop. */
void kept_trim(const char *root, const struct kept_limits *limits);

#endif
