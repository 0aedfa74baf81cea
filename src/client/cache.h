/*
 * cache.h - a local copy of one resource, maintained by list and watch. It lists, watches from the
 * list's resourceVersion, and lists again (with back-off and jitter) when the watch is refused,
 * expires or breaks; what vanished meanwhile is reported as deleted. It may be stale: it is
 * eventually right, and never out of order.
 */
#ifndef MUSTER_CLIENT_CACHE_H
#define MUSTER_CLIENT_CACHE_H

#include "api/kind.h"
#include "port/clock.h"
#include "port/transport.h"

struct cache;

enum cache_event { CACHE_ADDED, CACHE_CHANGED, CACHE_DELETED };

/* old is NULL for ADDED; for DELETED object is the last known state. Both are valid during the call
 * only; a result of cache_get is valid until the next turn of the loop. */
typedef void cache_fn(void *arg, enum cache_event event, const struct json *object,
                      const struct json *old);

struct cache_options {
    struct transport *transport;
    struct clock *clock;
    const struct kind *kind;
    const char *ns; /* NULL: all namespaces */
    /* The most recently used or changed objects, this many, stay parsed for a while. The others are
     * kept as small as possible and parsed on demand; what cache_each passes is then valid during
     * the call only, unless cache_get was called for it meanwhile. 0: all stay parsed. */
    size_t ready_objects;
    /* With ready_objects: a new object of a list for whose head (api/object.h) this is true is kept
     * without being parsed, and on_change is not called for it before cache_wake. NULL: none. */
    bool (*rests)(void *arg, const struct json *head);
    const char *query;   /* extra selectors, escaped: "fieldSelector=spec.nodeName%3Dn1"; or NULL */
    cache_fn *on_change; /* may be NULL */
    void (*on_synced)(void *arg); /* the first list is complete; may be NULL */
    /* A list or watch failed and will be retried; may be NULL. */
    void (*on_trouble)(void *arg, const struct err *err);
    void *arg;
};

struct cache *
cache_new(const struct cache_options *options) must_check; /* starts at once; NULL: out of memory */
void cache_free(struct cache *c);
bool cache_is_synced(const struct cache *c);
/* Why the last list or watch failed; NULL: it is following. */
const char *cache_trouble(const struct cache *c);
size_t cache_count(const struct cache *c);
/* The newest resourceVersion seen, as a number: every write of this kind up to it is in the
 * cache. */
int64_t cache_revision(const struct cache *c);

/* Lists again: the number of a list that starts after this call. Once cache_has_listed it, the
 * cache contains everything written before the call, by any client. */
unsigned cache_refresh(struct cache *c);
bool cache_has_listed(const struct cache *c, unsigned number);

const struct json *cache_get(const struct cache *c, const char *ns, const char *name);
/* Calls on_change (CACHE_ADDED) for some of the objects kept aside that way, continuing with each
 * call. False: there are no more. */
bool cache_wake(struct cache *c, size_t count);
/* All objects, in key order; or those of one controller by UID (indexed, no scan). fn returns false
 * to stop. */
void cache_each(const struct cache *c, bool (*fn)(void *arg, const struct json *object), void *arg);
/* The same without those kept aside. */
void cache_each_awake(const struct cache *c, bool (*fn)(void *arg, const struct json *object),
                      void *arg);
void cache_each_of_controller(const struct cache *c, const char *uid,
                              bool (*fn)(void *arg, const struct json *object), void *arg);

#endif
