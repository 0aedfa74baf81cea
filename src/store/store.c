/*
 * store.c - the objects in memory, and the way of a write through it.
 *
 * A write changes the head of its entry at once and joins the turn's list. Before the loop sleeps
 * the list goes to the writer; when it comes back committed, in revision order, each change becomes
 * the committed state, a record of the watch window, and its done callback is called. When it comes
 * back failed, so does everything behind it: first all heads fall back, then all are told, so that
 * a callback that writes again decides on what is true. Revisions of failed writes are not used
 * again.
 *
 * This file must not touch the disk after opening.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "store/change.h"
#include "store/database.h"
#include "store/window.h"
#include "store/writer.h"

#define DEFAULT_WINDOW_EVENTS 4096u
#define DEFAULT_WINDOW_BYTES (16u * 1024u * 1024u)
#define KEY_LIMIT_BYTES 1024u

struct entry {
    struct store_item committed; /* value NULL: not there (yet) */
    struct store_item head;      /* while flights > 0; value NULL: being deleted */
    unsigned flights;            /* writes not settled */
    int64_t id;                  /* row in the database */
    char key[];
};

struct store_collection {
    struct store *store;
    struct map entries;
    size_t committed_count;
    struct window window;
    bool changed; /* since its watches were told */
    struct store_collection *next_changed;
    char name[];
};

struct store {
    char *path;
    struct database *database;
    struct writer *writer;
    struct loop_hook *hook;
    size_t window_events, window_bytes;
    struct map collections;
    struct store_collection *changed;

    int64_t committed_revision, last_revision, start_revision;
    int64_t last_id;
    uint32_t epoch;
    struct change_list turn;                   /* not yet handed to the writer */
    struct change *flight_first, *flight_last; /* all that are not settled, oldest first */
    bool closing;
};

/* --- entries and collections */

static struct entry *entry_new(const char *key, size_t len, int64_t id)
{
    struct entry *e = calloc(1, sizeof(*e) + len + 1);

    if (!e)
        return NULL;
    memcpy(e->key, key, len);
    e->id = id;
    e->committed.key = e->head.key = e->key;
    return e;
}

static void entry_free(void *value)
{
    struct entry *e = value;

    blob_unref(e->committed.value);
    free(e);
}

static struct entry *entry_make(struct store_collection *c, const char *key, size_t len)
{
    struct entry *e = map_get(&c->entries, key, len);

    if (e)
        return e;
    e = entry_new(key, len, c->store->last_id + 1);
    if (!e)
        return NULL;
    if (map_put(&c->entries, key, len, e, NULL) < 0) {
        entry_free(e);
        return NULL;
    }
    c->store->last_id++;
    return e;
}

static void entry_drop_if_unused(struct store_collection *c, struct entry *e)
{
    if (e->flights || e->committed.value)
        return;
    (void)map_removes(&c->entries, e->key);
    entry_free(e);
}

static struct store_collection *collection_new(struct store *s, const char *name)
{
    size_t len = strlen(name);
    struct store_collection *c = calloc(1, sizeof(*c) + len + 1);

    if (!c)
        return NULL;
    c->store = s;
    memcpy(c->name, name, len);
    if (window_init(&c->window, s->start_revision, s->window_events, s->window_bytes) < 0) {
        free(c);
        return NULL;
    }
    return c;
}

static void collection_free(void *value)
{
    struct store_collection *c = value;

    window_release(&c->window);
    map_release(&c->entries, entry_free);
    free(c);
}

struct store_collection *store_collection(struct store *s, const char *name)
{
    struct store_collection *c = map_gets(&s->collections, name);

    if (c)
        return c;
    c = collection_new(s, name);
    if (c && map_puts(&s->collections, name, c, NULL) < 0) {
        collection_free(c);
        return NULL;
    }
    return c;
}

/* --- reading */

int64_t store_revision(struct store *s)
{
    return s->committed_revision;
}

int64_t store_next_revision(struct store *s)
{
    return s->last_revision + 1;
}

static const struct store_item *item_if_there(const struct store_item *item)
{
    return item->value ? item : NULL;
}

const struct store_item *store_get(struct store_collection *c, const char *key)
{
    struct entry *e = map_gets(&c->entries, key);

    return e ? item_if_there(&e->committed) : NULL;
}

const struct store_item *store_head(struct store_collection *c, const char *key)
{
    struct entry *e = map_gets(&c->entries, key);

    return e ? item_if_there(e->flights ? &e->head : &e->committed) : NULL;
}

