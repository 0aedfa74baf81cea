/* delete.c - DELETE of one object, or of a collection's selected objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/internal.h"
#include "server/list.h"

/* Jobs that name no queue use this one. */
static bool is_default_queue(const struct kind *k, const char *name)
{
    return k == &kind_queue && strcmp(name, DEFAULT_QUEUE) == 0;
}

static int check_protected(const struct server_request *r, struct err *err)
{
    const struct kind *k = r->route.kind;

    if (is_default_queue(k, r->route.name))
        return err_set(err, ERR_FORBIDDEN,
                       "queues.%s \"%s\" is forbidden: this queue may not be deleted, jobs that "
                       "name none are in it: close it instead (muster queue close %s)",
                       k->group, r->route.name, r->route.name);
    if (k != &kind_namespace || !namespace_is_protected(r->route.name))
        return 0;
    return err_set(err, ERR_FORBIDDEN,
                   "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                   r->route.name);
}

int delete_one(struct server_request *r, const struct removal *removal, bool dry_run, int code,
               struct json *instead, struct err *err)
{
    const struct kind *k = r->route.kind;
    const struct store_item *item;
    enum removal_result result;
    const char *key;
    struct json *object = request_load(r, &key, &item, err);
    int rc;

    if (!object)
        return -1;
    rc = admission_check(r, "DELETE", object, NULL, dry_run, err);
    if (rc == 0)
        rc = group_owner_check_delete(r, object, err);
    if (rc == 0)
        rc = removal_plan(r->arena, k, object, removal, clock_now_ms(r->server->clock), &result,
                          err);
    if (rc < 0)
        return rc;
    if (result == REMOVAL_NONE && !instead)
        return request_unchanged(r, item, err);
    if (result == REMOVAL_NONE) {
        reply_json(r, code, instead);
        return 0;
    }
    if (result == REMOVAL_DELETE && !instead && !kind_hooks_show_deleted(k))
        instead = success_status(r, object_uid(object));
    rc = request_write(r, key, object, result == REMOVAL_DELETE ? WRITE_DELETE : WRITE_PUT, code,
                       instead, dry_run, err);
    if (rc == 0 && k == &kind_namespace)
        namespaces_sweep_soon(r->server);
    return rc;
}

int verb_delete(struct server_request *r, struct err *err)
{
    struct removal removal;
    bool dry_run;
    int rc = removal_options(r, &removal, &dry_run, err);

    if (rc == 0)
        rc = check_protected(r, err);
    if (rc == 0 && damaged_is_deleted(r, dry_run, &rc, err))
        return rc;
    return rc < 0 ? rc : delete_one(r, &removal, dry_run, 200, NULL, err);
}

#define ASKED_AT_ONCE 16u

/* --- collections ----------------------------------------------------------------------- */

struct sweep {
    struct server_request *request;
    struct selection selection;
    struct arena scratch;
    const char **keys;
    size_t count, next;
};

static bool take_key(void *arg, const struct store_item *item)
{
    struct sweep *s = arg;
    struct json *object;

    arena_reset(&s->scratch);
    object = blob_parse(&s->scratch, item->value, NULL);
    if (object && !is_default_queue(s->request->route.kind, object_name(object)) &&
        selection_matches(&s->selection, object))
        s->keys[s->count++] = arena_strdup(s->request->arena, item->key);
    return !arena_failed(s->request->arena);
}

static int check_one(const struct sweep *s, const char *key, struct err *err)
{
    struct server_request *r = s->request;
    struct arena_mark begin = arena_mark(r->arena);
    const struct store_item *item = store_head(server_collection(r->server, r->route.kind), key);
    const struct json *object = item
                                    ? stored_parse(r->arena, r->route.kind, item->value, true, NULL)
                                    : NULL;
    int rc = object ? admission_check(r, "DELETE", object, NULL, false, err) : 0;

    if (object && rc == 0)
        rc = group_owner_check_delete(r, object, err);
    if (arena_failed(r->arena) && !err_is_set(err))
        rc = out_of_memory(err);
    arena_rewind(r->arena, &begin); /* many large objects are more than a request may use */
    return rc;
}

/* Before any of them is deleted: webhooks are asked about several at a time. */
static int check_keys(const struct sweep *s, struct err *err)
{
    size_t waiting = 0;

    for (size_t i = 0; i < s->count && waiting < ASKED_AT_ONCE; i++) {
        int rc = check_one(s, s->keys[i], err);

        if (rc < 0 && err_is_set(err))
            return rc;
        waiting += rc < 0;
    }
    return waiting ? -EINPROGRESS : 0;
}

static int sweep_keys(struct sweep *s, const struct removal *removal, struct err *err)
{
    struct server_request *r = s->request;
    int rc = check_keys(s, err);

    for (size_t i = 0; i < s->count && rc == 0; i++) {
        bool gone;

        rc = removal_sweep(r->server, r->route.kind, s->keys[i], removal, &gone, err);
    }
    return rc;
}

static void collection_deleted(void *arg, bool reached)
{
    struct server_request *r = arg;
    auto_err err = ERR_INIT;

    if (reached) {
        reply_json(r, 200, success_status(r, NULL));
        return;
    }
    err_set(&err, ERR_TIMEOUT, "the deletion did not finish in time");
    reply_err(r, &err);
}

#define COLLECTION_WAIT_MS 30000

/* Answers when the last of the writes is on disk. */
static int answer_collection(struct server_request *r, int64_t before, struct err *err)
{
    int64_t last = store_next_revision(r->server->store) - 1;

    if (last == before) {
        collection_deleted(r, true);
        return 0;
    }
    return wait_for_revision(r->server, server_collection(r->server, r->route.kind), last,
                             COLLECTION_WAIT_MS, collection_deleted, r) < 0
               ? out_of_memory(err)
               : 0;
}

int verb_delete_collection(struct server_request *r, struct err *err)
{
    struct store_collection *c = server_collection(r->server, r->route.kind);
    struct sweep s = {.request = r, .scratch = ARENA_INIT(OBJECT_LIMIT_BYTES * 16)};
    int64_t before = store_next_revision(r->server->store) - 1;
    struct removal removal;
    bool dry_run;
    int rc = removal_options(r, &removal, &dry_run, err);

    if (rc == 0 && (!r->route.kind->namespaced || !*r->route.ns))
        rc = err_set(err, ERR_METHOD_NOT_ALLOWED,
                     "the server does not allow this method on the requested resource");
    if (rc == 0)
        rc = selection_init(&s.selection, r, r->arena, err);
    if (rc < 0)
        return rc;
    s.keys = arena_alloc(r->arena, (store_count(c) + 1) * sizeof(*s.keys));
    if (s.keys)
        store_list(c, s.selection.prefix, NULL, take_key, &s);
    arena_release(&s.scratch);
    if (arena_failed(r->arena))
        return out_of_memory(err);
    if (!dry_run)
        rc = sweep_keys(&s, &removal, err);
    return rc < 0 ? rc : answer_collection(r, before, err);
}
