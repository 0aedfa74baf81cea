/*
 * endpoints_watch.c - see endpoints_watch.h. Computing all of them takes time proportional to the
 * number of pods; the pause in between grows with it, so that watchers never take more than a small
 * share of the loop.
 */
#include "server/endpoints_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sha256.h"
#include "server/endpoints.h"
#include "server/internal.h"
#include "server/snapshot.h"

#define WINDOW_EVENTS 1024u /* kept for slow watchers */
#define PAUSE_MS 50         /* changes of a pod come in bursts */
#define PAUSE_SHARE 10      /* times the duration of the last computation */
#define PAUSE_LIMIT_MS 5000
#define OBJECT_BYTES (4u * 1024u * 1024u)
#define RESTAMP_BYTES (OBJECT_LIMIT_BYTES * 16)

struct item {
    struct blob *value;
    unsigned char digest[SHA256_BYTES]; /* of the object without its resourceVersion */
};

struct event {
    int64_t revision;
    enum store_event_type type;
    char *key;
    struct blob *value, *previous;
};

/* All of one kind. */
struct made {
    const struct kind *kind;
    struct map items; /* key -> struct item */
    int64_t revision;
    struct event window[WINDOW_EVENTS];
    uint64_t told; /* events added to the window so far */
    struct endpoints_watch *watches;
};

struct endpoints_feed {
    struct server *server;
    struct made made[2];
    struct store_watch *sources[2]; /* Services, pods */
    struct clock_timer *timer;
    int64_t pause_ms;
};

struct endpoints_watch {
    struct endpoints_watch *next, **link;
    struct endpoints_feed *feed;
    struct made *made;
    void (*on_ready)(void *arg);
    void *arg;
    struct event *first; /* its own events, before the window's */
    size_t first_len, first_next, first_cap;
    uint64_t at;          /* position in the window */
    struct event current; /* the window's event returned last */
};

static const struct kind *const source_kinds[] = {&kind_service, &kind_pod};

/* --- events ---------------------------------------------------------------------------- */

static void event_release(struct event *e)
{
    free(e->key);
    blob_unref(e->value);
    blob_unref(e->previous);
    *e = (struct event){0};
}

static bool event_init(struct event *e, int64_t revision, enum store_event_type type,
                       const char *key, struct blob *value, struct blob *previous)
{
    *e = (struct event){.revision = revision,
                        .type = type,
                        .key = strdup(key),
                        .value = blob_ref(value),
                        .previous = blob_ref(previous)};
    return e->key;
}

static struct store_event event_show(const struct event *e)
{
    return (struct store_event){.revision = e->revision,
                                .type = e->type,
                                .key = e->key,
                                .value = e->value,
                                .previous = e->previous};
}

/* --- computing ------------------------------------------------------------------------- */

static void item_free(void *value)
{
    struct item *item = value;

    if (item)
        blob_unref(item->value);
    free(item);
}

static void items_release(struct map *items)
{
    map_release(items, item_free);
    *items = (struct map)MAP_INIT;
}

struct making {
    const struct kind *kind;
    int64_t revision;
    const struct map *before; /* unchanged items are shared with it */
    struct map *items;
};

static struct blob *write_blob(const struct json *object)
{
    struct buf b = BUF_INIT(OBJECT_BYTES);
    struct blob *blob;

    json_write(&b, object);
    blob = blob_from_buf(&b);
    buf_release(&b);
    return blob;
}

static bool digest_of(const struct json *object, unsigned char ret[SHA256_BYTES])
{
    struct blob *bare = write_blob(object);
    struct sha256 sum;

    if (!bare)
        return false;
    sha256_init(&sum);
    sha256_add(&sum, bare->data, bare->len);
    sha256_end(&sum, ret);
    blob_unref(bare);
    return true;
}

static int take_object(void *arg, struct arena *a, struct json *object)
{
    struct making *m = arg;
    struct item *item = calloc(1, sizeof(*item));
    const char *key = object_key(a, m->kind, object_namespace(object), object_name(object));
    const struct item *before = key ? map_gets(m->before, key) : NULL;

    if (!item || !key || !digest_of(object, item->digest))
        goto fail;
    if (before && memcmp(before->digest, item->digest, SHA256_BYTES) == 0) {
        item->value = blob_ref(before->value);
    } else {
        endpoints_stamp(a, object, m->revision);
        item->value = arena_failed(a) ? NULL : write_blob(object);
    }
    if (!item->value || map_puts(m->items, key, item, NULL) < 0)
        goto fail;
    return 0;
fail:
    item_free(item);
    return -1;
}

