/*
 * gc.c - see gc.h. Follows every collected kind, and looks at an object when it or one of its
 * owners changed. A queue key is a UID.
 *
 * The picture may be old, so nothing is deleted on its word alone: the object is read from the API
 * and so is every owner that was not seen to go, then the object is deleted with its UID as
 * precondition. An owner that holds settles the matter without any call, which is the usual case.
 */
#include "control/gc.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "client/client.h"
#include "client/queue.h"
#include "client/reflector.h"
#include "control/gc_graph.h"

#define IN_WORK_LIMIT 16
#define TASK_LIMIT_BYTES (64u * 1024u * 1024u)

/* One kind that is followed. */
struct source {
    struct gc *gc;
    const struct kind *kind;
    struct reflector *reflector;
    unsigned lists;
    bool synced;
};

/* An object being looked at, with calls under way. */
struct task {
    struct task *next, **at;
    struct gc *gc;
    struct arena arena;
    const struct kind *kind;
    const char *ns, *name, *uid;
    const struct json *object;     /* as read from the API */
    const struct json *next_owner; /* to be checked */
    bool owner_waits;
    const char **dependents; /* UIDs, of an orphaning */
    size_t dependents_len, next_dependent;
};

struct gc {
    struct transport *transport;
    struct clock *clock;
    struct trouble *trouble;
    struct queue *queue;
    struct gc_graph graph;
    struct task *tasks;
    bool ready;
    size_t sources_len;
    struct source sources[];
};

/* --- tasks
 * ------------------------------------------------------------------------------------------------
 */

static struct task *task_new(struct gc *gc, const struct gc_node *node)
{
    struct task *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    arena_init(&t->arena, TASK_LIMIT_BYTES);
    t->gc = gc;
    t->kind = node->kind;
    t->ns = arena_strdup(&t->arena, node->ns);
    t->name = arena_strdup(&t->arena, node->name);
    t->uid = arena_strdup(&t->arena, node->uid);
    t->next = gc->tasks;
    t->at = &gc->tasks;
    if (t->next)
        t->next->at = &t->next;
    gc->tasks = t;
    return t;
}

static void task_free(struct task *t)
{
    client_forget(t);
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
    arena_release(&t->arena);
    free(t);
}

static void task_over(struct task *t, enum queue_result result)
{
    queue_done(t->gc->queue, t->uid, result);
    task_free(t);
}

/* The end of a task whose last call was answered with err, when that is not what was hoped for. */
static void task_failed(struct task *t, const struct err *err)
{
    if (err->reason != ERR_CONFLICT)
        log_warn("garbage collection of %s %s/%s: %s", t->kind->name, t->ns, t->name, err->text);
    task_over(t, QUEUE_RETRY);
}

static bool is_gone(const struct json *object, const struct err *err, const char *uid)
{
    return err ? err->reason == ERR_NOT_FOUND : strcmp(object_uid(object), uid) != 0;
}

/* --- removing a finalizer: the last step of an ordered deletion
 * ------------------------------------------------------------------------------------------------
 */

static void on_finalizer_removed(void *arg, const struct json *object, const struct err *err)
{
    struct task *t = arg;

    (void)object;
    if (err && err->reason != ERR_NOT_FOUND)
        task_failed(t, err);
    else
        task_over(t, QUEUE_OK);
}

/* A patch for this version of the object: metadata with its UID and resourceVersion. */
static struct json *new_patch(struct task *t, const struct json *object, struct json **ret_metadata)
{
    struct json *patch = json_new_object(&t->arena);
    struct json *metadata = json_make_object(&t->arena, patch, "metadata");

    json_set_string(&t->arena, metadata, "uid", object_uid(object));
    json_set_string(&t->arena, metadata, "resourceVersion", object_resource_version(object));
    *ret_metadata = metadata;
    return patch;
}

static void send_patch(struct task *t, const struct kind *k, const struct json *object,
                       const struct json *patch, client_fn *fn)
{
    if (arena_failed(&t->arena))
        task_over(t, QUEUE_RETRY);
    else
        client_patch(t->gc->transport, k, object_namespace(object), object_name(object), "", patch,
                     fn, t);
}

static void remove_finalizer(struct task *t, const char *name)
{
    struct json *metadata, *kept = json_new_array(&t->arena);
    struct json *patch = new_patch(t, t->object, &metadata);

    json_each (f, json_at(t->object, "metadata", "finalizers"))
        if (!json_string_is(f, name))
            json_append(kept, json_clone(&t->arena, f));
    json_set(&t->arena, metadata, "finalizers", json_len(kept) ? kept : json_new_null(&t->arena));
    send_patch(t, t->kind, t->object, patch, on_finalizer_removed);
}