size_t store_count(struct store_collection *c)
{
    return c->committed_count;
}

void store_list(struct store_collection *c, const char *prefix, const char *after,
                bool (*fn)(void *arg, const struct store_item *item), void *arg)
{
    size_t len = prefix ? strlen(prefix) : 0;
    struct map_node *n;

    if (after && (!len || strcmp(after, prefix) >= 0))
        n = map_after(&c->entries, after, strlen(after));
    else
        n = map_seek(&c->entries, prefix, len);
    for (; n; n = map_after(&c->entries, n->key, n->key_len)) {
        struct entry *e = n->value;

        if (len && (n->key_len < len || memcmp(n->key, prefix, len) != 0))
            return; /* keys with the prefix are neighbours */
        if (e->committed.value && !fn(arg, &e->committed))
            return;
    }
}

/* --- writing */

static void flight_add(struct store *s, struct change *c)
{
    if (s->flight_last)
        s->flight_last->flight_next = c;
    else
        s->flight_first = c;
    s->flight_last = c;
}

static struct change *flight_pop(struct store *s)
{
    struct change *c = s->flight_first;

    s->flight_first = c->flight_next;
    if (!s->flight_first)
        s->flight_last = NULL;
    c->flight_next = NULL;
    return c;
}

static int queue_write(struct store_collection *c, const char *key, struct blob *value,
                       bool deletion, store_done_fn *done, void *arg)
{
    struct store *s = c->store;
    size_t len = strlen(key);
    struct change *change;
    struct entry *e;

    if (s->closing)
        return -ESHUTDOWN;
    if (len > KEY_LIMIT_BYTES)
        return -ENAMETOOLONG;
    if (deletion && !store_head(c, key))
        return -ENOENT;
    change = change_new(key, len, value);
    if (!change)
        return -ENOMEM;
    e = entry_make(c, key, len);
    if (!e) {
        change_unref(change);
        return -ENOMEM;
    }
    change->collection = c;
    change->collection_name = c->name;
    change->entry = e;
    change->id = e->id;
    change->revision = ++s->last_revision;
    change->epoch = s->epoch;
    change->deletion = deletion;
    change->done = done;
    change->arg = arg;
    e->flights++;
    e->head.revision = change->revision;
    e->head.value = deletion ? NULL : change->value;
    flight_add(s, change_ref(change)); /* one reference here, one with the list that travels */
    change_list_add(&s->turn, change);
    return 0;
}

int store_put(struct store_collection *c, const char *key, struct blob *value, store_done_fn *done,
              void *arg)
{
    return queue_write(c, key, value, false, done, arg);
}

int store_delete(struct store_collection *c, const char *key, struct blob *last,
                 store_done_fn *done, void *arg)
{
    return queue_write(c, key, last, true, done, arg);
}

static void hand_over(void *arg)
{
    struct store *s = arg;

    if (s->turn.first)
        writer_send(s->writer, &s->turn);
}

/* --- what comes back */

static void note_changed(struct store_collection *c)
{
    if (c->changed)
        return;
    c->changed = true;
    c->next_changed = c->store->changed;
    c->store->changed = c;
}

static void tell_watches(struct store *s)
{
    while (s->changed) {
        struct store_collection *c = s->changed;

        s->changed = c->next_changed;
        c->changed = false;
        window_tell(&c->window);
    }
}

static void settle(struct change *change, const struct err *err)
{
    change->settled = true;
    if (change->done)
        change->done(change->arg, err);
    change_unref(change);
}

static void publish(struct store *s, struct change *change)
{
    struct store_collection *c = change->collection;
    struct entry *e = change->entry;
    struct blob *before = e->committed.value;

    assert(change == s->flight_first);
    (void)flight_pop(s);
    change->type = change->deletion ? STORE_DELETED : before ? STORE_MODIFIED : STORE_ADDED;
    change->previous = before; /* the entry's reference moves */
    e->committed.value = change->deletion ? NULL : blob_ref(change->value);
    e->committed.revision = change->revision;
    c->committed_count += (size_t)(!before && !change->deletion);
    c->committed_count -= (size_t)(before && change->deletion);
    s->committed_revision = change->revision;
    e->flights--;
    entry_drop_if_unused(c, e);
    change->entry = NULL;
    window_add(&c->window, change);
    note_changed(c);
    settle(change, NULL);
}

