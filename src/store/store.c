/*
 * store.c - the objects in memory, and the path of a write.
 *
 * A write changes the head of its entry at once and joins the turn's list. Before the loop sleeps
 * the list goes to the writer; when it comes back committed, in revision order, each change becomes
 * the committed state and a record of the watch window, and its done callback is called. When it
 * comes back failed, so does everything behind it: first all heads are reverted, then all callers
 * are notified, so that a callback that writes again decides on the true state. Revisions of failed
 * writes are not reused.
 *
 * Objects that were neither written nor read lately are stored compressed against another of their
 * collection (base/shrink.h): most belong to jobs that ended long ago. The uncompressed ones form
 * an LRU line, which is trimmed between turns of the loop.
 *
 * This file must not touch the disk after opening.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/shrink.h"
#include "store/change.h"
#include "store/database.h"
#include "store/identity.h"
#include "store/window.h"
#include "store/writer.h"

#define DEFAULT_WINDOW_EVENTS 4096u
#define DEFAULT_WINDOW_BYTES (16u * 1024u * 1024u)
#define DEFAULT_READY_BYTES (8u * 1024u * 1024u)
#define KEY_LIMIT_BYTES 1024u
#define DAMAGED_VALUE_LIMIT_BYTES (64u * 1024u * 1024u)
#define FORGOTTEN "" /* the collection of deletions that replace rows of unknown objects */

/* Of an entry with writes that are not settled. */
struct flights {
    struct store_item head; /* value NULL: being deleted */
    unsigned count;
};

/* There are as many as objects, so rarely needed members are elsewhere. */
struct entry {
    struct store_collection *collection;
    struct store_item committed; /* value NULL: absent, or only its compressed text is kept */
    struct entry *next, **at;    /* in the line of uncompressed entries; at is NULL: not in it */
    struct flights *flights;     /* NULL: none */
    bool asked_for;              /* since it last came up in the line */
    bool unreadable;             /* could not be expanded when last requested, for lack of memory */
    bool damaged;                /* what is stored cannot be trusted; committed has its revision */
    struct map_node node;        /* its value is the compressed committed value; NULL: not made */
};

struct store_collection {
    struct store *store;
    struct map entries;
    struct shrinker shrinker;
    size_t committed_count;
    struct window window;
    bool changed; /* since its watches were notified */
    bool is_used; /* created by the server, not only read from a damaged row */
    struct store_collection *next_changed;
    char name[];
};

/* A damaged row that no later one replaced. */
struct damage {
    struct damage *next;
    const struct store_collection *collection; /* as read */
    int64_t revision;                          /* as read; that of the entries it withholds */
    int64_t written;                           /* the true one; INT64_MAX: not known */
    int64_t crc;                               /* as read */
    bool identified;
};

struct store {
    char *path;
    struct database *database;
    struct writer *writer;
    struct loop_hook *hook;
    size_t window_events, window_bytes;
    struct entry *ready, **ready_end; /* uncompressed entries, least recently used first */
    size_t ready_len, ready_bytes, ready_limit;
    struct map collections;
    struct store_collection *changed;

    int64_t committed_revision, last_revision;
    int64_t start_revision; /* of windows: everything written after it is known */
    size_t damage_count;    /* of entries */
    struct damage *damages;
    uint32_t epoch;
    struct change_list turn;                   /* not yet passed to the writer */
    struct change *flight_first, *flight_last; /* all unsettled ones, oldest first */
    bool closing;
};

/* --- entries and collections */

static struct entry *entry_of(struct map_node *n)
{
    return n ? container_of(n, struct entry, node) : NULL;
}

static struct entry *entry_find(const struct store_collection *c, const char *key)
{
    return entry_of(map_find(&c->entries, key, strlen(key)));
}

static struct shrunk *text_of(const struct entry *e)
{
    return e->node.value;
}

static void set_text(struct entry *e, struct shrunk *text)
{
    shrunk_unref(e->node.value);
    e->node.value = text;
}

