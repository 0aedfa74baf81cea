/*
 * image_helper.h - muster itself for containers in images, whatever the image holds (another libc,
 * or none): a copy with its own libraries and dynamic linker, mounted into the container.
 */
#ifndef MUSTER_AGENT_IMAGE_HELPER_H
#define MUSTER_AGENT_IMAGE_HELPER_H

#include "base/arena.h"
#include "base/err.h"

#define IMAGE_HELPER_PLACE "/.muster" /* in the container */
#define IMAGE_HELPER_EXE IMAGE_HELPER_PLACE "/bin/muster"

/* The folder to mount there, below the data folder; made by the first call for this binary. */
int image_helper_make(struct arena *a, const char *data, const char *exe, const char **ret,
                      struct err *err) must_check;

#endif
