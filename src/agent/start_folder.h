/*
 * start_folder.h - an empty start folder for each container without workingDir, and for each whose
 * user has no other home. It is deleted with the pod. Where mounts are possible every container
 * finds its own at the same path, so that a launcher's working folder exists in its workers too.
 */
#ifndef MUSTER_AGENT_START_FOLDER_H
#define MUSTER_AGENT_START_FOLDER_H

#include "base/arena.h"
#include "port/runtime.h"

#define START_FOLDER_PREFIX                                                                        \
    ".start-" /* followed by the container's name, in the pod's own                                \
               * folder */

/* A mount point of root's daemon in /run, created once, for all daemons: without it pods would have
 * /run read-only (runtime/rootfs.c). path: the folder's parents, then itself. NULL: impossible. */
const char *mount_point_in_run(const char *const path[], size_t len);
/* Where they appear for users that cannot enter the folder of root's daemon, or NULL. */
const char *start_folder_of_others(void);

/* folder: the pod's own. place: the existing folder where they appear; NULL: mounts are impossible.
 * Sets cwd of containers that have none. */
int start_folders_prepare(struct arena *a, const char *folder, const char *place,
                          struct pod_start *start, struct err *err) must_check;

#endif
