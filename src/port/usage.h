/*
 * usage.h - what a pod or the machine uses, as one sample: rates over the time since the sample
 * before, amounts as they are. What could not be measured is NaN, never 0.
 */
#ifndef MUSTER_PORT_USAGE_H
#define MUSTER_PORT_USAGE_H

#include "port/runtime.h"

enum usage_column {
    USAGE_CPU,        /* cores */
    USAGE_MEMORY,     /* bytes: the working set, what cannot be taken back at once */
    USAGE_RSS,        /* bytes: anonymous memory */
    USAGE_NET_RX,     /* bytes/s */
    USAGE_NET_TX,     /* bytes/s */
    USAGE_DISK_READ,  /* bytes/s */
    USAGE_DISK_WRITE, /* bytes/s */
    USAGE_GPU,        /* GPUs: 1.0 is one that is always busy */
    USAGE_GPU_MEMORY, /* bytes */
    USAGE_COLUMNS
};

struct usage_sample {
    int64_t time_ms;
    float v[USAGE_COLUMNS];
};

/* The newest figures of one container. */
struct usage_container {
    char name[64]; /* longer names there are not: DNS labels */
    float cpu, memory;
    double cpu_s; /* used so far */
};

/* The newest sample and what the containers used then. */
struct usage_latest {
    struct usage_sample sample;
    int64_t window_ms; /* its rates are of this long */
    uint32_t containers_len;
    struct usage_container containers[POD_CONTAINERS_LIMIT];
};

#endif
