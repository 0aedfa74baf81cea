/*
 * cache.c - the objects a reflector reports, by key and by their controller's UID. See cache.h.
 *
 * Each object is one allocation. A replaced or deleted one is kept until the next turn of the loop,
 * because a caller of cache_get on this turn may still use it.
 *
 * A parsed object takes about five times the memory of its text, and most cached objects belong to
 * jobs that ended long ago. So only some stay parsed (cache_options.ready_objects), in an LRU line:
 * an object that reaches its front unused, or was not used for a minute or two, is kept only as
 * compressed text. That too is done between two turns. The store and other caches share that text:
 * base/shrink.h keeps equal texts once. So an unparsed object costs a cache only its entry.
 */
#include "client/cache.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/shrink.h"
#include "client/reflector.h"

#define OBJECT_LIMIT_BYTES (256u * 1024u * 1024u)
#define KEY_LIMIT_BYTES 1024u
#define LISTS_MASK 0x3fffffffu
#define FEWEST_OWNED_BUCKETS 64u
#define UNDEAD_MS 1000
#define REST_MS (60 * 1000)

/* Shared by all caches: hundreds of names in thousands of objects. */
static struct json_words words;

struct entry {
    struct json *object;        /* packed; NULL: only its text is kept */
    uint64_t state;             /* hash of UID and resourceVersion */
    struct entry *next, **at;   /* in the line of parsed entries; at is NULL: not in it */
    struct entry *next_owned;   /* in its bucket of owned */
    uint32_t owner;             /* hash of its controller's UID; 0: it has none */
    unsigned seen_in_list : 30; /* number of the last list that had it */
    unsigned asked_for : 1;     /* since it last came up in the line */
    unsigned rests : 1;         /* on_change was not called for it */
    struct map_node node;       /* "ns/name"; its value is the compressed text, NULL: not made */
};

/* An object that was replaced or deleted. */
struct grave {
    struct grave *next;
    struct json *object;
};

/* Entries by their owner; several may share a hash. */
struct owned {
    struct entry **buckets;
    size_t buckets_len; /* a power of two */
    size_t count;
};

/* Parsed entries, least recently used first. */
struct line {
    struct cache *cache;
    struct entry *first, **end;
    size_t len, limit;
    struct shrinker shrinker;
    struct arena scratch;
    struct clock_timer *rest; /* runs while there are any */
};

struct cache {
    struct reflector *reflector;
    struct clock *clock;
    const struct kind *kind;
    bool (*rests)(void *arg, const struct json *head);
    cache_fn *on_change;
    void (*on_synced)(void *arg);
    void (*on_trouble)(void *arg, const struct err *err);
    void *arg;
    bool synced;
    char *trouble; /* of the last complete list */
    struct arena scratch;
    unsigned lists;      /* number of lists begun */
    unsigned lists_done; /* number of the last complete one */
    struct map by_key;   /* nodes of entries */
    struct owned owned;
    struct line *line; /* NULL: all stay parsed */
    size_t resting;    /* unparsed entries that were never reported */
    char *last_woken;  /* its key; NULL: from the start */
    struct grave *graves;
    bool undead; /* an object that vanished from the list could not be dropped for lack of memory */
    struct clock_timer *burial;
};

/* --- entries --- */

static struct entry *entry_of(struct map_node *n)
{
    return n ? container_of(n, struct entry, node) : NULL;
}

static struct shrunk *text_of(const struct entry *e)
{
    return e->node.value;
}

static void forget_text(struct entry *e)
{
    shrunk_unref(e->node.value);
    e->node.value = NULL;
}

static void entry_free(struct entry *e)
{
    forget_text(e);
    free(e->object);
    free(e);
}

static void entry_free_node(struct map_node *n)
{
    entry_free(entry_of(n));
}

static struct entry *entry_new(const char *key, size_t len)
{
    struct entry *e = calloc(1, map_node_size(offsetof(struct entry, node), len));

    if (e)
        map_node_init(&e->node, key, len);
    return e;
}

/* --- which members are kept --- */

/* List items come without apiVersion and kind; here every object has them. managedFields are
 * dropped: controllers do not use them, and they are often larger than the rest. */
