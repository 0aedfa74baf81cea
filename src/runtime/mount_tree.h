/* mount_tree.h - single steps with mounts by descriptor. All answer a descriptor or 0, or a
 * negative errno. */
#ifndef MUSTER_RUNTIME_MOUNT_TREE_H
#define MUSTER_RUNTIME_MOUNT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A copy of what is mounted at fd and below it, not attached anywhere yet. */
int mount_clone(int fd);
int mount_attach(int tree, int target);
/* An empty folder in memory of this mode, not attached yet. */
int mount_memory_new(mode_t mode);
enum mount_reach { MOUNT_ALONE, MOUNT_AND_BELOW };
/* MOUNT_ATTR_... of the mount at fd, its root or not. */
int mount_change(int fd, enum mount_reach reach, uint64_t set, uint64_t clear);
/* The kernel's number of the mount fd is in; 0: not known. */
uint64_t mount_id(int fd);

/* A folder or an empty file called name in the folder dir_fd; it may be there already. Answers an
 * O_PATH descriptor. */
int mount_point_make(int dir_fd, const char *name, bool folder);
/* The entry name of from appears in to: a link is copied, all else bound. What cannot be shown
 * elsewhere is left out: things that vanish meanwhile, other people's user-space file systems.
 * clear: MOUNT_ATTR_... the copy is not to have. */
int mount_copy_entry(int from, int to, const char *name, uint64_t clear);

#endif
