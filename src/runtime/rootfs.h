/*
 * rootfs.h - a container's own view of the file system, and its user in it. Mount points missing on
 * the machine appear in that view only: nothing is created on the machine, except inside writable
 * volumes.
 */
#ifndef MUSTER_RUNTIME_ROOTFS_H
#define MUSTER_RUNTIME_ROOTFS_H

#include "port/runtime.h"

/* Moves the calling, single-threaded process into the container's mounts and, if possible, its
 * working folder; its root may change. An ordinary user gets the container's uid here; a process
 * that can change its user does so afterwards (rights.h). */
int rootfs_enter(const struct container_start *c, struct err *err) must_check;

#endif