static bool is_complete(const struct json *object)
{
    return json_get(object, "apiVersion") && json_get(object, "kind") &&
           !json_at(object, "metadata", "managedFields");
}

static struct json *copy_object(struct arena *a, const struct cache *c, const struct json *object)
{
    const struct kind *k = c->kind;
    struct json *copy = json_new_object(a);

    json_set_string(a, copy, "apiVersion", kind_api_version(a, k));
    json_set_string(a, copy, "kind", k->name);
    json_each (m, object)
        if (strcmp(m->key, "apiVersion") != 0 && strcmp(m->key, "kind") != 0)
            json_set(a, copy, m->key, json_clone(a, m));
    (void)json_remove(json_get_mut(copy, "metadata"), "managedFields");
    return copy;
}

static uint64_t state_of(const struct json *object)
{
    const char *uid = object_uid(object), *revision = object_resource_version(object);

    return fnv1a_64(fnv1a_64(FNV1A_64_START, uid, strlen(uid) + 1), revision, strlen(revision));
}

/* NULL: out of memory. */
static struct json *pack(struct cache *c, const struct json *object)
{
    const struct json *copy;

    arena_reset(&c->scratch);
    copy = copy_object(&c->scratch, c, object);
    return arena_failed(&c->scratch) ? NULL : json_pack(copy, &words);
}

/* --- parsed entries --- */

static void on_rest(void *arg);

static void line_join(struct line *l, struct entry *e)
{
    if (!l->rest) /* without memory for it they stay until there are too many */
        l->rest = clock_start(l->cache->clock, REST_MS, on_rest, l);
    e->next = NULL;
    e->at = l->end;
    *l->end = e;
    l->end = &e->next;
    l->len++;
}

static void line_leave(struct line *l, struct entry *e)
{
    if (!l || !e->at)
        return;
    *e->at = e->next;
    if (e->next)
        e->next->at = e->at;
    else
        l->end = e->at;
    e->next = NULL;
    e->at = NULL;
    l->len--;
}

static bool keep_text(struct line *l, struct entry *e)
{
    struct buf text = BUF_INIT(OBJECT_LIMIT_BYTES);

    if (!text_of(e)) {
        json_write(&text, e->object);
        e->node.value = text.failed ? NULL : shrink(&l->shrinker, text.data, text.len);
        buf_release(&text);
    }
    return text_of(e);
}

/* A used one goes to the end, an unused one out of the line. */
static void pass_first(struct line *l)
{
    struct entry *e = l->first;
    bool stays = e->asked_for;

    line_leave(l, e);
    e->asked_for = false;
    if (stays || !keep_text(l, e)) {
        line_join(l, e);
        return;
    }
    free(e->object);
    e->object = NULL;
}

static void shorten(struct line *l)
{
    /* Twice around: of many used in one turn not all can stay. */
    for (size_t n = 2 * l->len; n > 0 && l->len > l->limit; n--)
        pass_first(l);
}

static void on_rest(void *arg)
{
    struct line *l = arg;

    l->rest = NULL;
    for (size_t n = l->len; n > 0; n--)
        pass_first(l);
}

/* NULL: out of memory. */
static const struct json *make_ready(const struct cache *c, struct entry *e)
{
    struct line *l = c->line;
    const struct shrunk *shrunk = text_of(e);
    const struct json *parsed = NULL;
    char *text;

    if (e->object)
        return e->object;
    text = malloc(shrunk->text_len + 1u);
    arena_reset(&l->scratch);
    if (text) {
        shrunk_expand(shrunk, text);
        parsed = json_parse(&l->scratch, text, shrunk->text_len, NULL);
    }
    free(text);
    if (parsed && !is_complete(parsed))
        parsed = copy_object(&l->scratch, c, parsed);
    if (arena_failed(&l->scratch))
        parsed = NULL;
    e->object = parsed ? json_pack(parsed, &words) : NULL;
    return e->object;
}

static void bury_later(struct cache *c);

/* The caller may use it until the next turn. */
static const struct json *ask_for(const struct cache *c, struct entry *e)
{
    const struct json *object = make_ready(c, e);

    e->asked_for = true;
    if (object && c->line && !e->at) {
        line_join(c->line, e);
        bury_later(c->line->cache);
    }
    return object;
}

