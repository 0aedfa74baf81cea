/* mount_tree.h - single mount operations by descriptor. All return a descriptor or 0, or a negative
 * errno. */
#ifndef MUSTER_RUNTIME_MOUNT_TREE_H
#define MUSTER_RUNTIME_MOUNT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A copy of the mount at fd and everything below it, not attached yet. */
int mount_clone(int fd);
int mount_attach(int tree, int target);
/* An empty tmpfs of this mode, not attached yet. */
int mount_memory_new(mode_t mode);
enum mount_reach { MOUNT_ALONE, MOUNT_AND_BELOW };
/* Changes MOUNT_ATTR_... of the mount at fd. */
int mount_change(int fd, enum mount_reach reach, uint64_t set, uint64_t clear);
/* The kernel's id of the mount fd is in; 0: unknown. */
uint64_t mount_id(int fd);

/* Creates a folder or an empty file `name` in dir_fd, which may exist already. Returns an O_PATH
 * descriptor. */
int mount_point_make(int dir_fd, const char *name, bool folder);
/* Makes the entry `name` of from appear in to: links are copied, everything else is bound. What
 * cannot be shown elsewhere is skipped: vanished entries, other users' FUSE file systems. clear:
 * MOUNT_ATTR_... the copy must not have. */
int mount_copy_entry(int from, int to, const char *name, uint64_t clear);

#endif
