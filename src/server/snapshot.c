/*
 * snapshot.c - see snapshot.h. The first event of a key after the revision has its previous state:
 * so the changes since, which the window bounds, are laid over a walk of the current state.
 */
#include "server/snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/blob.h"
#include "server/request.h"

struct walk {
    struct map changed;    /* key -> the value it had, or absent */
    struct map_node *next; /* next one to report */
    snapshot_fn *fn;
    void *arg;
    bool over;
};

static struct blob absent; /* marks a key that did not exist */

static void unref_value(void *value)
{
    if (value != &absent)
        blob_unref(value);
}

void snapshot_release(struct map *m)
{
    map_release(m, unref_value);
    *m = (struct map)MAP_INIT;
}

static bool in_range(const char *key, const char *prefix, const char *after)
{
    return (!prefix || strncmp(key, prefix, strlen(prefix)) == 0) &&
           (!after || strcmp(key, after) > 0);
}

static int note_before(struct map *changed, const struct store_event *e)
{
    struct blob *before;

    if (map_gets(changed, e->key))
        return 0;
    before = e->previous ? blob_ref(e->previous) : &absent;
    if (map_puts(changed, e->key, before, NULL) == 0)
        return 0;
    unref_value(before);
    return -ENOMEM;
}

static void ignore_ready(void *arg)
{
    (void)arg;
}

static int gather_changed(struct store_collection *c, int64_t revision, const char *prefix,
                          const char *after, struct map *changed, struct err *err)
{
    struct store_watch *w;
    struct store_event e;
    int rc = store_watch_open(c, revision, ignore_ready, NULL, &w, err);
    bool failed = false;

    if (rc < 0)
        return rc;
    while (!failed && (rc = store_watch_next(w, &e)) > 0)
        failed = in_range(e.key, prefix, after) && note_before(changed, &e) < 0;
    store_watch_free(w);
    if (failed)
        return out_of_memory(err);
    return rc == -ESTALE ? err_set(err, ERR_EXPIRED, "the list expired while it was read") : 0;
}

/* Reports those with keys before the given one (NULL: all that are left). */
static void tell_changed(struct walk *w, const char *until)
{
    while (!w->over && w->next && (!until || strcmp(w->next->key, until) < 0)) {
        struct map_node *n = w->next;

        w->next = map_after(&w->changed, n->key, n->key_len);
        if (n->value != &absent)
            w->over = !w->fn(w->arg, n->key, n->value);
    }
}

static bool tell_item(void *arg, const struct store_item *item)
{
    struct walk *w = arg;

    tell_changed(w, item->key);
    if (!w->over && !(w->next && strcmp(w->next->key, item->key) == 0))
        w->over = !w->fn(w->arg, item->key, item->value);
    return !w->over;
}

int snapshot_each(struct store_collection *c, int64_t revision, const char *prefix,
                  const char *after, snapshot_fn *fn, void *arg, struct err *err)
{
    struct walk w = {.fn = fn, .arg = arg};
    int rc = gather_changed(c, revision, prefix, after, &w.changed, err);

    if (rc == 0) {
        w.next = map_first(&w.changed);
        store_list(c, prefix, after, tell_item, &w);
        tell_changed(&w, NULL);
    }
    snapshot_release(&w.changed);
    return rc;
}

struct taking {
    struct map *items;
    bool failed;
};

static bool take(void *arg, const char *key, struct blob *value)
{
    struct taking *t = arg;

    t->failed = map_puts(t->items, key, value, NULL) < 0;
    if (!t->failed)
        (void)blob_ref(value);
    return !t->failed;
}

int snapshot_take(struct store_collection *c, int64_t revision, struct map *ret, struct err *err)
{
    struct taking t = {.items = ret};
    int rc;

    *ret = (struct map)MAP_INIT;
    rc = snapshot_each(c, revision, NULL, NULL, take, &t, err);
    if (rc == 0 && t.failed)
        rc = out_of_memory(err);
    if (rc < 0)
        snapshot_release(ret);
    return rc;
}