/* --- keys --- */

static void write_key(struct buf *out, const char *ns, const char *name)
{
    if (ns && *ns) {
        buf_adds(out, ns);
        buf_addc(out, '/');
    }
    buf_adds(out, name);
}

/* --- those of a controller --- */

static uint32_t hash_of_owner(const char *uid)
{
    uint64_t h = fnv1a_64(FNV1A_64_START, uid, strlen(uid));

    return *uid ? (uint32_t)(h ^ h >> 32) | 1u : 0;
}

static const char *owner_of(const struct json *object)
{
    return json_get_string(object_controller(object), "uid", "");
}

static struct entry **owned_bucket(const struct owned *o, uint32_t owner)
{
    return &o->buckets[(owner >> 1) & (o->buckets_len - 1)];
}

static void owned_join(struct owned *o, struct entry *e)
{
    struct entry **bucket = owned_bucket(o, e->owner);

    e->next_owned = *bucket;
    *bucket = e;
}

/* Makes room for one more. Longer chains are no failure, a missing table is. */
static bool owned_reserve(struct owned *o)
{
    size_t len = o->buckets_len ? 2 * o->buckets_len : FEWEST_OWNED_BUCKETS;
    struct entry **old = o->buckets, **more;
    size_t old_len = o->buckets_len;

    if (o->count < o->buckets_len)
        return true;
    more = calloc(len, sizeof(struct entry *));
    if (!more)
        return o->buckets;
    o->buckets = more;
    o->buckets_len = len;
    for (size_t i = 0; i < old_len; i++)
        for (struct entry *e = old[i], *next; e; e = next) {
            next = e->next_owned;
            owned_join(o, e);
        }
    free(old);
    return true;
}

static void owned_leave(struct owned *o, struct entry *e)
{
    struct entry **at;

    if (!e->owner)
        return;
    for (at = owned_bucket(o, e->owner); *at != e; at = &(*at)->next_owned)
        ;
    *at = e->next_owned;
    e->owner = 0;
    o->count--;
}

/* Room was made before. */
static void owned_set(struct owned *o, struct entry *e, const char *uid)
{
    uint32_t owner = hash_of_owner(uid);

    if (owner == e->owner)
        return;
    owned_leave(o, e);
    e->owner = owner;
    if (!owner)
        return;
    owned_join(o, e);
    o->count++;
}

/* --- replaced and deleted objects --- */

static void drop_unseen(struct cache *c);

static void bury(struct cache *c)
{
    while (c->graves) {
        struct grave *g = c->graves;

        c->graves = g->next;
        free(g->object);
        free(g);
    }
    if (c->line)
        shorten(c->line);
}

static void on_burial(void *arg)
{
    struct cache *c = arg;

    c->burial = NULL;
    bury(c);
    if (!c->undead || c->lists_done != c->lists)
        return;
    c->undead = false;
    drop_unseen(c);
}

static void bury_later(struct cache *c)
{
    if (!c->burial)
        c->burial = clock_start(c->clock, c->undead ? UNDEAD_MS : 0, on_burial, c);
}

static void retire(struct cache *c, struct grave *g, struct json *object)
{
    g->object = object;
    g->next = c->graves;
    c->graves = g;
    bury_later(c);
}

/* --- changes --- */

static void tell(struct cache *c, enum cache_event event, const struct json *object,
                 const struct json *old)
{
    if (c->on_change)
        c->on_change(c->arg, event, object, old);
}

static void wake(struct cache *c, struct entry *e)
{
    c->resting -= e->rests;
    e->rests = false;
}

static void drop(struct cache *c, struct entry *e)
{
    struct grave *grave = malloc(sizeof(*grave));
    struct json *object;

    if (!grave || !make_ready(c, e)) {
        free(grave);
        e->seen_in_list = (c->lists - 1) & LISTS_MASK;
        c->undead = true;
        bury_later(c);
        return;
    }
    object = e->object;
    e->object = NULL;
    map_unlink(&c->by_key, &e->node);
    owned_leave(&c->owned, e);
    line_leave(c->line, e);
    wake(c, e);
    entry_free(e);
    retire(c, grave, object);
    tell(c, CACHE_DELETED, object, NULL);
}

