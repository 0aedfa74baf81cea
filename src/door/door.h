/*
 * door.h - this machine's pods as others ask for them (port/node.h). Everything is read from the
 * folders in which the runtime keeps pods and what is left of them, so that it does not matter who
 * started them, nor when.
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
