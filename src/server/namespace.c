/*
 * namespace.c - namespaces: the standard ones, what may be created in them, and their deletion.
 *
 * A deleted namespace is marked Terminating; its contents are deleted like anything else (running
 * pods get their grace period), and when nothing is left it is deleted too. The sweep only
 * considers committed marks: by then every object created before the mark is committed as well, and
 * none can be created after it, so none is left behind.
 */
#include <string.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "loop/random.h"
#include "server/internal.h"

#define DEFAULT_ACCOUNT "default"
#define FIRST_SWEEP_MS 5
#define SLOWEST_SWEEP_MS 1000
#define SWEEP_MEMORY_BYTES (64u * 1024u * 1024u)

static const char *const protected[] = {"default",   "kube-system",    "kube-public",
                                        NODE_LEASES, SYSTEM_NAMESPACE, QUEUE_NAMESPACE};

bool namespace_is_protected(const char *name)
{
    for (size_t i = 0; i < ELEMS(protected); i++)
        if (strcmp(name, protected[i]) == 0)
            return true;
    return false;
}

static int make_one(struct server *s, struct arena *a, const struct kind *k, const char *ns,
                    const char *name, struct err *err)
{
    return make_object(s, a, k, ns, name, json_new_object(a), err);
}

int make_object(struct server *s, struct arena *a, const struct kind *k, const char *ns,
                const char *name, struct json *object, struct err *err)
{
    char uid[RANDOM_UID_SIZE], now[TIME_TEXT_SIZE];
    struct json *meta;

    json_set_string(a, object, "apiVersion", kind_api_version(a, k));
    json_set_string(a, object, "kind", k->name);
    meta = json_make_object(a, object, "metadata");
    random_uid(uid);
    json_set_string(a, meta, "name", name);
    if (k->namespaced)
        json_set_string(a, meta, "namespace", ns);
    json_set_string(a, meta, "uid", uid);
    json_set_string(a, meta, "creationTimestamp", time_format(clock_now_ms(s->clock), now));
    object_set_defaults(a, k, object);
    s->first_collection = server_collection(s, k);
    return object_write(s, a, k, object_key(a, k, ns, name), object, WRITE_PUT, NULL, NULL, NULL,
                        err);
}

/* Every namespace has an account for pods that name none. */
int namespace_make_account(struct server *s, const char *ns, struct err *err)
{
    struct arena a = ARENA_INIT(SWEEP_MEMORY_BYTES);
    const char *key = object_key(&a, &kind_service_account, ns, DEFAULT_ACCOUNT);
    int rc = 0;

    if (!key)
        rc = out_of_memory(err);
    else if (object_is_absent(s, &kind_service_account, key))
        rc = make_one(s, &a, &kind_service_account, ns, DEFAULT_ACCOUNT, err);
    arena_release(&a);
    return rc;
}

/* The queue of jobs that name none. */
static int make_default_queue(struct server *s, struct arena *a, struct err *err)
{
    const char *key = object_key(a, &kind_queue, QUEUE_NAMESPACE, DEFAULT_QUEUE);

    if (!key)
        return out_of_memory(err);
    return object_is_absent(s, &kind_queue, key)
               ? make_one(s, a, &kind_queue, QUEUE_NAMESPACE, DEFAULT_QUEUE, err)
               : 0;
}

/* How pods run here: with the machine's software, or in their image. */
static int make_runtime_classes(struct server *s, struct arena *a, struct err *err)
{
    static const char *const names[] = {"image", "process"};
    int rc = 0;

    for (size_t i = 0; i < ELEMS(names) && rc == 0; i++) {
        struct json *class = json_new_object(a);

        json_set_string(a, class, "handler", names[i]);
        if (object_is_absent(s, &kind_runtime_class, names[i]))
            rc = make_object(s, a, &kind_runtime_class, "", names[i], class, err);
    }
    return rc;
}

int namespaces_make(struct server *s, struct err *err)
{
    struct arena a = ARENA_INIT(SWEEP_MEMORY_BYTES);
    int rc = 0;

    for (size_t i = 0; i < ELEMS(protected) && rc == 0; i++)
        if (object_is_absent(s, &kind_namespace, protected[i]))
            rc = make_one(s, &a, &kind_namespace, "", protected[i], err);
    for (size_t i = 0; i < ELEMS(protected) && rc == 0; i++)
        rc = namespace_make_account(s, protected[i], err);
    if (rc == 0)
        rc = make_default_queue(s, &a, err);
    if (rc == 0)
        rc = roles_make(s, &a, err);
    if (rc == 0)
        rc = make_runtime_classes(s, &a, err);
    arena_release(&a);
    return rc;
}

