/*
 * gc.c - see gc.h. Follows every collected kind, and examines an object when it or one of its
 * owners changed. A queue key is a UID. Definitions are followed too: an installed kind is followed
 * from when its definition appears until it is gone, with all its objects.
 *
 * The graph may be stale, so nothing is deleted on its word alone: the object is read from the API
 * and so is every owner not seen to go, then the object is deleted with its UID as precondition. A
 * live owner settles the matter without any call, which is the usual case.
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
#define TIDY_AGAIN_MS 1000 /* after running out of memory */

/* A kind being followed. */
struct source {
    struct source *next;
    struct gc *gc;
    const struct kind *kind;
    struct reflector *reflector;
    char *definition;         /* of an installed kind; NULL: built in */
    unsigned defined_in_list; /* the last list of definitions it was in */
    unsigned lists;
    bool synced;
    bool renew; /* its reflector must be replaced or removed: see tidy */
    bool gone;
};

/* An object being examined, with calls under way. */
struct task {
    struct task *next, **at;
    struct gc *gc;
    struct arena arena;
    const struct kind *kind;
    const char *ns, *name, *uid;
    const struct json *object;     /* as read from the API */
    const struct json *next_owner; /* to be checked next */
    bool owner_waits;
    const char **dependents; /* UIDs, for orphaning */
    size_t dependents_len, next_dependent;
};

struct gc {
    struct transport *transport;
    struct clock *clock;
    struct trouble *trouble;
    struct queue *queue;
    struct gc_graph graph;
    struct task *tasks;
    struct gc_kinds kinds;
    struct source *sources;
    struct reflector *definitions;
    struct clock_timer *tidying;
    unsigned definition_lists;
    bool definitions_synced;
    bool ready;
};

/* --- tasks --- */

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

/* Ends a task whose last call failed with err, if that was not the expected error. */
static void task_failed(struct task *t, const struct err *err)
{
    if (err->reason != ERR_CONFLICT && trouble_is_new(t->gc->trouble, err))
        log_warn("garbage collection of %s %s/%s: %s", t->kind->name, t->ns, t->name, err->text);
    task_over(t, QUEUE_RETRY);
}

static bool is_gone(const struct json *object, const struct err *err, const char *uid)
{
    return err ? err->reason == ERR_NOT_FOUND : strcmp(object_uid(object), uid) != 0;
}

/* --- removing a finalizer: the last step of an ordered deletion --- */

static void on_patched(void *arg, const struct json *object, const struct err *err)
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
    send_patch(t, t->kind, t->object, patch, on_patched);
}

/* --- orphaning: removes the owner from its dependents, one after the other --- */

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

