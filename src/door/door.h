/*
 * door.h - access to this machine's pods (port/node.h). Everything is read from the folders in
 * which the runtime keeps pods and their remains, so it does not matter which process started them,
 * or when.
 */
#ifndef MUSTER_DOOR_DOOR_H
#define MUSTER_DOOR_DOOR_H

#include "loop/loop.h"
#include "port/node.h"

/* pod_root: the agent's (agent/agent.h). node_name: of its Node. NULL with err set. */
struct node *door_new(struct loop *l, const char *pod_root, const char *node_name,
                      struct err *err) must_check;
/* After every session was freed. NULL-safe. */
void door_free(struct node *n);

#endif