/* All of a kind as of a revision. */
static int make_items(struct server *s, const struct kind *k, int64_t revision,
                      const struct map *before, struct map *ret, struct err *err)
{
    struct making m = {.kind = k, .revision = revision, .before = before, .items = ret};
    struct map services = MAP_INIT, pods = MAP_INIT;
    int rc = snapshot_take(server_collection(s, &kind_service), revision, &services, err);

    if (rc == 0)
        rc = snapshot_take(server_collection(s, &kind_pod), revision, &pods, err);
    if (rc == 0)
        rc = endpoints_each(k, &services, &pods, take_object, &m, err);
    snapshot_release(&services);
    snapshot_release(&pods);
    if (rc < 0)
        items_release(ret);
    return rc;
}

/* --- differences ----------------------------------------------------------------------- */

typedef bool tell_fn(void *arg, enum store_event_type type, const char *key, struct blob *value,
                     struct blob *previous);

/* The last state of a removed object, stamped with the revision at which that was noticed. */
static struct blob *restamp(const struct blob *last, int64_t revision)
{
    struct arena a = ARENA_INIT(RESTAMP_BYTES);
    struct json *object = blob_parse(&a, last, NULL);
    struct blob *blob = NULL;

    if (object) {
        endpoints_stamp(&a, object, revision);
        blob = arena_failed(&a) ? NULL : write_blob(object);
    }
    arena_release(&a);
    return blob;
}

static bool tell_gone(const char *key, const struct item *item, int64_t revision, tell_fn *tell,
                      void *arg)
{
    struct blob *last = restamp(item->value, revision);
    bool ok = last && tell(arg, STORE_DELETED, key, last, item->value);

    blob_unref(last);
    return ok;
}

static bool tell_differences(const struct map *old, const struct map *new, int64_t revision,
                             tell_fn *tell, void *arg)
{
    bool ok = true;

    map_for_each (node, old) {
        if (!map_gets(new, node->key))
            ok = tell_gone(node->key, node->value, revision, tell, arg) && ok;
    }
    map_for_each (node, new) {
        const struct item *is = node->value, *was = map_gets(old, node->key);

        if (!was)
            ok = tell(arg, STORE_ADDED, node->key, is->value, NULL) && ok;
        else if (memcmp(was->digest, is->digest, SHA256_BYTES) != 0)
            ok = tell(arg, STORE_MODIFIED, node->key, is->value, was->value) && ok;
    }
    return ok;
}

/* --- the window ------------------------------------------------------------------------ */

static bool tell_all(void *arg, enum store_event_type type, const char *key, struct blob *value,
                     struct blob *previous)
{
    struct made *m = arg;
    struct event *e = &m->window[m->told % WINDOW_EVENTS];

    event_release(e);
    m->told++;
    return event_init(e, m->revision, type, key, value, previous);
}

/* The lost events were seen by no watcher, so all must list again. */
static void expel(struct made *m)
{
    m->told += WINDOW_EVENTS + 1;
}

static void renew(struct endpoints_feed *f, struct made *m)
{
    int64_t revision = store_revision(f->server->store);
    struct map items = MAP_INIT, old = m->items;
    auto_err err = ERR_INIT;

    if (revision == m->revision)
        return;
    if (make_items(f->server, m->kind, revision, &old, &items, &err) < 0) {
        log_warn("watching %s: %s", m->kind->plural, err.text);
        expel(m);
        return;
    }
    m->items = items;
    m->revision = revision;
    if (!tell_differences(&old, &m->items, revision, tell_all, m))
        expel(m);
    items_release(&old);
}

static void renew_all(void *arg)
{
    struct endpoints_feed *f = arg;
    int64_t begun = clock_now_ms(f->server->clock);

    f->timer = NULL;
    for (size_t i = 0; i < ELEMS(f->made); i++)
        if (f->made[i].watches)
            renew(f, &f->made[i]);
    f->pause_ms = min_i64(max_i64(PAUSE_MS, PAUSE_SHARE * (clock_now_ms(f->server->clock) - begun)),
                          PAUSE_LIMIT_MS);
    for (size_t i = 0; i < ELEMS(f->made); i++)
        for (struct endpoints_watch *w = f->made[i].watches, *next; w; w = next) {
            next = w->next;
            w->on_ready(w->arg);
        }
}

/* --- the feed -------------------------------------------------------------------------- */

static void source_changed(void *arg);

static int follow_source(struct endpoints_feed *f, size_t i, struct err *err)
{
    store_watch_free(f->sources[i]);
    f->sources[i] = NULL;
    return store_watch_open(server_collection(f->server, source_kinds[i]),
                            store_revision(f->server->store), source_changed, f, &f->sources[i],
                            err);
}