static void fall_back(struct change *first)
{
    for (struct change *c = first; c; c = c->flight_next) {
        c->entry->flights--;
        entry_drop_if_unused(c->collection, c->entry);
        c->entry = NULL;
    }
}

/* Everything in flight fails: what came back failed is the oldest of it. */
static void fail_flights(struct store *s, const struct database_failure *failure)
{
    struct change *next, *c = s->flight_first;
    auto_err err = ERR_INIT;

    s->epoch++;
    s->flight_first = s->flight_last = NULL;
    while (s->turn.first) /* these the writer need not see */
        change_unref(change_list_pop(&s->turn));
    fall_back(c);
    (void)err_set(&err, failure->reason, "cannot write the database %s: %s", s->path,
                  failure->text);
    for (; c; c = next) {
        next = c->flight_next;
        c->flight_next = NULL;
        settle(c, &err);
    }
}

static void take_back(struct store *s)
{
    struct change_list list = {0};
    struct database_failure failure;
    struct change *c;

    writer_receive(s->writer, &list, &failure);
    while ((c = change_list_pop(&list))) {
        if (!c->failed)
            publish(s, c);
        else if (!c->settled)
            fail_flights(s, &failure);
        change_unref(c);
    }
}

static void came_back(void *arg)
{
    struct store *s = arg;

    take_back(s);
    tell_watches(s);
}

int store_watch_open(struct store_collection *c, int64_t from, void (*on_ready)(void *arg),
                     void *arg, struct store_watch **ret, struct err *err)
{
    return window_watch(&c->window, from, on_ready, arg, ret, err);
}

/* --- opening and closing */

/* Collections are loaded in runs of the same one, so the last is remembered. */
struct loading {
    struct store *store;
    struct store_collection *collection;
};

static struct store_collection *collection_of_row(struct loading *loading,
                                                  const struct database_row *row)
{
    if (!loading->collection || strcmp(loading->collection->name, row->collection) != 0)
        loading->collection = store_collection(loading->store, row->collection);
    return loading->collection;
}

static int load_row(void *arg, const struct database_row *row, struct err *err)
{
    struct loading *loading = arg;
    struct store *s = loading->store;
    struct store_collection *c = collection_of_row(loading, row);
    struct entry *e = c ? entry_make(c, row->key, row->key_len) : NULL;

    if (!e)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (e->committed.value)
        return err_set(err, ERR_INTERNAL, "the database %s is damaged: it has %s %s twice", s->path,
                       row->collection, row->key);
    e->id = row->id;
    s->last_id = max_i64(s->last_id, row->id);
    e->committed.revision = row->revision;
    e->committed.value = blob_new(row->value, row->value_len);
    if (!e->committed.value)
        return err_set(err, ERR_INTERNAL, "out of memory");
    c->committed_count++;
    return 0;
}

static void start_window(struct store *s)
{
    s->start_revision = s->last_revision = s->committed_revision;
    map_for_each (n, &s->collections) {
        struct store_collection *c = n->value;

        c->window.start_revision = s->start_revision;
    }
}

static int open_all(struct store *s, struct loop *l, struct err *err)
{
    struct loading loading = {.store = s};
    int r;

    s->database = database_open(s->path, err);
    if (!s->database)
        return -EIO;
    r = database_load(s->database, load_row, &loading, &s->committed_revision, err);
    if (r < 0)
        return r;
    start_window(s);
    s->writer = writer_new(l, s->database, came_back, s, err);
    if (!s->writer)
        return -EIO;
    s->hook = loop_before_sleep(l, hand_over, s);
    return s->hook ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
}

struct store *store_open(struct loop *l, const char *path, const struct store_options *options,
                         struct err *err)
{
    struct store *s = calloc(1, sizeof(*s));

    if (!s || !(s->path = strdup(path))) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        free(s);
        return NULL;
    }
    s->epoch = 1;
    s->window_events = options && options->window_events ? options->window_events
                                                         : DEFAULT_WINDOW_EVENTS;
    s->window_bytes = options && options->window_bytes ? options->window_bytes
                                                       : DEFAULT_WINDOW_BYTES;
    if (open_all(s, l, err) < 0) {
        store_close(s);
        return NULL;
    }
    return s;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    s->closing = true;
    loop_hook_free(s->hook);
    if (s->writer) {
        hand_over(s);
        writer_finish(s->writer);
        take_back(s);
        writer_free(s->writer);
    }
    database_close(s->database);
    map_release(&s->collections, collection_free);
    free(s->path);
    free(s);
}
