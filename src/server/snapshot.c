/* snapshot.c - see snapshot.h. The first event of a key after the revision says what was before. */
#include "server/snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/blob.h"
#include "server/request.h"

struct taking {
    struct map *items;
    bool failed;
};

static void unref_value(void *value)
{
    blob_unref(value);
}

void snapshot_release(struct map *m)
{
    map_release(m, unref_value);
    *m = (struct map)MAP_INIT;
}

static bool put(struct taking *t, const char *key, struct blob *value)
{
    void *old = NULL;

    if (map_puts(t->items, key, blob_ref(value), &old) < 0) {
        blob_unref(value);
        t->failed = true;
        return false;
    }
    blob_unref(old);
    return true;
}

static bool take_item(void *arg, const struct store_item *item)
{
    return put(arg, item->key, item->value);
}

static bool in_range(const char *key, const char *prefix, const char *after)
{
    return (!prefix || strncmp(key, prefix, strlen(prefix)) == 0) &&
           (!after || strcmp(key, after) > 0);
}

/* Undoes one event, unless an earlier one of the same key was undone. */
static bool undo(struct taking *t, struct map *seen, const struct store_event *e)
{
    if (map_gets(seen, e->key))
        return true;
    if (map_puts(seen, e->key, seen, NULL) < 0) {
        t->failed = true;
        return false;
    }
    if (e->previous)
        return put(t, e->key, e->previous);
    blob_unref(map_removes(t->items, e->key));
    return true;
}

static void ignore_ready(void *arg)
{
    (void)arg;
}

int snapshot_take(struct store_collection *c, int64_t revision, const char *prefix,
                  const char *after, struct map *ret, struct err *err)
{
    struct taking t = {.items = ret};
    struct map seen = MAP_INIT;
    struct store_watch *w;
    struct store_event e;
    int rc = store_watch_open(c, revision, ignore_ready, NULL, &w, err);

    *ret = (struct map)MAP_INIT;
    if (rc < 0)
        return rc;
    store_list(c, prefix, after, take_item, &t);
    while (!t.failed && (rc = store_watch_next(w, &e)) > 0)
        if (in_range(e.key, prefix, after) && !undo(&t, &seen, &e))
            break;
    map_release(&seen, NULL);
    store_watch_free(w);
    if (!t.failed && rc >= 0)
        return 0;
    snapshot_release(ret);
    return rc == -ESTALE ? err_set(err, ERR_EXPIRED, "the list expired while it was read")
                         : out_of_memory(err);
}
