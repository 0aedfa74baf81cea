/* machine.h - what this machine is and has, as a Node tells it. */
#ifndef MUSTER_AGENT_MACHINE_H
#define MUSTER_AGENT_MACHINE_H

#include "core/gpus.h"

struct machine {
    int64_t cpu_milli;    /* what we may use of it, if a cgroup or an affinity limits us */
    int64_t memory_bytes; /* the same */
    int64_t gpus;         /* NVIDIA */
    uint64_t gpu_set;     /* those that pods may have whole */
    uint64_t shared_set;  /* those that they may have shares of */
    int64_t gpu_shares;   /* of each of those */
    struct gpu_links links;
    char gpu_product[96];   /* as a label's value; "" when not known or not all the same */
    int64_t gpu_memory_mib; /* of one; 0 when not known */
    char host_name[256];
    char machine_id[64], boot_id[64];
    char kernel[256], os_image[256];
    const char *arch; /* as Go calls it: amd64, arm64 */
};

void machine_read(struct machine *m);

#endif
