/*
 * snapshot.h - a collection as of an earlier revision, derived from the current state and the watch
 * window. Makes a list read in pages consistent.
 */
#ifndef MUSTER_SERVER_SNAPSHOT_H
#define MUSTER_SERVER_SNAPSHOT_H

#include "base/map.h"
#include "store/store.h"

/* Items with the prefix and a key > after (NULL: all), as of revision, in key order. fn returns
 * false to stop; its arguments are valid during the call. -ESTALE with ERR_EXPIRED when the window
 * does not reach back that far. */
typedef bool snapshot_fn(void *arg, const char *key, struct blob *value);
int snapshot_each(struct store_collection *c, int64_t revision, const char *prefix,
                  const char *after, snapshot_fn *fn, void *arg, struct err *err) must_check;

/* All of them. Values are references to blobs. */
int snapshot_take(struct store_collection *c, int64_t revision, struct map *ret,
                  struct err *err) must_check;
void snapshot_release(struct map *m);

#endif
