/*
 * image_root.h - a container's root file system from an unpacked image: an overlay of the image,
 * which stays as it is, and the container's own layer, which is empty at every start. Where the
 * kernel allows no overlay, a copy. For a process in its own mount namespace.
 *
 * What is in the image is its author's: nothing in it is followed or trusted.
 */
#ifndef MUSTER_RUNTIME_IMAGE_ROOT_H
#define MUSTER_RUNTIME_IMAGE_ROOT_H

#include "port/runtime.h"

/* Of the folder container_start.image: the image's files. */
#define IMAGE_ROOT_FOLDER "rootfs"

struct image_root {
    int tree;  /* the root's mount */
    int place; /* the folder it is attached to */
};

/* Makes the root, attached nowhere yet: while the daemon's folder is still visible. */
int image_root_make(const struct container_start *c, struct image_root *ret,
                    struct err *err) must_check;
/* Attaches it, with /proc, /sys and /dev as the caller sees them. Returns the descriptor of its
 * /dev. */
int image_root_fill(const struct image_root *r, struct err *err) must_check;
void image_root_close(struct image_root *r);

#endif
