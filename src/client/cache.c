/*
 * cache.c - the objects a reflector reports, by key and by their controller's UID. See cache.h.
 *
 * Each object is one allocation. A replaced or deleted one is kept until the next turn of the loop,
 * because a caller of cache_get on this turn may still use it.
 *
 * A parsed object takes about five times its text, and most objects in a cache belong to jobs that
 * ended long ago. So only some stay parsed (cache_options.ready_objects), in an LRU line: one that
 * reaches the front without having been used since is reduced to compressed text. That too is done
 * between turns.
 */
#include "client/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/shrink.h"
#include "client/reflector.h"

#define OBJECT_LIMIT_BYTES (256u * 1024u * 1024u)
#define KEY_LIMIT_BYTES 1024u
#define OWN_LIMIT_BYTES (1024u * 1024u)
#define UNDEAD_MS 1000

/* Shared by all caches: hundreds of names in thousands of objects. */
static struct json_words words;

struct entry {
    struct json *object;      /* packed; NULL: only its text is kept */
    struct shrunk *text;      /* NULL: not made yet */
    uint64_t state;           /* hash of UID and resourceVersion */
    unsigned seen_in_list;    /* number of the last list that contained it */
    bool asked_for;           /* used since it was last considered in the line */
    struct entry *next, **at; /* in the line of parsed ones, or (at is NULL) dead */
};

/* Parsed entries, least recently used first. */
struct line {
    struct cache *cache;
    struct entry *first, **end;
    size_t len, limit;
    struct shrinker shrinker;
    struct arena scratch;
};

struct cache {
    struct reflector *reflector;
    struct clock *clock;
    const struct kind *kind;
    cache_fn *on_change;
    void (*on_synced)(void *arg);
    void (*on_trouble)(void *arg, const struct err *err);
    void *arg;
    bool synced;
    char *trouble;           /* the last one, until a list completes */
    struct arena own;        /* for what follows */
    const struct json *kept; /* members of an object to keep; NULL: all */
    struct arena scratch;
    unsigned lists;           /* started */
    unsigned lists_done;      /* number of the last completed one */
    struct map by_key;        /* "ns/name" -> entry */
    struct map by_controller; /* "uid\0ns/name" -> entry */
    struct line *line;        /* NULL: all stay parsed */
    struct entry *dead;
    bool undead; /* removing something failed for lack of memory: it was not in the last list */
    struct clock_timer *burial;
};

/* --- entries --- */

static void entry_free(struct entry *e)
{
    if (!e)
        return;
    shrunk_free(e->text);
    free(e->object);
    free(e);
}

static void entry_free_value(void *value)
{
    entry_free(value);
}

/* --- which members are kept --- */

/* "spec.containers.name" becomes {"spec": {"containers": {"name": true}}}. */
static struct json *kept_members(struct arena *a, const char *const *paths)
{
    struct json *kept = paths ? json_new_object(a) : NULL;

    for (; paths && *paths; paths++) {
        struct json *at = kept;
        const char *name = *paths;

        for (const char *dot; (dot = strchr(name, '.')); name = dot + 1) {
            const char *parent = arena_strndup(a, name, (size_t)(dot - name));

            at = parent ? json_make_object(a, at, parent) : NULL;
        }
        json_set_bool(a, at, name, true);
    }
    return kept;
}

/* List items are treated alike. */
static struct json *copy_kept(struct arena *a, const struct json *v, const struct json *kept)
{
    struct json *copy;

    if (!json_is(kept, JSON_OBJECT) || v->type < JSON_ARRAY)
        return json_clone(a, v);
    copy = v->type == JSON_ARRAY ? json_new_array(a) : json_new_object(a);
    json_each (m, v) {
        if (v->type == JSON_ARRAY)
            json_append(copy, copy_kept(a, m, kept));
        else if (json_get(kept, m->key))
            json_set(a, copy, m->key, copy_kept(a, m, json_get(kept, m->key)));
    }
    return copy;
}

/* Items of lists come without apiVersion and kind; cached objects always have them. managedFields
 * are of no use to a controller and often larger than the rest. */
static struct json *copy_object(struct arena *a, const struct cache *c, const struct json *object)
{
    const struct kind *k = c->kind;
    struct json *copy = json_new_object(a);

