/*
 * rootfs.h - a container's own view of the file system, and who it is in it. Mount points that the
 * machine does not have appear in that view only: nothing is made on the machine, except inside
 * volumes that may be written.
 */
#ifndef MUSTER_RUNTIME_ROOTFS_H
#define MUSTER_RUNTIME_ROOTFS_H

#include "port/runtime.h"

/* Moves the calling, single-threaded process into the container's mounts and, if it can, its
 * working folder; its root may be another one then. An ordinary user gets the container's number
 * here; who can be others becomes the container's user afterwards (rights.h). */
int rootfs_enter(const struct container_start *c, struct err *err) must_check;

#endif