static struct entry *entry_new(struct store_collection *c, const char *key, size_t len)
{
    struct entry *e = calloc(1, map_node_size(offsetof(struct entry, node), len));

    if (!e)
        return NULL;
    e->collection = c;
    map_node_init(&e->node, key, len);
    e->committed.key = e->node.key;
    return e;
}

static void entry_free(struct map_node *n)
{
    struct entry *e = entry_of(n);

    blob_unref(e->committed.value);
    set_text(e, NULL);
    free(e->flights);
    free(e);
}

static struct entry *entry_make(struct store_collection *c, const char *key, size_t len)
{
    struct entry *e = entry_of(map_find(&c->entries, key, len));

    if (e)
        return e;
    e = entry_new(c, key, len);
    if (e)
        map_link(&c->entries, &e->node);
    return e;
}

static bool is_there(const struct entry *e)
{
    return e->committed.value || text_of(e);
}

static struct flights *flights_make(struct entry *e)
{
    if (!e->flights)
        e->flights = calloc(1, sizeof(*e->flights));
    if (e->flights)
        e->flights->head.key = e->node.key;
    return e->flights;
}

static void flight_ended(struct entry *e)
{
    assert(e->flights && e->flights->count > 0);
    if (--e->flights->count > 0)
        return;
    free(e->flights);
    e->flights = NULL;
}

static void entry_drop_if_unused(struct store_collection *c, struct entry *e)
{
    if (e->flights || is_there(e) || e->damaged)
        return;
    map_unlink(&c->entries, &e->node);
    entry_free(&e->node);
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
    map_release_nodes(&c->entries, entry_free);
    shrinker_release(&c->shrinker);
    free(c);
}

static struct store_collection *collection_make(struct store *s, const char *name)
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

struct store_collection *store_collection(struct store *s, const char *name)
{
    struct store_collection *c = collection_make(s, name);

    if (c)
        c->is_used = true;
    return c;
}

/* --- uncompressed values */

static void ready_join(struct entry *e)
{
    struct store *s = e->collection->store;

    if (e->at || !e->committed.value || e->committed.value->len >= SHRINK_TEXT_LIMIT_BYTES)
        return;
    e->next = NULL;
    e->at = s->ready_end;
    *s->ready_end = e;
    s->ready_end = &e->next;
    s->ready_len++;
    s->ready_bytes += e->committed.value->len;
}

static void ready_leave(struct entry *e)
{
    struct store *s = e->collection->store;

    if (!e->at)
        return;
    *e->at = e->next;
    if (e->next)
        e->next->at = e->at;
    else
        s->ready_end = e->at;
    e->at = NULL;
    s->ready_len--;
    s->ready_bytes -= e->committed.value->len;
}

static bool make_ready(struct entry *e)
{
    static char text[SHRINK_TEXT_LIMIT_BYTES];

    if (e->committed.value || !text_of(e))
        return e->committed.value;
    shrunk_expand(text_of(e), text);
    e->committed.value = blob_new(text, text_of(e)->text_len);
    e->unreadable = !e->committed.value;
    return !e->unreadable;
}

static void drop_value(struct entry *e)
{
    blob_unref(e->committed.value);
    e->committed.value = NULL;
}

static void forget_value(struct entry *e)
{
    ready_leave(e);
    drop_value(e);
    set_text(e, NULL);
    e->unreadable = false;
}

static const struct store_item *ask_for(struct entry *e)
{
    if (!make_ready(e))
        return NULL;
    e->asked_for = true;
    ready_join(e);
    return &e->committed;
}

/* It goes to the end if it was asked for, and is compressed otherwise. */
static void pass_first(struct store *s)
{
    struct entry *e = s->ready;
    const struct blob *value = e->committed.value;
    bool stays = e->asked_for || e->flights;

    ready_leave(e);
    e->asked_for = false;
    if (!stays && !text_of(e))
        e->node.value = shrink(&e->collection->shrinker, value->data, value->len);
    if (stays || !text_of(e))
        ready_join(e);
    else
        drop_value(e);
}

