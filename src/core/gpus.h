/*
 * gpus.h - GPUs of one node by index: sets of them, how far they are from each other, and which to
 * take. Pure.
 */
#ifndef MUSTER_CORE_GPUS_H
#define MUSTER_CORE_GPUS_H

#include "base/arena.h"

#define GPUS_PER_NODE_LIMIT 64 /* a bit each */

/* How two GPUs reach each other, nearest first. One digit each in the Node's annotation. */
enum gpu_distance {
    GPU_SAME,
    GPU_LINK_SWITCH, /* NVLink, and one PCIe switch */
    GPU_LINK_NUMA,
    GPU_LINK,
    GPU_PCIE_SWITCH,
    GPU_PCIE_SWITCHES,
    GPU_HOST_BRIDGE,
    GPU_NUMA,
    GPU_SYSTEM,
};

struct gpu_links {
    size_t len; /* 0: nothing is known, all are as far */
    uint8_t distance[GPUS_PER_NODE_LIMIT][GPUS_PER_NODE_LIMIT];
};

/* GPUs handed out in shares, never whole. */
struct gpu_shares {
    uint64_t set;
    int64_t each; /* so many of each */
    int64_t used[GPUS_PER_NODE_LIMIT];
};

/* What one pod has. Its shares, however many, are all of one GPU. */
struct gpu_lease {
    uint64_t whole, shared;
};

/* "0,2-3"; -EINVAL when it is no list of indexes below the limit. "" and "none" are the empty set.
 */
int gpu_set_parse(const char *text, uint64_t *ret) must_check;
/* What can be read of an odd list. */
uint64_t gpu_set_read(const char *text);
/* "0,2,3" */
const char *gpu_set_text(struct arena *a, uint64_t set);
int64_t gpu_set_count(uint64_t set);

/* As a pod's annotation has them: the one it has shares of comes last. */
struct gpu_lease gpu_lease_read(const char *text, int64_t shares);
const char *gpu_lease_text(struct arena *a, struct gpu_lease lease);

/* A row of digits for each GPU: "014,104,440". What cannot be read is not known. */
void gpu_links_parse(const char *text, struct gpu_links *ret);
const char *gpu_links_text(struct arena *a, const struct gpu_links *links);

/* So many of the free ones, close to each other, and breaking up as little as possible of what is
 * close together and still free. 0 when there are not enough, or none is wanted. */
uint64_t gpus_choose(uint64_t free, int64_t count, const struct gpu_links *links);

/* The one with the most shares left, so that few have to do with one GPU while another has none; 0
 * when no GPU has enough, or none is wanted. */
uint64_t gpu_shares_choose(const struct gpu_shares *s, uint64_t barred, int64_t count);
/* Those with a share in use. */
uint64_t gpu_shares_in_use(const struct gpu_shares *s);
/* count may be negative. */
void gpu_shares_use(struct gpu_shares *s, uint64_t which, int64_t count);

#endif
