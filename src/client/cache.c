/*
 * cache.c - the objects a reflector tells of, by key and by the UID of their controller. See
 * cache.h.
 *
 * Each object is kept in one piece of memory. One that was replaced or deleted is kept until the
 * next turn of the loop, because whoever called cache_get on this turn may still look at it.
 */
#include "client/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/map.h"
#include "client/reflector.h"

#define OBJECT_LIMIT_BYTES (256u * 1024u * 1024u)
#define KEY_LIMIT_BYTES 1024u
#define OWN_LIMIT_BYTES (1024u * 1024u)

/* Of all caches: hundreds of names in thousands of objects. */
static struct json_words words;

struct entry {
    struct json *object;   /* packed */
    unsigned seen_in_list; /* number of the last list that had it */
    struct entry *next_dead;
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
    char *trouble;           /* the last, until a list comes to its end */
    struct arena own;        /* of what follows */
    const struct json *kept; /* members of an object that are; NULL: all */
    struct arena scratch;
    unsigned lists;           /* begun */
    unsigned lists_done;      /* number of the last one that came to its end */
    struct map by_key;        /* "ns/name" -> entry */
    struct map by_controller; /* "uid\0ns/name" -> entry */
    struct entry *dead;
    struct clock_timer *burial;
};

/* --- entries --- */

static void entry_free(struct entry *e)
{
    if (!e)
        return;
    free(e->object);
    free(e);
}

static void entry_free_value(void *value)
{
    entry_free(value);
}

/* --- what is kept of an object --- */

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

/* What stands in a list is treated alike. */
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

/* Items of lists come without apiVersion and kind; here every object has them. Who manages which
 * field is of no interest to a controller and often larger than the rest. */
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

static struct entry *entry_new(struct cache *c, const struct json *object)
{
    struct entry *e = calloc(1, sizeof(*e));
    const struct json *copy;

    if (!e)
        return NULL;
    arena_reset(&c->scratch);
    copy = copy_object(&c->scratch, c, object);
    e->object = arena_failed(&c->scratch) ? NULL : json_pack(copy, &words);
    if (e->object)
        return e;
    entry_free(e);
    return NULL;
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

static void bury(struct cache *c)
{
    while (c->dead) {
        struct entry *e = c->dead;

        c->dead = e->next_dead;
        entry_free(e);
    }
}

static void on_burial(void *arg)
{
    struct cache *c = arg;

    c->burial = NULL;
    bury(c);
}

static void retire(struct cache *c, struct entry *e)
{
    e->next_dead = c->dead;
    c->dead = e;
    if (!c->burial)
        c->burial = clock_start(c->clock, 0, on_burial, c);
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
    struct entry *e = map_remove(&c->by_key, key, len);

    if (!e)
        return;
    unindex(c, e->object);
    retire(c, e);
    tell(c, CACHE_DELETED, e->object, NULL);
}

static bool is_same_state(const struct json *a, const struct json *b)
{
    return strcmp(object_uid(a), object_uid(b)) == 0 &&
           strcmp(object_resource_version(a), object_resource_version(b)) == 0 &&
           *object_resource_version(a);
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
    tell(c, old ? CACHE_CHANGED : CACHE_ADDED, e->object, old ? old->object : NULL);
    return 0;
}

static int put_key(struct cache *c, const char *key, size_t len, const struct json *object)
{
    struct entry *known = map_get(&c->by_key, key, len), *e;
    int rc;

    if (known && is_same_state(known->object, object)) {
        known->seen_in_list = c->lists;
        return 0;
    }
    e = entry_new(c, object);
    if (!e)
        return -ENOMEM;
    e->seen_in_list = c->lists;
    /* The same name with another UID is another object: the one we knew is gone. */
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

    if (err->reason != ERR_EXPIRED) { /* a watch's ordinary end */
        free(c->trouble);
        c->trouble = strdup(err->text);
    }
    if (c->on_trouble)
        c->on_trouble(c->arg, err);
}

/* --- life and reading --- */

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
    c->on_change = options->on_change;
    c->on_synced = options->on_synced;
    c->on_trouble = options->on_trouble;
    c->arg = options->arg;
    if (arena_failed(&c->own)) {
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
    const struct entry *e = NULL;

    write_key(&key, ns, name);
    if (!key.failed && key.len)
        e = map_get(&c->by_key, key.data, key.len);
    buf_release(&key);
    return e ? e->object : NULL;
}

void cache_each(const struct cache *c, bool (*fn)(void *arg, const struct json *object), void *arg)
{
    map_for_each (n, &c->by_key) {
        const struct entry *e = n->value;

        if (!fn(arg, e->object))
            return;
    }
}

void cache_each_of_controller(const struct cache *c, const char *uid,
                              bool (*fn)(void *arg, const struct json *object), void *arg)
{
    size_t prefix = strlen(uid) + 1; /* the NUL ends the UID in the key */
    struct map_node *n = map_seek(&c->by_controller, uid, prefix);

    while (n && n->key_len > prefix && memcmp(n->key, uid, prefix) == 0) {
        const struct entry *e = n->value;

        if (!fn(arg, e->object))
            return;
        n = map_after(&c->by_controller, n->key, n->key_len);
    }
}
