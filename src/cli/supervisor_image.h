/*
 * supervisor_image.h - the small program that supervises a pod. `muster supervise` does the same,
 * but each process would relocate and initialize the whole binary and its libraries: 700 KB that
 * pods do not share.
 */
#ifndef MUSTER_CLI_SUPERVISOR_IMAGE_H
#define MUSTER_CLI_SUPERVISOR_IMAGE_H

/* A path by which this process can execute it for its lifetime; the same on every call. NULL: not
 * built in, or this machine cannot execute from memory. */
const char *supervisor_image_path(void);

#endif