static void shorten(struct store *s)
{
    /* Twice around: of many used in one turn not all can stay. */
    for (size_t n = 2 * s->ready_len; n > 0 && s->ready_bytes > s->ready_limit; n--)
        pass_first(s);
}

void store_age(struct store *s)
{
    map_for_each (n, &s->collections) {
        struct store_collection *c = n->value;

        window_age(&c->window);
    }
    for (size_t n = s->ready_len; n > 0; n--)
        pass_first(s);
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

const struct store_item *store_get(struct store_collection *c, const char *key)
{
    struct entry *e = entry_find(c, key);

    return e ? ask_for(e) : NULL;
}

const struct store_item *store_head(struct store_collection *c, const char *key)
{
    struct entry *e = entry_find(c, key);

    if (e && e->flights)
        return e->flights->head.value ? &e->flights->head : NULL;
    return e ? ask_for(e) : NULL;
}

size_t store_count(struct store_collection *c)
{
    return c->committed_count;
}

struct listing {
    const char *prefix;
    size_t prefix_len;
    bool heads;
    bool (*fn)(void *arg, const struct store_item *item);
    void *arg;
};

/* One of many: it stays uncompressed only during the call, unless requested separately. */
static bool tell(void *arg, struct map_node *n)
{
    const struct listing *l = arg;
    struct entry *e = entry_of(n);
    const struct store_item *item = l->heads && e->flights ? &e->flights->head : &e->committed;
    bool was_ready = e->committed.value, goes_on;

    if (n->key_len < l->prefix_len || memcmp(n->key, l->prefix, l->prefix_len) != 0)
        return false; /* keys with the prefix are adjacent */
    if (item == &e->committed && !make_ready(e))
        return true;
    goes_on = !item->value || l->fn(l->arg, item);
    if (!was_ready && !e->at && text_of(e) && e->committed.value)
        drop_value(e);
    return goes_on;
}

/* The prefix ends with '/', so no key equals it. */
void store_list(struct store_collection *c, const char *prefix, const char *after,
                bool (*fn)(void *arg, const struct store_item *item), void *arg)
{
    struct listing l = {.prefix = prefix ? prefix : "",
                        .prefix_len = prefix ? strlen(prefix) : 0,
                        .fn = fn,
                        .arg = arg};

    if (!after || strcmp(after, l.prefix) < 0)
        after = l.prefix;
    map_visit_after(&c->entries, *after ? after : NULL, strlen(after), tell, &l);
}

/* The rank of the first key after those with the prefix, which ends with '/'. */
static size_t rank_behind(const struct map *m, const char *prefix, size_t len)
{
    char bound[KEY_LIMIT_BYTES + 1];

    if (len == 0 || len > KEY_LIMIT_BYTES)
        return m->count;
    memcpy(bound, prefix, len);
    bound[len - 1]++;
    return map_rank(m, bound, len);
}

size_t store_count_after(struct store_collection *c, const char *prefix, const char *after)
{
    size_t len = prefix ? strlen(prefix) : 0, end = rank_behind(&c->entries, prefix, len);
    size_t begin = after ? map_rank(&c->entries, after, strlen(after) + 1)
                         : map_rank(&c->entries, prefix, len);

    return end > begin ? end - begin : 0;
}

void store_list_heads(struct store_collection *c,
                      bool (*fn)(void *arg, const struct store_item *item), void *arg)
{
    struct listing l = {.prefix = "", .heads = true, .fn = fn, .arg = arg};

    map_visit_after(&c->entries, NULL, 0, tell, &l);
}

uint32_t store_epoch(const struct store *s)
{
    return s->epoch;
}

/* --- damage */

int64_t store_damaged(struct store_collection *c, const char *key)
{
    const struct entry *e = entry_find(c, key);

    if (!e || !(e->damaged || e->unreadable))
        return 0;
    return e->committed.revision ? e->committed.revision : -1;
}

static bool could_be_in(const struct damage *d, const struct store_collection *c)
{
    return !d->identified && (d->collection == c || !d->collection->is_used);
}

int64_t store_damage_unidentified(const struct store_collection *c)
{
    for (const struct damage *d = c->store->damages; d; d = d->next)
        if (could_be_in(d, c))
            return d->revision ? d->revision : -1;
    return 0;
}

/* The damaged row is known to be this object's: a write replaces it. */
static bool is_withheld_for_sure(const struct entry *e)
{
    for (const struct damage *d = e->collection->store->damages; d; d = d->next)
        if (d->revision == e->committed.revision && !d->identified)
            return false;
    return e->damaged;
}

size_t store_damage_count(const struct store *s)
{
    size_t count = s->damage_count;

    for (const struct damage *d = s->damages; d; d = d->next)
        count += !d->identified;
    return count;
}

void store_each_damage(struct store *s, void (*fn)(void *arg, const struct store_damage *damage),
                       void *arg)
{
    for (const struct damage *d = s->damages; d; d = d->next)
        if (!d->identified)
            fn(arg, &(struct store_damage){
                        .collection = d->collection->is_used ? d->collection->name : NULL,
                        .revision = d->revision});
    if (s->damage_count == 0)
        return;
    map_for_each (n, &s->collections) {
        struct store_collection *c = n->value;

        map_for_each (m, &c->entries) {
            const struct entry *e = entry_of(m);

            if (is_withheld_for_sure(e))
                fn(arg, &(struct store_damage){c->name, e->node.key, e->committed.revision});
        }
    }
}

static void entry_is_whole(struct store *s, struct entry *e)
{
    s->damage_count -= e->damaged;
    e->damaged = false;
}

static void release_withheld(struct store *s, int64_t revision)
{
    map_for_each (n, &s->collections) {
        struct store_collection *c = n->value;
        struct map_node *next;

        for (struct map_node *m = map_first(&c->entries); m; m = next) {
            struct entry *e = entry_of(m);

            next = map_after(&c->entries, m->key, m->key_len);
            if (!e->damaged || e->committed.revision != revision)
                continue;
            entry_is_whole(s, e);
            entry_drop_if_unused(c, e);
        }
    }
}

static struct damage **damage_at(struct store *s, int64_t revision)
{
    struct damage **at = &s->damages;

    while (*at && (*at)->revision != revision)
        at = &(*at)->next;
    return at;
}

/* The row was replaced, if it was damaged at all. */
static void damage_ended(struct store *s, int64_t revision)
{
    struct damage **at = damage_at(s, revision), *d = *at;

    if (!d)
        return;
    *at = d->next;
    release_withheld(s, revision);
    free(d);
}

/* The key, in FORGOTTEN, of the deletion that gives a damaged row up. */
static void key_of_forgotten(const struct damage *d, char ret[static 48])
{
    (void)snprintf(ret, 48, "%" PRId64 " %" PRIx64, d->revision, (uint64_t)d->crc);
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

/* The revision of the state that a write replaces. */
static int64_t revision_before(const struct entry *e)
{
    const struct store_item *before = e->flights && e->flights->count ? &e->flights->head
                                                                      : &e->committed;

    return before->value || (before == &e->committed && (text_of(e) || is_withheld_for_sure(e)))
               ? before->revision
               : 0;
}

/* replaces: a damaged row, or 0 for the one the key has now. */
static int queue_change(struct store_collection *c, const char *key, struct blob *value,
                        bool deletion, int64_t replaces, store_done_fn *done, void *arg)
{
    struct store *s = c->store;
    size_t len = strlen(key);
    struct change *change;
    struct entry *e;

    if (s->closing)
        return -ESHUTDOWN;
    change = change_new(key, len, value);
    if (!change)
        return -ENOMEM;
    e = entry_make(c, key, len);
    /* watches send what was before */
    if (!e || (!e->flights && text_of(e) && !ask_for(e)) || !flights_make(e)) {
        if (e)
            entry_drop_if_unused(c, e);
        change_unref(change);
        return -ENOMEM;
    }
    change->collection = c;
    change->collection_name = c->name;
    change->entry = e;
    change->replaces = replaces ? replaces : revision_before(e);
    change->revision = ++s->last_revision;
    change->epoch = s->epoch;
    change->deletion = deletion;
    change->done = done;
    change->arg = arg;
    e->flights->count++;
    e->flights->head.revision = change->revision;
    e->flights->head.value = deletion ? NULL : change->value;
    flight_add(s, change_ref(change)); /* one reference here, one with the list that travels */
    change_list_add(&s->turn, change);
    return 0;
}

static int queue_write(struct store_collection *c, const char *key, struct blob *value,
                       bool deletion, store_done_fn *done, void *arg)
{
    if (strlen(key) > KEY_LIMIT_BYTES)
        return -ENAMETOOLONG;
    if (!store_head(c, key) && !store_damaged(c, key) && !c->store->closing) {
        if (deletion)
            return -ENOENT;
        if (writer_disk_is_full(c->store->writer))
            return -ENOSPC;
    }
    return queue_change(c, key, value, deletion, 0, done, arg);
}

int store_damage_forget(struct store *s, int64_t revision, store_done_fn *done, void *arg)
{
    struct store_collection *c = collection_make(s, FORGOTTEN);
    struct blob *nothing = blob_new("{}", 2);
    const struct damage *d = revision ? *damage_at(s, revision) : NULL; /* 0: no row is replaced */
    char key[48];
    int rc = -ENOMEM;

    if (!d)
        rc = -ENOENT;
    else if (c && nothing) {
        key_of_forgotten(d, key);
        rc = queue_change(c, key, nothing, true, revision, done, arg);
    }
    blob_unref(nothing);
    return rc;
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
    shorten(s);
}

/* --- results from the writer */

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
    struct blob *before = blob_ref(e->committed.value);

    assert(change == s->flight_first && (before || !text_of(e)));
    (void)flight_pop(s);
    change->type = change->deletion ? STORE_DELETED : before ? STORE_MODIFIED : STORE_ADDED;
    change->previous = before;
    forget_value(e);
    e->committed.value = change->deletion ? NULL : blob_ref(change->value);
    e->committed.revision = change->revision;
    c->committed_count += (size_t)(!before && !change->deletion);
    c->committed_count -= (size_t)(before && change->deletion);
    entry_is_whole(s, e);
    if (change->replaces)
        damage_ended(s, change->replaces);
    s->committed_revision = change->revision;
    flight_ended(e);
    ready_join(e);
    entry_drop_if_unused(c, e);
    change->entry = NULL;
    window_add(&c->window, change);
    note_changed(c);
    settle(change, NULL);
}

static void fall_back(struct change *first)
{
    for (struct change *c = first; c; c = c->flight_next) {
        flight_ended(c->entry);
        entry_drop_if_unused(c->collection, c->entry);
        c->entry = NULL;
    }
}

/* Fails everything in flight, of which what came back is the oldest. */
static void fail_flights(struct store *s, const struct database_failure *failure)
{
    struct change *next, *c = s->flight_first;
    auto_err err = ERR_INIT;

    s->epoch++;
    s->flight_first = s->flight_last = NULL;
    while (s->turn.first) /* the writer need not see these */
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

struct loading {
    struct database_loading base;
    struct store *store;
};

/* The history available to watches starts after what is unknown. */
static void restart_windows(struct store *s, int64_t revision)
{
    s->start_revision = max_i64(s->start_revision, revision);
    map_for_each (n, &s->collections) {
        struct store_collection *c = n->value;

        window_restart(&c->window, s->start_revision);
    }
}

static void withhold(struct store_collection *c, struct entry *e, int64_t revision)
{
    c->committed_count -= is_there(e);
    forget_value(e);
    e->committed.revision = revision;
    c->store->damage_count += !e->damaged;
    e->damaged = true;
}

static struct entry *find_revision(struct store *s, int64_t revision, struct store_collection **ret)
{
    map_for_each (n, &s->collections) {
        *ret = n->value;
        map_for_each (m, &(*ret)->entries) {
            struct entry *e = entry_of(m);

            if (e->committed.revision == revision)
                return e;
        }
    }
    return NULL;
}

static int withhold_key(struct store_collection *c, const char *key, int64_t revision,
                        struct err *err)
{
    size_t len = min_size(strlen(key), KEY_LIMIT_BYTES);
    struct entry *e = c ? entry_make(c, key, len) : NULL;

    if (!e)
        return err_set(err, ERR_INTERNAL, "out of memory");
    withhold(c, e, revision);
    return 0;
}

/* Its key may be damaged, or its value, or the revision it claims to replace: every object that any
 * of these names is out of date. */
static int withhold_all(struct store *s, struct arena *a, const struct row *row,
                        struct store_collection *other, struct entry *before, struct err *err)
{
    struct store_collection *c = collection_make(s, row->collection);
    const char *named = identity_key_in_value(a, row);
    int rc = withhold_key(c, row->key, row->revision, err);

    if (before)
        withhold(other, before, row->revision);
    if (rc == 0 && named && c &&
        !map_find(&c->entries, named, strlen(named))) /* one with a row of its own is whole */
        rc = withhold_key(c, named, row->revision, err);
    return rc;
}

/* Unless it was replaced: a row with a damaged revision is out of order. Then what it hides, or the
 * row itself, is history. */
static int withhold_identified(struct store *s, const struct identity *id, int64_t revision,
                               int64_t *ret_past, struct err *err)
{
    struct store_collection *c = collection_make(s, id->collection);
    const struct entry *e = c ? entry_find(c, id->key) : NULL;

    if (e && !e->damaged && e->committed.revision > id->revision) {
        *ret_past = revision;
        damage_ended(s, revision);
        return 0;
    }
    if (e && !e->damaged)
        *ret_past = e->committed.revision;
    return withhold_key(c, id->key, revision, err);
}

/* Which object it is: by its checksums, or because it replaced that object's row. */
static bool identify(struct arena *a, const struct row *row, const struct store_collection *c,
                     const struct entry *before, struct identity *ret)
{
    struct identity other = {0};

    if (before)
        other = (struct identity){c->name, before->node.key, row->revision};
    if (identity_find(a, row, before ? &other : NULL, ret))
        return true;
    *ret = other;
    return before && strcmp(c->name, row->collection) == 0 &&
           strcmp(before->node.key, row->key) == 0;
}

static int load_damaged(struct store *s, struct database_loading *l, const struct row *row,
                        struct err *err)
{
    struct store_collection *other = NULL;
    struct entry *before = row->previous ? find_revision(s, row->previous, &other) : NULL;
    struct identity id;
    struct arena a = ARENA_INIT(DAMAGED_VALUE_LIMIT_BYTES);
    struct damage *d = calloc(1, sizeof(*d));
    int64_t unknown_until = l->newest;
    int rc;

    if (d) {
        d->identified = identify(&a, row, other, before, &id);
        d->revision = row->revision;
        d->written = d->identified ? id.revision : INT64_MAX;
        d->crc = row->crc;
        d->collection = collection_make(s, row->collection);
        d->next = s->damages;
    }
    if (!d || !d->collection) {
        free(d);
        rc = err_set(err, ERR_INTERNAL, "out of memory");
    } else {
        s->damages = d;
        if (d->identified)
            unknown_until = min_i64(max_i64(row->revision, id.revision), l->newest);
        rc = d->identified ? withhold_identified(s, &id, row->revision, &l->past, err)
                           : withhold_all(s, &a, row, other, before, err);
    }
    arena_release(&a);
    restart_windows(s, unknown_until);
    return rc;
}

/* Whether the intact row proves that the damaged one was its previous state. Its own claim is not
 * enough: the damaged revision may belong to another object whose history was trimmed. */
static bool is_proof(const struct row *row, const struct damage *d)
{
    struct row before = {.revision = d->revision,
                         .collection = row->collection,
                         .collection_len = row->collection_len,
                         .key = row->key,
                         .key_len = row->key_len,
                         .crc = d->crc};
    char forgotten[48];

    key_of_forgotten(d, forgotten);
    return strcmp(row->collection, FORGOTTEN) == 0 ? strcmp(row->key, forgotten) == 0
                                                   : row_is_identified(&before);
}

/* Like a committed write, but without notifications. */
static int load_change(struct store_collection *c, struct entry *e, const struct row *row,
                       struct blob *value)
{
    struct change *change;

    if (row->revision <= c->store->start_revision)
        return 0;
    change = change_new(row->key, row->key_len, value);
    if (!change || (text_of(e) && !make_ready(e))) {
        change_unref(change);
        return -ENOMEM;
    }
    change->revision = row->revision;
    change->deletion = row->deletion;
    change->previous = e->committed.value ? blob_ref(e->committed.value) : NULL;
    change->type = row->deletion ? STORE_DELETED : change->previous ? STORE_MODIFIED : STORE_ADDED;
    window_add(&c->window, change);
    change_unref(change);
    return 0;
}

static int load_row(struct database_loading *l, const struct row *row, bool damaged,
                    struct err *err)
{
    struct store *s = container_of(l, struct loading, base)->store;
    struct store_collection *c;
    struct blob *value = NULL;
    struct shrunk *text = NULL;
    struct entry *e;
    struct damage *d;
    bool small;

    s->start_revision = max_i64(s->start_revision, l->horizon);
    if (damaged)
        return load_damaged(s, l, row, err);
    d = *damage_at(s, row->previous);
    if (d && is_proof(row, d)) {
        l->past = d->revision;
        damage_ended(s, d->revision);
    }
    c = collection_make(s, row->collection);
    e = c ? entry_make(c, row->key, row->key_len) : NULL;
    d = e && e->damaged ? *damage_at(s, e->committed.revision) : NULL;
    if (d && row->revision <= d->written) {
        if (d->identified)
            l->past = row->revision;
        return 0;
    }
    if (e && e->committed.revision)
        l->past = e->committed.revision;
    if (d) {
        damage_ended(s, d->revision); /* drops e */
        e = entry_make(c, row->key, row->key_len);
    }
    /* most are too old for watches, and not requested yet */
    small = row->revision <= s->start_revision && row->value_len < SHRINK_TEXT_LIMIT_BYTES;
    if (e && small)
        text = shrink(&c->shrinker, row->value, row->value_len);
    else if (e)
        value = blob_new(row->value, row->value_len);
    if ((!text && !value) || (!small && load_change(c, e, row, value) < 0)) {
        blob_unref(value);
        return err_set(err, ERR_INTERNAL, "out of memory");
    }
    c->committed_count -= is_there(e);
    forget_value(e);
    e->committed.revision = row->revision;
    if (row->deletion) {
        blob_unref(value);
        shrunk_unref(text);
    } else {
        e->committed.value = value;
        set_text(e, text);
        ready_join(e);
    }
    c->committed_count += is_there(e);
    entry_is_whole(s, e);
    entry_drop_if_unused(c, e);
    return 0;
}

static int open_all(struct store *s, struct loop *l, struct err *err)
{
    struct loading loading = {.base = {.row = load_row}, .store = s};
    int r;

    s->database = database_open(s->path, err);
    if (!s->database)
        return -EIO;
    r = database_load(s->database, &loading.base, err);
    if (r < 0)
        return r;
    s->committed_revision = s->last_revision = loading.base.newest;
    restart_windows(s, loading.base.horizon);
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
    s->ready_limit = options && options->ready_bytes ? options->ready_bytes : DEFAULT_READY_BYTES;
    s->ready_end = &s->ready;
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
    for (struct damage *d = s->damages, *next; d; d = next) {
        next = d->next;
        free(d);
    }
    map_release(&s->collections, collection_free);
    free(s->path);
    free(s);
}