/* --- orphaning: take the owner out of its dependents, one after the other
 * ------------------------------------------------------------------------------------------------
 */

static void orphan_next(struct task *t);

static void on_dependent_freed(void *arg, const struct json *object, const struct err *err)
{
    struct task *t = arg;

    (void)object;
    if (err && err->reason != ERR_NOT_FOUND)
        task_failed(t, err);
    else
        orphan_next(t);
}

static void on_dependent(void *arg, const struct json *object, const struct err *err)
{
    struct task *t = arg;
    struct json *metadata, *kept = json_new_array(&t->arena), *patch;
    const struct gc_node *node = gc_graph_find(&t->gc->graph, t->dependents[t->next_dependent - 1]);

    if (err && err->reason != ERR_NOT_FOUND) {
        task_failed(t, err);
        return;
    }
    if (!node || is_gone(object, err, node->uid)) {
        orphan_next(t);
        return;
    }
    patch = new_patch(t, object, &metadata);
    json_each (owner, json_at(object, "metadata", "ownerReferences"))
        if (!json_string_is(json_get(owner, "uid"), t->uid))
            json_append(kept, json_clone(&t->arena, owner));
    json_set(&t->arena, metadata, "ownerReferences",
             json_len(kept) ? kept : json_new_null(&t->arena));
    send_patch(t, node->kind, object, patch, on_dependent_freed);
}

static void orphan_next(struct task *t)
{
    const struct gc_node *node = NULL;

    while (!node && t->next_dependent < t->dependents_len)
        node = gc_graph_find(&t->gc->graph, t->dependents[t->next_dependent++]);
    if (node)
        client_get(t->gc->transport, node->kind, node->ns, node->name, on_dependent, t);
    else
        remove_finalizer(t, FINALIZER_ORPHAN);
}

static bool count_dependent(void *arg, const struct gc_node *node)
{
    size_t *n = arg;

    (void)node;
    ++*n;
    return true;
}

static bool note_dependent(void *arg, const struct gc_node *node)
{
    struct task *t = arg;

    t->dependents[t->dependents_len++] = arena_strdup(&t->arena, node->uid);
    return true;
}

static void start_orphaning(struct task *t)
{
    size_t n = 0;

    gc_graph_each_dependent(&t->gc->graph, t->uid, count_dependent, &n);
    t->dependents = arena_alloc(&t->arena, (n + 1) * sizeof(*t->dependents));
    if (t->dependents)
        gc_graph_each_dependent(&t->gc->graph, t->uid, note_dependent, t);
    if (!t->dependents || arena_failed(&t->arena))
        task_over(t, QUEUE_RETRY);
    else
        orphan_next(t);
}

/* --- collecting: delete what has no owner left
 * ------------------------------------------------------------------------------------------------
 */

static void on_deleted(void *arg, const struct json *object, const struct err *err)
{
    struct task *t = arg;

    (void)object;
    if (err && err->reason != ERR_NOT_FOUND && err->reason != ERR_CONFLICT)
        task_failed(t, err);
    else
        task_over(t, QUEUE_OK);
}

static void delete_object(struct task *t)
{
    bool ordered = t->owner_waits && gc_graph_has_dependents(&t->gc->graph, t->uid);

    client_delete(t->gc->transport, t->kind, t->ns, t->name, t->uid, -1,
                  ordered ? "Foreground" : "Background", on_deleted, t);
}

static bool has_finalizer(const struct json *object, const char *name)
{
    json_each (f, json_at(object, "metadata", "finalizers"))
        if (json_string_is(f, name))
            return true;
    return false;
}

static void check_owners(struct task *t);

static void on_owner(void *arg, const struct json *owner, const struct err *err)
{
    struct task *t = arg;
    const char *uid = json_get_string(t->next_owner, "uid", "");

    if (err && err->reason != ERR_NOT_FOUND) {
        task_failed(t, err);
        return;
    }
    if (is_gone(owner, err, uid)) {
        gc_graph_mark_absent(&t->gc->graph, uid);
    } else if (object_is_deleting(owner) && has_finalizer(owner, FINALIZER_FOREGROUND)) {
        t->owner_waits = true;
    } else {
        /* One that our watch has not told of could go without it ever telling: come again. */
        task_over(t, gc_graph_find(&t->gc->graph, uid) ? QUEUE_OK : QUEUE_RETRY);
        return;
    }
    t->next_owner = t->next_owner->next;
    check_owners(t);
}

