/*
 * usage.h - what a pod or the machine uses, as one sample: rates since the previous sample, amounts
 * as they are. What could not be measured is NaN, never 0.
 */
#ifndef MUSTER_PORT_USAGE_H
#define MUSTER_PORT_USAGE_H

#include "port/runtime.h"

enum usage_column {
    USAGE_CPU,        /* cores */
    USAGE_MEMORY,     /* bytes: the working set, what cannot be reclaimed at once */
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
    char name[64]; /* a DNS label is at most 63 long */
    float cpu, memory;
    double cpu_s; /* total so far */
};

/* The newest sample, and the containers' usage at that time. */
struct usage_latest {
    struct usage_sample sample;
    int64_t window_ms; /* the interval its rates cover */
    uint32_t containers_len;
    struct usage_container containers[POD_CONTAINERS_LIMIT];
};

#endif