static void hold(struct cache *c, struct entry *e, struct json *object)
{
    e->object = object;
    e->state = state_of(object);
    wake(c, e);
    e->seen_in_list = c->lists & LISTS_MASK;
    owned_set(&c->owned, e, owner_of(object));
    if (!c->line)
        return;
    line_leave(c->line, e);
    line_join(c->line, e);
    bury_later(c);
}

static int replace(struct cache *c, struct entry *e, struct json *object)
{
    struct grave *grave = malloc(sizeof(*grave));
    struct json *old;

    if (!grave || !make_ready(c, e)) {
        free(grave);
        return -ENOMEM;
    }
    old = e->object;
    forget_text(e);
    hold(c, e, object);
    retire(c, grave, old);
    tell(c, CACHE_CHANGED, object, old);
    return 0;
}

static int add(struct cache *c, const char *key, size_t len, struct json *object)
{
    struct entry *e = entry_new(key, len);

    if (!e)
        return -ENOMEM;
    map_link(&c->by_key, &e->node);
    hold(c, e, object);
    tell(c, CACHE_ADDED, object, NULL);
    return 0;
}

/* The same name with another UID is another object: the known one is gone. */
static bool is_another(const struct cache *c, struct entry *known, const struct json *object)
{
    const struct json *old = known ? make_ready(c, known) : NULL;

    return old && strcmp(object_uid(old), object_uid(object)) != 0;
}

static bool is_known(const struct entry *known, const struct json *object)
{
    return *object_resource_version(object) && known->state == state_of(object);
}

static int put_key(struct cache *c, const char *key, size_t len, const struct json *object)
{
    struct entry *known = entry_of(map_find(&c->by_key, key, len));
    struct json *packed;
    int rc;

    if (known && is_known(known, object)) {
        known->seen_in_list = c->lists & LISTS_MASK;
        return 0;
    }
    packed = owned_reserve(&c->owned) ? pack(c, object) : NULL;
    if (!packed)
        return -ENOMEM;
    if (is_another(c, known, packed)) {
        drop(c, known);
        known = entry_of(map_find(&c->by_key, key, len));
    }
    rc = known ? replace(c, known, packed) : add(c, key, len, packed);
    if (rc < 0)
        free(packed);
    return rc;
}

static int on_put(void *arg, enum reflector_source source, const struct json *object)
{
    struct cache *c = arg;
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);
    int rc = -ENOMEM;

    (void)source;
    write_key(&key, object_namespace(object), object_name(object));
    if (!key.failed && key.len)
        rc = put_key(c, key.data, key.len, object);
    buf_release(&key);
    return rc;
}

/* Keeps it only as text. */
static int add_resting(struct cache *c, const struct buf *key, const struct json *head,
                       const char *text, size_t len)
{
    struct entry *e = owned_reserve(&c->owned) ? entry_new(key->data, key->len) : NULL;

    if (!e)
        return -ENOMEM;
    e->node.value = shrink(&c->line->shrinker, text, len);
    if (!text_of(e)) {
        entry_free(e);
        return -ENOMEM;
    }
    e->rests = true;
    c->resting++;
    e->state = state_of(head);
    e->seen_in_list = c->lists & LISTS_MASK;
    map_link(&c->by_key, &e->node);
    owned_set(&c->owned, e, owner_of(head));
    return 0;
}

static int on_put_text(void *arg, const struct json *head, const char *text, size_t len)
{
    struct cache *c = arg;
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);
    struct entry *known = NULL;
    const struct json *object = head;
    int rc = -ENOMEM;

    write_key(&key, object_namespace(head), object_name(head));
    if (!key.failed && key.len) {
        known = entry_of(map_find(&c->by_key, key.data, key.len));
        if (!known && c->rests(c->arg, head)) {
            rc = add_resting(c, &key, head, text, len);
        } else {
            if (!known || !is_known(known, head)) {
                arena_reset(&c->line->scratch);
                object = json_parse(&c->line->scratch, text, len, NULL);
            }
            rc = object ? put_key(c, key.data, key.len, object) : -ENOMEM;
        }
    }
    buf_release(&key);
    return rc;
}