    json_set_string(a, copy, "apiVersion", kind_api_version(a, k));
    json_set_string(a, copy, "kind", k->name);
    json_each (m, object) {
        const struct json *kept = c->kept ? json_get(c->kept, m->key) : m;

        if (kept && strcmp(m->key, "apiVersion") != 0 && strcmp(m->key, "kind") != 0)
            json_set(a, copy, m->key, copy_kept(a, m, c->kept ? kept : NULL));
    }
    (void)json_remove(json_get_mut(copy, "metadata"), "managedFields");
    return copy;
}

static uint64_t state_of(const struct json *object)
{
    const char *uid = object_uid(object), *revision = object_resource_version(object);

    return fnv1a_64(fnv1a_64(FNV1A_64_START, uid, strlen(uid) + 1), revision, strlen(revision));
}

static struct entry *entry_new(struct cache *c, const struct json *object)
{
    struct entry *e = calloc(1, sizeof(*e));
    const struct json *copy;

    if (!e)
        return NULL;
    arena_reset(&c->scratch);
    copy = copy_object(&c->scratch, c, object);
    e->object = arena_failed(&c->scratch) ? NULL : json_pack(copy, &words);
    if (e->object) {
        e->state = state_of(e->object);
        return e;
    }
    entry_free(e);
    return NULL;
}

/* --- parsed entries --- */

static void line_join(struct line *l, struct entry *e)
{
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

    if (!e->text) {
        json_write(&text, e->object);
        e->text = text.failed ? NULL : shrink(&l->shrinker, text.data, text.len);
        buf_release(&text);
    }
    return e->text;
}

static void shorten(struct line *l)
{
    /* Twice around: of many used in one turn not all can stay. */
    for (size_t n = 2 * l->len; n > 0 && l->len > l->limit; n--) {
        struct entry *e = l->first;
        bool stays = e->asked_for;

        line_leave(l, e);
        e->asked_for = false;
        if (stays || !keep_text(l, e)) {
            line_join(l, e);
            continue;
        }
        free(e->object);
        e->object = NULL;
    }
}

/* NULL: out of memory. */
static const struct json *make_ready(const struct cache *c, struct entry *e)
{
    struct line *l = c->line;
    const struct json *parsed = NULL;
    char *text;

    if (e->object)
        return e->object;
    text = malloc(e->text->text_len + 1u);
    arena_reset(&l->scratch);
    if (text) {
        shrunk_expand(e->text, text);
        parsed = json_parse(&l->scratch, text, e->text->text_len, NULL);
    }
    free(text);
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

static void write_controller_key(struct buf *out, const struct json *object)
{
    const char *uid = json_get_string(object_controller(object), "uid", "");

    if (!*uid)
        return;
    buf_add(out, uid, strlen(uid) + 1);
    write_key(out, object_namespace(object), object_name(object));
}

static void unindex(struct cache *c, const struct json *object)
{
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);

    write_controller_key(&key, object);
    if (key.len)
        map_remove(&c->by_controller, key.data, key.len);
    buf_release(&key);
}

static int index_entry(struct cache *c, struct entry *e)
{
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);
    int rc = 0;

    write_controller_key(&key, e->object);
    if (key.failed)
        rc = -ENOMEM;
    else if (key.len)
        rc = map_put(&c->by_controller, key.data, key.len, e, NULL);
    buf_release(&key);
    return rc;
}

/* --- the dead --- */

static void drop_unseen(struct cache *c);