/* --- collecting: deletes objects without owners --- */

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
    return json_has(json_at(object, "metadata", "finalizers"), name);
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
        ; /* only for this reference: it may have another's UID with a false name or namespace */
    } else if (object_is_deleting(owner) && has_finalizer(owner, FINALIZER_FOREGROUND)) {
        t->owner_waits = true;
    } else {
        /* An object our watch has not reported could vanish unreported: retry. */
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

/* It stays for another owner. A reference to an owner that is gone would still make it that
 * owner's: a PodGroup would wait for pods of a job that does not exist. */
static void free_from_gone(struct task *t)
{
    struct json *metadata, *kept = json_new_array(&t->arena), *patch;
    bool any = false;

    json_each (owner, json_at(t->object, "metadata", "ownerReferences")) {
        const struct kind *k = gc_kinds_of_owner(&t->gc->kinds, owner);

        if (gc_graph_owner_state(&t->gc->graph, k, json_get_string(owner, "uid", ""), t->ns) ==
            GC_OWNER_GONE)
            any = true;
        else
            json_append(kept, json_clone(&t->arena, owner));
    }
    if (!any) {
        task_over(t, QUEUE_OK);
        return;
    }
    patch = new_patch(t, t->object, &metadata);
    json_set(&t->arena, metadata, "ownerReferences", kept);
    send_patch(t, t->kind, t->object, patch, on_patched);
}

static void check_owners(struct task *t)
{
    for (; t->next_owner; t->next_owner = t->next_owner->next) {
        const struct kind *k = gc_kinds_of_owner(&t->gc->kinds, t->next_owner);

        switch (gc_graph_owner_state(&t->gc->graph, k, json_get_string(t->next_owner, "uid", ""),
                                     t->ns)) {
        case GC_OWNER_HOLDS:
            free_from_gone(t);
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

/* --- examining one object --- */

/* A dependent with another live owner stays, and its owner need not wait for it. */
static bool is_held_by_another(const struct gc_graph *g, const struct gc_node *n, const char *uid)
{
    for (size_t i = 0; i < n->owners_len; i++)
        if (strcmp(n->owners[i].node->uid, uid) != 0 &&
            gc_graph_owner_state(g, n->owners[i].kind, n->owners[i].node->uid, n->ns) ==
                GC_OWNER_HOLDS)
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

/* Queues all dependents that block the deletion; returns how many there are. */
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

static bool all_synced(const struct gc *gc)
{
    for (const struct source *s = gc->sources; s; s = s->next)
        if (!s->synced)
            return false;
    return true;
}

/* By the graph alone: whether anything may need to be done. */
static bool needs_care(struct gc *gc, struct gc_node *n)
{
    bool ask_again = n->ask_again, held = false, gone = false;

    n->ask_again = false;
    if (n->deleting && n->orphan)
        return all_synced(gc); /* a dependent not reported yet would be missed */
    if (n->deleting)
        return n->foreground && all_synced(gc) && press_dependents(gc, n->uid) == 0;
    if (ask_again)
        return true;
    for (size_t i = 0; i < n->owners_len; i++) {
        enum gc_owner_state state = gc_graph_owner_state(&gc->graph, n->owners[i].kind,
                                                         n->owners[i].node->uid, n->ns);

        held = held || state == GC_OWNER_HOLDS;
        gone = gone || state == GC_OWNER_GONE;
    }
    return n->owners_len > 0 && (gone || !held);
}

static void work(void *arg, const char *uid)
{
    struct gc *gc = arg;
    struct gc_node *n = gc->ready ? gc_graph_find(&gc->graph, uid) : NULL;
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

/* --- changes --- */

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
        const struct gc_node *owner = n->owners[i].node;

        if (owner->kind && owner->deleting)
            queue_add(gc->queue, owner->uid);
    }
    gc_graph_remove(&gc->graph, n);
}

static int on_put(void *arg, enum reflector_source source, const struct json *object)
{
    struct source *s = arg;
    struct gc *gc = s->gc;
    struct gc_node *n = gc_graph_put(&gc->graph, s->kind, object);

    (void)source;
    if (!n)
        return -1;
    n->seen_in_list = s->lists;
    if (gc->ready && (n->owners_len || n->deleting))
        queue_add(gc->queue, n->uid);
    return 0;
}

static int on_head(void *arg, const struct json *head, const char *text, size_t len)
{
    (void)text;
    (void)len;
    return on_put(arg, REFLECTOR_LIST, head);
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

static void forget_if_unseen(void *arg, struct gc_node *n)
{
    struct source *s = arg;

    if (n->kind == s->kind && n->seen_in_list != s->lists)
        forget_node(s->gc, n);
}

static void forget_unseen(struct source *s)
{
    gc_graph_each(&s->gc->graph, forget_if_unseen, s);
}

static void look_at(void *arg, struct gc_node *n)
{
    struct gc *gc = arg;

    if (n->ask_again || needs_care(gc, n))
        queue_add(gc->queue, n->uid);
}

/* Installed kinds may appear at any time: unreported owners of such kinds are read from the API. */
static void check_ready(struct gc *gc)
{
    for (const struct source *s = gc->sources; s; s = s->next)
        if (!s->synced && !s->definition)
            return;
    if (gc->ready || !gc->definitions_synced)
        return;
    gc->ready = true;
    gc_graph_each(&gc->graph, look_at, gc);
}

static bool has_unknown_owner(const struct gc_node *n)
{
    for (size_t i = 0; i < n->owners_len; i++)
        if (!n->owners[i].kind)
            return true;
    return false;
}

static void look_again_at(void *arg, struct gc_node *n)
{
    struct gc *gc = arg;

    n->ask_again = has_unknown_owner(n);
    if (n->deleting || n->ask_again)
        queue_add(gc->queue, n->uid);
}

/* The first list of an installed kind: what waited for it, or could not be judged without it. */
static void look_again(struct gc *gc)
{
    gc_graph_each(&gc->graph, look_again_at, gc);
}

static void on_list_end(void *arg)
{
    struct source *s = arg;
    bool first = !s->synced;

    forget_unseen(s);
    s->synced = true;
    if (s->definition && first)
        look_again(s->gc);
    check_ready(s->gc);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct source *s = arg;

    trouble_say(s->gc->trouble, s->kind, err);
}

/* --- sources --- */

static bool start_source(struct source *s)
{
    s->reflector = reflector_new(&(struct reflector_options){
        .transport = s->gc->transport,
        .clock = s->gc->clock,
        .kind = s->kind,
        .unhurried = true,
        .handler = {.list_begin = on_list_begin,
                    .put = on_put,
                    .put_text = on_head,
                    .remove = on_remove,
                    .list_end = on_list_end,
                    .on_trouble = on_trouble,
                    .arg = s},
    });
    return s->reflector;
}

static void source_free(struct source *s)
{
    reflector_free(s->reflector);
    free(s->definition);
    free(s);
}

static struct source *follow(struct gc *gc, const struct kind *k, const char *definition)
{
    struct source *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->gc = gc;
    s->kind = k;
    s->definition = definition ? strdup(definition) : NULL;
    if ((definition && !s->definition) || !start_source(s)) {
        source_free(s);
        return NULL;
    }
    s->next = gc->sources;
    gc->sources = s;
    return s;
}

static void forget_all(struct source *s)
{
    s->lists++;
    forget_unseen(s);
}

/* Reflectors are freed here, never from inside another's handler. */
static void tidy(void *arg)
{
    struct gc *gc = arg;
    struct source **at = &gc->sources, *s;

    gc->tidying = NULL;
    while ((s = *at)) {
        if (s->gone) {
            *at = s->next;
            forget_all(s);
            source_free(s);
            look_again(gc);
            continue;
        }
        if (s->renew) {
            reflector_free(s->reflector);
            s->renew = !start_source(s);
            if (s->renew)
                gc->tidying = clock_start(gc->clock, TIDY_AGAIN_MS, tidy, gc);
        }
        at = &s->next;
    }
}

static void tidy_soon(struct gc *gc)
{
    if (!gc->tidying)
        gc->tidying = clock_start(gc->clock, 0, tidy, gc);
}

/* --- definitions of installed kinds --- */

static struct source *find_source(const struct gc *gc, const char *definition)
{
    for (struct source *s = gc->sources; s; s = s->next)
        if (s->definition && !s->gone && strcmp(s->definition, definition) == 0)
            return s;
    return NULL;
}

struct kind_change {
    const struct kind *from, *to;
};

static void change_kind_of(void *arg, struct gc_node *n)
{
    const struct kind_change *change = arg;

    if (n->kind == change->from)
        n->kind = change->to;
}

/* Another version is served now: the objects are the same. */
static void change_kind(struct source *s, const struct kind *k)
{
    struct kind_change change = {.from = s->kind, .to = k};

    gc_graph_each(&s->gc->graph, change_kind_of, &change);
    s->kind = k;
    s->renew = true;
    tidy_soon(s->gc);
}

static int on_definition(void *arg, enum reflector_source source, const struct json *definition)
{
    struct gc *gc = arg;
    struct source *s = find_source(gc, object_name(definition));
    const struct kind *k = gc_kinds_install(&gc->kinds, definition);

    (void)source;
    if (s)
        s->defined_in_list = gc->definition_lists;
    if (!k || (s && s->kind == k))
        return 0;
    if (s) {
        change_kind(s, k);
        return 0;
    }
    s = follow(gc, k, object_name(definition));
    if (s)
        s->defined_in_list = gc->definition_lists;
    return s ? 0 : -1;
}

static void definition_gone(struct source *s)
{
    s->gone = true;
    tidy_soon(s->gc);
}

static void on_definition_removed(void *arg, const struct json *definition)
{
    struct source *s = find_source(arg, object_name(definition));

    if (s)
        definition_gone(s);
}

static void on_definitions_begin(void *arg)
{
    struct gc *gc = arg;

    gc->definition_lists++;
}

static void on_definitions_listed(void *arg)
{
    struct gc *gc = arg;

    for (struct source *s = gc->sources; s; s = s->next)
        if (s->definition && s->defined_in_list != gc->definition_lists)
            definition_gone(s);
    gc->definitions_synced = true;
    check_ready(gc);
}

static void on_definition_trouble(void *arg, const struct err *err)
{
    struct gc *gc = arg;

    trouble_say(gc->trouble, &kind_crd, err);
}

static bool follow_definitions(struct gc *gc)
{
    gc->definitions = reflector_new(&(struct reflector_options){
        .transport = gc->transport,
        .clock = gc->clock,
        .kind = &kind_crd,
        .handler = {.list_begin = on_definitions_begin,
                    .put = on_definition,
                    .remove = on_definition_removed,
                    .list_end = on_definitions_listed,
                    .on_trouble = on_definition_trouble,
                    .arg = gc},
    });
    return gc->definitions;
}

/* --- life --- */

struct gc *gc_new(struct transport *t, struct clock *clock, struct trouble *trouble)
{
    struct gc *gc = calloc(1, sizeof(*gc));
    bool ok;

    if (!gc)
        return NULL;
    gc->transport = t;
    gc->clock = clock;
    gc->trouble = trouble;
    gc->graph.kinds = &gc->kinds;
    gc->queue = queue_new(clock, IN_WORK_LIMIT, work, gc);
    ok = gc->queue && follow_definitions(gc);
    for (size_t i = 0; ok && kinds[i]; i++)
        ok = !kinds[i]->collected || follow(gc, kinds[i], NULL);
    if (ok)
        return gc;
    gc_free(gc);
    return NULL;
}

void gc_free(struct gc *gc)
{
    if (!gc)
        return;
    clock_stop(gc->clock, gc->tidying);
    reflector_free(gc->definitions);
    for (struct source *s = gc->sources, *next; s; s = next) {
        next = s->next;
        source_free(s);
    }
    queue_free(gc->queue);
    for (struct task *t = gc->tasks, *next; t; t = next) {
        next = t->next;
        task_free(t);
    }
    gc_graph_release(&gc->graph);
    gc_kinds_release(&gc->kinds);
    free(gc);
}
