/*
 * supervisor_image.h - the small program that supervises a pod. `muster supervise` does the same,
 * but each would relocate and initialise the whole binary and its libraries: 700 KB that pods do
 * not share.
 */
#ifndef MUSTER_CLI_SUPERVISOR_IMAGE_H
#define MUSTER_CLI_SUPERVISOR_IMAGE_H

/* A path that this process can run it by, until it ends; the same at every call. NULL: it was not
 * built in, or this machine keeps no programs in memory. */
const char *supervisor_image_path(void);

#endif