static void ask_for_owner(struct task *t, const struct kind *k)
{
    client_get(t->gc->transport, k, k->namespaced ? t->ns : NULL,
               json_get_string(t->next_owner, "name", ""), on_owner, t);
}

static void check_owners(struct task *t)
{
    for (; t->next_owner; t->next_owner = t->next_owner->next) {
        const struct kind *k = kind_of_object(t->next_owner);

        switch (gc_graph_owner_state(&t->gc->graph, k, json_get_string(t->next_owner, "uid", ""),
                                     t->ns)) {
        case GC_OWNER_HOLDS:
            task_over(t, QUEUE_OK);
            return;
        case GC_OWNER_UNKNOWN:
            ask_for_owner(t, k);
            return;
        case GC_OWNER_WAITS:
            t->owner_waits = true;
            break;
        case GC_OWNER_GONE:
            break;
        }
    }
    delete_object(t);
}

/* --- looking at one object
 * ------------------------------------------------------------------------------------------------
 */

/* A dependent that another owner holds stays, and its owner need not wait for it. */
static bool is_held_by_another(const struct gc_graph *g, const struct gc_node *n, const char *uid)
{
    for (size_t i = 0; i < n->owners_len; i++)
        if (strcmp(n->owners[i].uid, uid) != 0 &&
            gc_graph_owner_state(g, n->owners[i].kind, n->owners[i].uid, n->ns) == GC_OWNER_HOLDS)
            return true;
    return false;
}

struct blockers {
    struct gc *gc;
    const char *owner_uid;
    size_t count;
};

static bool find_blocker(void *arg, const struct gc_node *dependent)
{
    struct blockers *b = arg;

    if (is_held_by_another(&b->gc->graph, dependent, b->owner_uid))
        return true;
    b->count++;
    if (!dependent->deleting)
        queue_add(b->gc->queue, dependent->uid);
    return true;
}

/* Has all dependents that block the deletion looked at; how many there are. */
static size_t press_dependents(struct gc *gc, const char *uid)
{
    struct blockers b = {.gc = gc, .owner_uid = uid};

    gc_graph_each_dependent(&gc->graph, uid, find_blocker, &b);
    return b.count;
}

static void finish_deletion(struct task *t)
{
    if (has_finalizer(t->object, FINALIZER_ORPHAN))
        start_orphaning(t);
    else if (has_finalizer(t->object, FINALIZER_FOREGROUND) && press_dependents(t->gc, t->uid) == 0)
        remove_finalizer(t, FINALIZER_FOREGROUND);
    else
        task_over(t, QUEUE_OK);
}

static void on_object(void *arg, const struct json *object, const struct err *err)
{
    struct task *t = arg;

    if (is_gone(object, err, t->uid)) {
        task_over(t, QUEUE_OK);
        return;
    }
    t->object = err ? NULL : json_clone(&t->arena, object);
    if (err) {
        task_failed(t, err);
    } else if (arena_failed(&t->arena)) {
        task_over(t, QUEUE_RETRY);
    } else if (object_is_deleting(t->object)) {
        finish_deletion(t);
    } else {
        t->next_owner = json_first(json_at(t->object, "metadata", "ownerReferences"));
        if (t->next_owner)
            check_owners(t);
        else
            task_over(t, QUEUE_OK);
    }
}

/* By the picture alone: is there anything that may have to be done? */
static bool needs_care(struct gc *gc, const struct gc_node *n)
{
    if (n->deleting && n->orphan)
        return true;
    if (n->deleting)
        return n->foreground && press_dependents(gc, n->uid) == 0;
    for (size_t i = 0; i < n->owners_len; i++)
        if (gc_graph_owner_state(&gc->graph, n->owners[i].kind, n->owners[i].uid, n->ns) ==
            GC_OWNER_HOLDS)
            return false;
    return n->owners_len > 0;
}

static void work(void *arg, const char *uid)
{
    struct gc *gc = arg;
    const struct gc_node *n = gc->ready ? gc_graph_find(&gc->graph, uid) : NULL;
    struct task *t;

    if (!n || !needs_care(gc, n)) {
        queue_done(gc->queue, uid, QUEUE_OK);
        return;
    }
    t = task_new(gc, n);
    if (t && !arena_failed(&t->arena)) {
        client_get(gc->transport, n->kind, n->ns, n->name, on_object, t);
        return;
    }
    if (t)
        task_free(t);
    queue_done(gc->queue, uid, QUEUE_RETRY);
}

/* --- changes
 * ------------------------------------------------------------------------------------------------
 */

