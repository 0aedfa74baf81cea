/* gpus.h - the GPUs of a node by index: sets, distances, and which ones to pick. Pure. */
#ifndef MUSTER_CORE_GPUS_H
#define MUSTER_CORE_GPUS_H

#include "base/arena.h"

#define GPUS_PER_NODE_LIMIT 64 /* one bit each */

/* How two GPUs are connected, nearest first. One digit each in the Node's annotation. */
enum gpu_distance {
    GPU_SAME,
    GPU_LINK_SWITCH, /* NVLink, or a common PCIe switch */
    GPU_LINK_NUMA,
    GPU_LINK,
    GPU_PCIE_SWITCH,
    GPU_PCIE_SWITCHES,
    GPU_HOST_BRIDGE,
    GPU_NUMA,
    GPU_SYSTEM,
};

struct gpu_links {
    size_t len; /* 0: unknown, all distances are equal */
    uint8_t distance[GPUS_PER_NODE_LIMIT][GPUS_PER_NODE_LIMIT];
};

/* GPUs divided into shares, never used whole. */
struct gpu_shares {
    uint64_t set;
    int64_t each; /* shares per GPU */
    int64_t used[GPUS_PER_NODE_LIMIT];
};

/* What one pod holds. All its shares are on one GPU. */
struct gpu_lease {
    uint64_t whole, shared;
};

/* "0,2-3"; -EINVAL unless it is a list of indexes below the limit. "" and "none" are the empty
 * set. */
int gpu_set_parse(const char *text, uint64_t *ret) must_check;
/* The readable part of a malformed list. */
uint64_t gpu_set_read(const char *text);
/* "0,2,3" */
const char *gpu_set_text(struct arena *a, uint64_t set);
int64_t gpu_set_count(uint64_t set);

/* From a pod's annotation: the GPU it has shares of comes last. */
struct gpu_lease gpu_lease_read(const char *text, int64_t shares);
const char *gpu_lease_text(struct arena *a, struct gpu_lease lease);

/* A row of digits per GPU: "014,104,440". Unreadable parts count as unknown. */
void gpu_links_parse(const char *text, struct gpu_links *ret);
const char *gpu_links_text(struct arena *a, const struct gpu_links *links);

/* `count` free GPUs close to each other, breaking up as little as possible of the close ones that
 * stay free. 0 when there are not enough, or count is 0. */
uint64_t gpus_choose(uint64_t free, int64_t count, const struct gpu_links *links);

/* The GPU with the most shares left, so that no GPU is crowded while another is idle; 0 when none
 * has enough, or count is 0. */
uint64_t gpu_shares_choose(const struct gpu_shares *s, uint64_t barred, int64_t count);
/* GPUs with a share in use. */
uint64_t gpu_shares_in_use(const struct gpu_shares *s);
/* count may be negative. */
void gpu_shares_use(struct gpu_shares *s, uint64_t which, int64_t count);

#endif