static void on_remove(void *arg, const struct json *object)
{
    struct cache *c = arg;
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);

    struct entry *e = NULL;

    write_key(&key, object_namespace(object), object_name(object));
    if (!key.failed && key.len)
        e = entry_of(map_find(&c->by_key, key.data, key.len));
    if (e)
        drop(c, e);
    buf_release(&key);
}

static void on_list_begin(void *arg)
{
    struct cache *c = arg;

    c->lists++;
}

static void drop_unseen(struct cache *c)
{
    struct map_node *n = map_first(&c->by_key);

    while (n) {
        struct entry *e = entry_of(n);
        struct buf key = BUF_INIT(KEY_LIMIT_BYTES);

        buf_add(&key, n->key, n->key_len);
        if (e->seen_in_list != (c->lists & LISTS_MASK))
            drop(c, e);
        n = map_after(&c->by_key, key.data, key.len);
        buf_release(&key);
    }
}

static void on_list_end(void *arg)
{
    struct cache *c = arg;

    if (c->lists > 1) /* the first list has all that is known */
        drop_unseen(c);
    c->lists_done = c->lists;
    free(c->trouble);
    c->trouble = NULL;
    if (c->synced)
        return;
    c->synced = true;
    if (c->on_synced)
        c->on_synced(c->arg);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct cache *c = arg;

    if (err->reason != ERR_EXPIRED) { /* the normal end of a watch */
        free(c->trouble);
        c->trouble = strdup(err->text);
    }
    if (c->on_trouble)
        c->on_trouble(c->arg, err);
}

/* --- life and reading --- */

static struct line *line_new(struct cache *c, size_t limit)
{
    struct line *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->cache = c;
    l->end = &l->first;
    l->limit = limit;
    arena_init(&l->scratch, OBJECT_LIMIT_BYTES);
    return l;
}

static void line_free(struct line *l)
{
    if (!l)
        return;
    clock_stop(l->cache->clock, l->rest);
    shrinker_release(&l->shrinker);
    arena_release(&l->scratch);
    free(l);
}

struct cache *cache_new(const struct cache_options *options)
{
    struct cache *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->clock = options->clock;
    c->kind = options->kind;
    arena_init(&c->scratch, OBJECT_LIMIT_BYTES);
    c->line = options->ready_objects ? line_new(c, options->ready_objects) : NULL;
    c->rests = c->line ? options->rests : NULL;
    c->on_change = options->on_change;
    c->on_synced = options->on_synced;
    c->on_trouble = options->on_trouble;
    c->arg = options->arg;
    if (options->ready_objects && !c->line) {
        cache_free(c);
        return NULL;
    }
    c->reflector = reflector_new(&(struct reflector_options){
        .transport = options->transport,
        .clock = options->clock,
        .kind = options->kind,
        .ns = options->ns,
        .query = options->query,
        .handler = {.list_begin = on_list_begin,
                    .put = on_put,
                    .put_text = c->rests ? on_put_text : NULL,
                    .remove = on_remove,
                    .list_end = on_list_end,
                    .on_trouble = on_trouble,
                    .arg = c},
    });
    if (c->reflector)
        return c;
    cache_free(c);
    return NULL;
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    reflector_free(c->reflector);
    free(c->trouble);
    free(c->last_woken);
    clock_stop(c->clock, c->burial);
    bury(c);
    free(c->owned.buckets);
    map_release_nodes(&c->by_key, entry_free_node);
    line_free(c->line);
    arena_release(&c->scratch);
    free(c);
}

const char *cache_trouble(const struct cache *c)
{
    return c->trouble;
}

bool cache_is_synced(const struct cache *c)
{
    return c->synced;
}

size_t cache_count(const struct cache *c)
{
    return c->by_key.count;
}

int64_t cache_revision(const struct cache *c)
{
    return reflector_revision(c->reflector);
}

unsigned cache_refresh(struct cache *c)
{
    reflector_list_again(c->reflector);
    return c->lists + 1;
}

