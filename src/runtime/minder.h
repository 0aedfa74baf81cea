/*
 * minder.h - the parent of one container's program: it records how the program ended, and clears
 * away whatever that has forked, however it hid, before it says so. It does nothing else, so that
 * there is little that could go wrong with it, and outlives the worker that made it.
 */
#ifndef MUSTER_RUNTIME_MINDER_H
#define MUSTER_RUNTIME_MINDER_H

#include "runtime/group.h"

struct minder {
    struct group *group;
    struct group_slot *slot;
    uint32_t ticket;
};

/* For launch_hooks.between, with a struct minder: in the forked child it becomes the minder and
 * does not return; in the grandchild, which is to become the program, it does. */
void minder_stay(void *arg, pid_t (*fork_program)(void *plan), void *plan);

#endif