/* What exactly changed does not matter: everything is recomputed. */
static void source_changed(void *arg)
{
    struct endpoints_feed *f = arg;

    for (size_t i = 0; i < ELEMS(f->sources); i++) {
        struct store_event e;
        auto_err err = ERR_INIT;
        int rc = f->sources[i] ? 1 : 0;

        while (rc > 0)
            rc = store_watch_next(f->sources[i], &e);
        if (rc < 0 && follow_source(f, i, &err) < 0)
            log_warn("watching endpoints: %s", err.text);
    }
    if (!f->timer)
        f->timer = clock_start(f->server->clock, f->pause_ms, renew_all, f);
}

static void feed_free(struct endpoints_feed *f)
{
    f->server->endpoints_feed = NULL;
    clock_stop(f->server->clock, f->timer);
    for (size_t i = 0; i < ELEMS(f->sources); i++)
        store_watch_free(f->sources[i]);
    for (size_t i = 0; i < ELEMS(f->made); i++) {
        items_release(&f->made[i].items);
        for (size_t e = 0; e < WINDOW_EVENTS; e++)
            event_release(&f->made[i].window[e]);
    }
    free(f);
}

static struct endpoints_feed *feed_of(struct server *s, struct err *err)
{
    struct endpoints_feed *f = s->endpoints_feed;

    if (f)
        return f;
    f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->server = s;
    f->pause_ms = PAUSE_MS;
    f->made[0].kind = &kind_endpoints;
    f->made[1].kind = &kind_endpoint_slice;
    s->endpoints_feed = f;
    for (size_t i = 0; i < ELEMS(f->sources); i++)
        if (follow_source(f, i, err) < 0) {
            feed_free(f);
            return NULL;
        }
    return f;
}

/* --- one watcher ----------------------------------------------------------------------- */

static bool tell_one(void *arg, enum store_event_type type, const char *key, struct blob *value,
                     struct blob *previous)
{
    struct endpoints_watch *w = arg;

    if (w->first_len == w->first_cap) {
        size_t cap = w->first_cap ? w->first_cap * 2 : 16;
        struct event *more = reallocarray(w->first, cap, sizeof(*more));

        if (!more)
            return false;
        w->first = more;
        w->first_cap = cap;
    }
    return event_init(&w->first[w->first_len++], w->made->revision, type, key, value, previous);
}

/* The difference between what the client knows and the current state. */
static int tell_first(struct endpoints_watch *w, int64_t from, struct err *err)
{
    struct map known = MAP_INIT;
    int rc = 0;

    renew(w->feed, w->made);
    if (from >= w->made->revision)
        return 0;
    if (from > 0)
        rc = make_items(w->feed->server, w->made->kind, from, &w->made->items, &known, err);
    if (rc == 0 && !tell_differences(&known, &w->made->items, w->made->revision, tell_one, w))
        rc = out_of_memory(err);
    items_release(&known);
    return rc;
}

static void link_watch(struct endpoints_watch *w)
{
    w->next = w->made->watches;
    w->link = &w->made->watches;
    if (w->next)
        w->next->link = &w->next;
    w->made->watches = w;
}

int endpoints_watch_open(struct server *s, const struct kind *k, int64_t from,
                         void (*on_ready)(void *arg), void *arg, struct endpoints_watch **ret,
                         struct err *err)
{
    struct endpoints_feed *f = feed_of(s, err);
    struct endpoints_watch *w = f ? calloc(1, sizeof(*w)) : NULL;
    int rc;

    if (!w) {
        if (f && !f->made[0].watches && !f->made[1].watches)
            feed_free(f);
        return out_of_memory(err);
    }
    w->feed = f;
    w->made = f->made[0].kind == k ? &f->made[0] : &f->made[1];
    w->on_ready = on_ready;
    w->arg = arg;
    link_watch(w);
    rc = tell_first(w, from, err);
    w->at = w->made->told;
    if (rc < 0)
        endpoints_watch_free(w);
    else
        *ret = w;
    return rc;
}

int endpoints_watch_next(struct endpoints_watch *w, struct store_event *ret)
{
    const struct made *m = w->made;
    const struct event *e;

    if (w->first_next < w->first_len) {
        *ret = event_show(&w->first[w->first_next++]);
        return 1;
    }
    if (w->at == m->told)
        return 0;
    if (m->told - w->at > WINDOW_EVENTS)
        return -ESTALE;
    e = &m->window[w->at++ % WINDOW_EVENTS];
    event_release(&w->current);
    if (!event_init(&w->current, e->revision, e->type, e->key, e->value, e->previous))
        return -ESTALE;
    *ret = event_show(&w->current);
    return 1;
}

int64_t endpoints_watch_revision(const struct endpoints_watch *w)
{
    return w->made->revision;
}

void endpoints_watch_free(struct endpoints_watch *w)
{
    if (!w)
        return;
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    for (size_t i = 0; i < w->first_len; i++)
        event_release(&w->first[i]);
    free(w->first);
    event_release(&w->current);
    if (!w->feed->made[0].watches && !w->feed->made[1].watches)
        feed_free(w->feed);
    free(w);
}