static bool add_dependent(void *arg, const struct gc_node *node)
{
    struct gc *gc = arg;

    queue_add(gc->queue, node->uid);
    return true;
}

static void forget_node(struct gc *gc, struct gc_node *n)
{
    gc_graph_mark_absent(&gc->graph, n->uid);
    gc_graph_each_dependent(&gc->graph, n->uid, add_dependent, gc);
    for (size_t i = 0; i < n->owners_len; i++) {
        const struct gc_node *owner = gc_graph_find(&gc->graph, n->owners[i].uid);

        if (owner && owner->deleting)
            queue_add(gc->queue, owner->uid);
    }
    gc_graph_remove(&gc->graph, n);
}

static int on_put(void *arg, enum reflector_source source, const struct json *object)
{
    struct source *s = arg;
    struct gc *gc = s->gc;
    struct gc_node *n = gc_graph_find_name(&gc->graph, s->kind, object_namespace(object),
                                           object_name(object));

    (void)source;
    if (n && strcmp(n->uid, object_uid(object)) != 0)
        forget_node(gc, n);
    n = gc_graph_put(&gc->graph, s->kind, object);
    if (!n)
        return -1;
    n->seen_in_list = s->lists;
    if (n->owners_len || n->deleting)
        queue_add(gc->queue, n->uid);
    return 0;
}

static void on_remove(void *arg, const struct json *object)
{
    struct source *s = arg;
    struct gc_node *n = gc_graph_find(&s->gc->graph, object_uid(object));

    if (n)
        forget_node(s->gc, n);
}

static void on_list_begin(void *arg)
{
    struct source *s = arg;

    s->lists++;
}

static void forget_unseen(struct source *s)
{
    struct map_node *at = map_first(&s->gc->graph.by_uid);

    while (at) {
        struct gc_node *n = at->value;
        char *uid = strdup(n->uid);

        if (n->kind == s->kind && n->seen_in_list != s->lists)
            forget_node(s->gc, n);
        at = uid ? map_after(&s->gc->graph.by_uid, uid, strlen(uid)) : NULL;
        free(uid);
    }
}

static void check_ready(struct gc *gc)
{
    for (size_t i = 0; i < gc->sources_len; i++)
        if (!gc->sources[i].synced)
            return;
    if (gc->ready)
        return;
    gc->ready = true;
    map_for_each (at, &gc->graph.by_uid)
        queue_add(gc->queue, at->key);
}

static void on_list_end(void *arg)
{
    struct source *s = arg;

    forget_unseen(s);
    s->synced = true;
    check_ready(s->gc);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct source *s = arg;

    trouble_say(s->gc->trouble, s->kind, err);
}

/* --- life
 * ------------------------------------------------------------------------------------------------
 */

static size_t count_collected(void)
{
    size_t n = 0;

    for (size_t i = 0; kinds[i]; i++)
        n += kinds[i]->collected;
    return n;
}

static bool follow(struct gc *gc, const struct kind *k)
{
    struct source *s = &gc->sources[gc->sources_len++];

    s->gc = gc;
    s->kind = k;
    s->reflector = reflector_new(&(struct reflector_options){
        .transport = gc->transport,
        .clock = gc->clock,
        .kind = k,
        .handler = {.list_begin = on_list_begin,
                    .put = on_put,
                    .remove = on_remove,
                    .list_end = on_list_end,
                    .on_trouble = on_trouble,
                    .arg = s},
    });
    return s->reflector;
}

struct gc *gc_new(struct transport *t, struct clock *clock, struct trouble *trouble)
{
    struct gc *gc = calloc(1, sizeof(*gc) + count_collected() * sizeof(gc->sources[0]));
    bool ok;

    if (!gc)
        return NULL;
    gc->transport = t;
    gc->clock = clock;
    gc->trouble = trouble;
    gc->queue = queue_new(clock, IN_WORK_LIMIT, work, gc);
    ok = gc->queue;
    for (size_t i = 0; ok && kinds[i]; i++)
        ok = !kinds[i]->collected || follow(gc, kinds[i]);
    if (ok)
        return gc;
    gc_free(gc);
    return NULL;
}

void gc_free(struct gc *gc)
{
    if (!gc)
        return;
    for (size_t i = 0; i < gc->sources_len; i++)
        reflector_free(gc->sources[i].reflector);
    queue_free(gc->queue);
    for (struct task *t = gc->tasks, *next; t; t = next) {
        next = t->next;
        task_free(t);
    }
    gc_graph_release(&gc->graph);
    free(gc);
}
