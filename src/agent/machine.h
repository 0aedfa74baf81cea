/* machine.h - this machine's properties, as reported in its Node. */
#ifndef MUSTER_AGENT_MACHINE_H
#define MUSTER_AGENT_MACHINE_H

#include "core/gpus.h"

struct machine {
    int64_t cpu_milli;    /* what we may use of it, if limited by a cgroup or affinity */
    int64_t memory_bytes; /* the same */
    int64_t gpus;         /* NVIDIA */
    uint64_t gpu_set;     /* available whole */
    uint64_t shared_set;  /* available in shares */
    int64_t gpu_shares;   /* per shared GPU */
    struct gpu_links links;
    char gpu_product[96];   /* as a label value; "" when unknown or mixed */
    int64_t gpu_memory_mib; /* of one; 0 when unknown */
    char host_name[256];
    char machine_id[64], boot_id[64];
    char kernel[256], os_image[256];
    const char *arch; /* Go's names: amd64, arm64 */
};

void machine_read(struct machine *m);

#endif
