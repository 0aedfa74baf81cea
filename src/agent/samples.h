/*
 * samples.h - measures every pod and the machine every two seconds and stores the samples
 * (runtime/usage_file.h): in each pod's folder, and the machine's in <pod_root>.samples, where
 * door/samples.c reads them. All work is done on a pool thread.
 */
#ifndef MUSTER_AGENT_SAMPLES_H
#define MUSTER_AGENT_SAMPLES_H

#include "loop/loop.h"
#include "port/runtime.h"

struct samples;

struct samples_options {
    struct loop *loop;
    struct runtime *runtime;
    const char *pod_root;
    size_t gpus; /* of this machine; 0: none are measured */
    /* The GPUs leased to a pod, "0,3", or "". Called on the loop's thread. */
    const char *(*leased_gpus)(void *arg, const struct pod_run *run);
    void *arg;
};

/* NULL when out of memory. Its arguments belong to the caller and must outlive it. */
struct samples *samples_new(const struct samples_options *options) must_check;
void samples_free(struct samples *s); /* NULL-safe; a measurement under way ends by itself */

#endif