/* Parsed only when it could matter: every create asks. */
static bool is_terminating(struct arena *a, const struct blob *value)
{
    return strstr(value->data, "\"deletionTimestamp\"") &&
           object_is_deleting(blob_parse(a, value, NULL));
}

int namespace_check(struct server_request *r, const char *name, struct err *err)
{
    const struct kind *k = r->route.kind;
    const struct store_item *item;

    if (!k->namespaced)
        return 0;
    item = store_head(server_collection(r->server, &kind_namespace), r->route.ns);
    if (!item) {
        r->route.kind = &kind_namespace; /* the Status is about the namespace */
        r->route.name = r->route.ns;
        return object_missing(r->server, &kind_namespace, r->route.ns, r->route.ns, err);
    }
    if (!is_terminating(r->arena, item->value))
        return 0;
    r->route.name = name;
    err_set(err, ERR_FORBIDDEN,
            "%s \"%s\" is forbidden: unable to create new content in namespace %s because it is "
            "being terminated",
            resource_name(r->arena, k), name, r->route.ns);
    err_cause(err, "NamespaceTerminating", "metadata.namespace", 0,
              "namespace %s is being terminated", r->route.ns);
    return err_errno(ERR_FORBIDDEN);
}

/* --- deletion -------------------------------------------------------------------------- */

struct names {
    struct arena *arena;
    const char **text;
    size_t count;
    bool terminating_only;
};

static bool take_name(void *arg, const struct store_item *item)
{
    struct names *n = arg;

    if (!n->terminating_only || is_terminating(n->arena, item->value))
        n->text[n->count++] = arena_strdup(n->arena, item->key);
    return !arena_failed(n->arena);
}

static struct names list_names(struct store_collection *c, struct arena *a, const char *prefix,
                               bool terminating_only)
{
    struct names n = {.arena = a, .terminating_only = terminating_only};

    n.text = arena_alloc(a, (store_count(c) + 1) * sizeof(*n.text));
    if (n.text)
        store_list(c, prefix, NULL, take_name, &n);
    return n;
}

/* Deletes its contents; true when nothing is left, not even terminating. */
static bool empty_namespace(struct server *s, struct arena *a, const char *ns, struct err *err)
{
    const char *prefix = arena_printf(a, "%s/", ns);
    bool empty = prefix != NULL;

    for (size_t i = 0; s->kinds[i] && prefix; i++) {
        const struct kind *k = s->kinds[i];
        struct names n;

        if (!k->namespaced || k->stored_as)
            continue;
        n = list_names(server_collection(s, k), a, prefix, false);
        for (size_t j = 0; j < n.count && n.text[j]; j++) {
            bool gone;

            if (removal_sweep(s, k, n.text[j], &removal_plain, &gone, err) < 0 || !gone)
                empty = false;
        }
    }
    return empty && !arena_failed(a);
}

static void end_namespace(struct server *s, struct arena *a, const char *ns, struct err *err)
{
    const struct store_item *item = store_head(server_collection(s, &kind_namespace), ns);
    struct json *object = item ? blob_parse(a, item->value, err) : NULL;

    if (!object || json_len(json_at(object, "metadata", "finalizers")) > 0)
        return;
    if (object_write(s, a, &kind_namespace, ns, object, WRITE_DELETE, NULL, NULL, NULL, err) < 0)
        return; /* the next sweep retries */
}

static void sweep(void *arg)
{
    struct server *s = arg;
    struct arena a = ARENA_INIT(SWEEP_MEMORY_BYTES);
    struct store_collection *c = server_collection(s, &kind_namespace);
    struct names n = list_names(c, &a, NULL, true);
    auto_err err = ERR_INIT;

    s->namespace_timer = NULL;
    for (size_t i = 0; i < n.count && n.text[i]; i++)
        if (empty_namespace(s, &a, n.text[i], &err))
            end_namespace(s, &a, n.text[i], &err);
    if (err_is_set(&err))
        log_warn("emptying a namespace: %s", err.text);
    arena_release(&a);
    if (n.count == 0)
        return;
    s->namespace_delay_ms = min_i64(s->namespace_delay_ms * 2, SLOWEST_SWEEP_MS);
    s->namespace_timer = clock_start(s->clock, s->namespace_delay_ms, sweep, s);
}

static void sweep_after_commit(void *arg, bool reached)
{
    struct server *s = arg;

    (void)reached;
    s->namespace_delay_ms = FIRST_SWEEP_MS;
    if (!s->namespace_timer)
        s->namespace_timer = clock_start(s->clock, 0, sweep, s);
}

void namespaces_sweep_soon(struct server *s)
{
    struct store_collection *c = server_collection(s, &kind_namespace);
    int64_t last = store_next_revision(s->store) - 1;

    if (wait_for_revision(s, c, last, SLOWEST_SWEEP_MS, sweep_after_commit, s) < 0)
        sweep_after_commit(s, false);
}
