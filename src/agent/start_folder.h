/*
 * start_folder.h - an empty folder for each container that names no workingDir, to start in, and
 * for each whose user has no other home. It is
 * among what dies with the pod. Where mounts can be made, every container finds its own at the same
 * path, so that a launcher's working folder is there in its workers too.
 */
#ifndef MUSTER_AGENT_START_FOLDER_H
#define MUSTER_AGENT_START_FOLDER_H

#include "base/arena.h"
#include "port/runtime.h"

#define START_FOLDER_PREFIX ".start-" /* then the container's name, in the pod's own folder */

/* Where they appear to those who may not go where root's daemon has its folder: made once, for all
 * daemons. NULL: it cannot be. */
const char *start_folder_of_others(void);

/* folder: the pod's own. place: where they appear, a folder that is there; NULL: nothing can be
 * mounted. Fills cwd of the containers that have none. */
int start_folders_prepare(struct arena *a, const char *folder, const char *place,
                          struct pod_start *start, struct err *err) must_check;

#endif
