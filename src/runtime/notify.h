/*
 * notify.h - notifications about changes in a folder (inotify). All users of one loop share one
 * inotify descriptor: a user may have only 128 of them.
 */
#ifndef MUSTER_RUNTIME_NOTIFY_H
#define MUSTER_RUNTIME_NOTIFY_H

#include <sys/inotify.h>

#include "loop/loop.h"

struct notify;

/* mask: IN_MOVED_TO, ... of the folder. name: the file in it, "" for the folder itself. */
typedef void notify_fn(void *arg, uint32_t mask, const char *name);

/* Watch first, read afterwards, and nothing is missed. -errno; fn is never called from inside. */
int notify_watch(struct loop *l, const char *dir, uint32_t mask, notify_fn *fn, void *arg,
                 struct notify **ret) must_check;
void notify_stop(struct notify *n); /* NULL-safe; also from inside fn */

#endif