bool cache_has_listed(const struct cache *c, unsigned number)
{
    return c->lists_done >= number;
}

const struct json *cache_get(const struct cache *c, const char *ns, const char *name)
{
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);
    struct entry *e = NULL;

    write_key(&key, ns, name);
    if (!key.failed && key.len)
        e = entry_of(map_find(&c->by_key, key.data, key.len));
    buf_release(&key);
    return e ? ask_for(c, e) : NULL;
}

struct visit {
    const struct cache *cache;
    bool awake_only;
    bool (*fn)(void *arg, const struct json *object);
    void *arg;
};

static bool visit(void *arg, struct map_node *n)
{
    const struct visit *v = arg;
    struct entry *e = container_of(n, struct entry, node);
    bool was_ready = e->object, goes_on;
    const struct json *object = v->awake_only && e->rests ? NULL : make_ready(v->cache, e);

    if (!object)
        return true;
    goes_on = v->fn(v->arg, object);
    if (!was_ready && !e->at) {
        free(e->object);
        e->object = NULL;
    }
    return goes_on;
}

void cache_each(const struct cache *c, bool (*fn)(void *arg, const struct json *object), void *arg)
{
    map_visit_after(&c->by_key, NULL, 0, visit, &(struct visit){c, false, fn, arg});
}

void cache_each_awake(const struct cache *c, bool (*fn)(void *arg, const struct json *object),
                      void *arg)
{
    map_visit_after(&c->by_key, NULL, 0, visit, &(struct visit){c, true, fn, arg});
}

bool cache_wake(struct cache *c, size_t count)
{
    struct map_node *n = c->last_woken ? map_after(&c->by_key, c->last_woken, strlen(c->last_woken))
                                       : map_first(&c->by_key);

    for (; n && c->resting && count; n = map_after(&c->by_key, n->key, n->key_len)) {
        struct entry *e = entry_of(n);
        const struct json *object = e->rests ? ask_for(c, e) : NULL;

        if (!e->rests)
            continue;
        if (!object)
            return true; /* out of memory: retry */
        wake(c, e);
        count--;
        free(c->last_woken);
        c->last_woken = strdup(n->key);
        tell(c, CACHE_ADDED, object, NULL);
    }
    if (!n) {
        free(c->last_woken);
        c->last_woken = NULL;
    }
    return c->resting;
}

static int compare_keys(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;

    return strcmp((*x)->node.key, (*y)->node.key);
}

/* In key order; NULL: out of memory. */
static struct entry **gather_owned(const struct owned *o, uint32_t owner, size_t *ret_len)
{
    struct entry **all = NULL;
    size_t len = 0;

    for (struct entry *e = *owned_bucket(o, owner); e; e = e->next_owned)
        len += e->owner == owner;
    *ret_len = len;
    if (len == 0 || !(all = malloc(len * sizeof(struct entry *))))
        return NULL;
    len = 0;
    for (struct entry *e = *owned_bucket(o, owner); e; e = e->next_owned)
        if (e->owner == owner)
            all[len++] = e;
    qsort(all, len, sizeof(struct entry *), compare_keys);
    return all;
}

static bool tell_owned(const struct cache *c, struct entry *e, const char *uid,
                       bool (*fn)(void *arg, const struct json *object), void *arg)
{
    const struct json *object = ask_for(c, e);

    return !object || strcmp(owner_of(object), uid) != 0 || fn(arg, object);
}

void cache_each_of_controller(const struct cache *c, const char *uid,
                              bool (*fn)(void *arg, const struct json *object), void *arg)
{
    uint32_t owner = c->owned.count ? hash_of_owner(uid) : 0;
    size_t len = 0;
    struct entry **all = owner ? gather_owned(&c->owned, owner, &len) : NULL;

    struct entry *e = owner && !all ? *owned_bucket(&c->owned, owner) : NULL;

    for (size_t i = 0; all && i < len; i++)
        if (!tell_owned(c, all[i], uid, fn, arg))
            break;
    /* Unsorted for lack of memory: better than leaving some out. */
    for (; e; e = e->next_owned)
        if (e->owner == owner && !tell_owned(c, e, uid, fn, arg))
            break;
    free(all);
}