static void bury(struct cache *c)
{
    while (c->dead) {
        struct entry *e = c->dead;

        c->dead = e->next;
        entry_free(e);
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

static void retire(struct cache *c, struct entry *e)
{
    line_leave(c->line, e);
    e->next = c->dead;
    c->dead = e;
    bury_later(c);
}

/* --- changes --- */

static void tell(struct cache *c, enum cache_event event, const struct json *object,
                 const struct json *old)
{
    if (c->on_change)
        c->on_change(c->arg, event, object, old);
}

static void drop(struct cache *c, const char *key, size_t len)
{
    struct entry *e = map_get(&c->by_key, key, len);

    if (!e)
        return;
    if (!make_ready(c, e)) {
        e->seen_in_list = c->lists - 1;
        c->undead = true;
        bury_later(c);
        return;
    }
    (void)map_remove(&c->by_key, key, len);
    unindex(c, e->object);
    retire(c, e);
    tell(c, CACHE_DELETED, e->object, NULL);
}

static int store(struct cache *c, const char *key, size_t len, struct entry *e)
{
    void *previous = NULL;
    struct entry *old;
    int rc = map_put(&c->by_key, key, len, e, &previous);

    if (rc < 0)
        return rc;
    old = previous;
    if (old)
        unindex(c, old->object);
    rc = index_entry(c, e);
    if (rc < 0) {
        map_remove(&c->by_key, key, len);
        if (old)
            retire(c, old);
        return rc;
    }
    if (old)
        retire(c, old);
    if (c->line) {
        line_join(c->line, e);
        bury_later(c);
    }
    tell(c, old ? CACHE_CHANGED : CACHE_ADDED, e->object, old ? old->object : NULL);
    return 0;
}

static int put_key(struct cache *c, const char *key, size_t len, const struct json *object)
{
    struct entry *known = map_get(&c->by_key, key, len), *e;
    int rc;

    if (known && *object_resource_version(object) && known->state == state_of(object)) {
        known->seen_in_list = c->lists;
        return 0;
    }
    e = entry_new(c, object);
    if (!e || (known && !make_ready(c, known))) {
        entry_free(e);
        return -ENOMEM;
    }
    e->seen_in_list = c->lists;
    /* The same name with another UID is a different object: the known one is gone. */
    if (known && strcmp(object_uid(known->object), object_uid(object)) != 0)
        drop(c, key, len);
    rc = store(c, key, len, e);
    if (rc < 0)
        entry_free(e);
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

static void on_remove(void *arg, const struct json *object)
{
    struct cache *c = arg;
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);

    write_key(&key, object_namespace(object), object_name(object));
    if (!key.failed && key.len)
        drop(c, key.data, key.len);
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
        const struct entry *e = n->value;
        struct buf key = BUF_INIT(KEY_LIMIT_BYTES);

        buf_add(&key, n->key, n->key_len);
        if (e->seen_in_list != c->lists)
            drop(c, key.data, key.len);
        n = map_after(&c->by_key, key.data, key.len);
        buf_release(&key);
    }
}

static void on_list_end(void *arg)
{
    struct cache *c = arg;

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
    arena_init(&c->own, OWN_LIMIT_BYTES);
    c->kept = kept_members(&c->own, options->keeps);
    arena_init(&c->scratch, OBJECT_LIMIT_BYTES);
    c->line = options->ready_objects ? line_new(c, options->ready_objects) : NULL;
    c->on_change = options->on_change;
    c->on_synced = options->on_synced;
    c->on_trouble = options->on_trouble;
    c->arg = options->arg;
    if (arena_failed(&c->own) || (options->ready_objects && !c->line)) {
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
    clock_stop(c->clock, c->burial);
    bury(c);
    map_release(&c->by_controller, NULL);
    map_release(&c->by_key, entry_free_value);
    line_free(c->line);
    arena_release(&c->scratch);
    arena_release(&c->own);
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
        e = map_get(&c->by_key, key.data, key.len);
    buf_release(&key);
    return e ? ask_for(c, e) : NULL;
}

void cache_each(const struct cache *c, bool (*fn)(void *arg, const struct json *object), void *arg)
{
    map_for_each (n, &c->by_key) {
        struct entry *e = n->value;
        bool was_ready = e->object, goes_on;
        const struct json *object = make_ready(c, e);

        if (!object)
            continue;
        goes_on = fn(arg, object);
        if (!was_ready && !e->at) {
            free(e->object);
            e->object = NULL;
        }
        if (!goes_on)
            return;
    }
}

void cache_each_of_controller(const struct cache *c, const char *uid,
                              bool (*fn)(void *arg, const struct json *object), void *arg)
{
    size_t prefix = strlen(uid) + 1; /* including the NUL after the UID in the key */
    struct map_node *n = map_seek(&c->by_controller, uid, prefix);

    while (n && n->key_len > prefix && memcmp(n->key, uid, prefix) == 0) {
        const struct json *object = ask_for(c, n->value);

        if (object && !fn(arg, object))
            return;
        n = map_after(&c->by_controller, n->key, n->key_len);
    }
}
