/*
 * reader.c - a client that only looks, as a console would: caches of jobs and pods over a link with
 * faults. It must never see an object go back in time, and in the end see what is there.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "client/cache.h"
#include "sim.h"

struct shelf {
    struct reader *reader;
    const char *collection;
    struct cache *cache;
    struct map revisions; /* uid -> revision as a pointer */
    size_t seen;
};

struct reader {
    struct sim *sim;
    struct transport *link;
    struct shelf shelves[3];
};

static void on_change(void *arg, enum cache_event event, const struct json *object,
                      const struct json *old)
{
    struct shelf *shelf = arg;
    const char *uid = object_uid(object);
    intptr_t revision = (intptr_t)strtoll(object_resource_version(object), NULL, 10);
    intptr_t before = (intptr_t)map_gets(&shelf->revisions, uid);

    (void)old;
    if (event != CACHE_DELETED && revision <= before)
        violate(shelf->reader->sim, "a cache shows %s %s at revision %lld after %lld",
                shelf->collection, object_name(object), (long long)revision, (long long)before);
    if (map_puts(&shelf->revisions, uid, (void *)revision, NULL) < 0)
        abort();
}

struct reader *reader_new(struct sim *s)
{
    static const struct {
        const char *collection;
        const struct kind *kind;
    } kinds_of[] = {
        {PYTORCH_JOBS, &kind_pytorch_training_job}, {MPI_JOBS, &kind_mpi_job}, {PODS, &kind_pod}};
    struct reader *r = calloc(1, sizeof(*r));

    assert(r);
    r->sim = s;
    r->link = network_link(s->network, CLIENT_READER);
    for (size_t i = 0; i < ELEMS(kinds_of); i++) {
        struct shelf *shelf = &r->shelves[i];

        shelf->reader = r;
        shelf->collection = kinds_of[i].collection;
        shelf->cache = cache_new(&(struct cache_options){.transport = r->link,
                                                         .clock = s->clock,
                                                         .kind = kinds_of[i].kind,
                                                         .on_change = on_change,
                                                         .arg = shelf});
        assert(shelf->cache);
    }
    return r;
}

void reader_free(struct reader *r)
{
    for (size_t i = 0; i < ELEMS(r->shelves); i++) {
        cache_free(r->shelves[i].cache);
        map_release(&r->shelves[i].revisions, NULL);
    }
    transport_free(r->link);
    free(r);
}

static void compare(void *arg, const char *key, const struct json *object)
{
    struct shelf *shelf = arg;
    const struct json *seen = cache_get(shelf->cache, object_namespace(object),
                                        object_name(object));

    shelf->seen++;
    if (!seen || strcmp(object_resource_version(seen), object_resource_version(object)) != 0)
        violate(shelf->reader->sim, "in the end a cache shows %s of %s %s, which is at %s",
                seen ? object_resource_version(seen) : "nothing", shelf->collection, key,
                object_resource_version(object));
}

void reader_judge(struct reader *r)
{
    for (size_t i = 0; i < ELEMS(r->shelves); i++) {
        struct shelf *shelf = &r->shelves[i];

        shelf->seen = 0;
        observer_each(r->sim->observer, shelf->collection, compare, shelf);
        if (shelf->seen != cache_count(shelf->cache))
            violate(r->sim, "in the end a cache has %zu of %s, there are %zu",
                    cache_count(shelf->cache), shelf->collection, shelf->seen);
    }
}
