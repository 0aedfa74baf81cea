/* image_gpus.h - NVIDIA GPUs in images: the driver's libraries and programs, which belong to the
 * machine's kernel and not to the image, are mounted into it, as the container toolkit does. */
#ifndef MUSTER_AGENT_IMAGE_GPUS_H
#define MUSTER_AGENT_IMAGE_GPUS_H

#include "base/arena.h"
#include "port/runtime.h"

/* For a container whose gpus are given by index: translates them to numbers of devices, and adds
 * mounts if there are any. */
void image_gpus_add(struct arena *a, struct container_start *c);

#endif
