/*
 * damage.c - objects whose stored state is corrupt (store.h). They are answered with an explanation
 * instead of "not found", so that they are not taken for deleted: above all by the garbage
 * collector, which looks for an owner before it deletes dependents, and by a node, which looks for
 * a pod before it stops its programs. The daemon's parts do not create them again either. The owner
 * ends that by deleting or recreating the object.
 *
 * While there is a corrupt row of an unknown object, every absent object that it may be is treated
 * the same way, until the owner gives that row up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "server/caller.h"
#include "server/internal.h"

#define STORAGE_PATH "/readyz/storage"
#define LIST_LIMIT_BYTES (1024u * 1024u)
#define ANNOUNCED_LIMIT 16
#define ANNOUNCE_MEMORY_BYTES (16u * 1024u * 1024u)

/* Reported again and again by what they are about. Withholding them would make a node look lost. */
static bool is_renewed(const struct kind *k)
{
    return k == &kind_event || k == &kind_lease || k == &kind_node;
}

int object_missing(struct server *s, const struct kind *k, const char *key, const char *name,
                   struct err *err)
{
    struct store_collection *c = server_collection(s, k);
    int64_t revision = key && !is_renewed(k) ? store_damaged(c, key) : 0;
    int64_t unknown = is_renewed(k) ? 0 : store_damage_unidentified(c);
    int rc;

    if (unknown) {
        rc = err_set(
            err, ERR_INTERNAL,
            "it is not known whether %s \"%s\" exists: an unknown object is damaged in the "
            "database (revision %" PRId64 ")",
            k->plural, name, unknown);
        err_hint(err,
                 "restore muster.db from a backup, or give up that object with kubectl delete "
                 "--raw " STORAGE_PATH "/%" PRId64,
                 unknown);
        return rc;
    }
    if (!revision)
        return not_found(err, k, name);
    rc = err_set(err, ERR_INTERNAL,
                 "%s \"%s\" is damaged in the database (revision %" PRId64
                 "), and its contents are lost",
                 k->plural, name, revision);
    err_hint(err, "delete it or create it again, or restore muster.db from a backup");
    return rc;
}

bool object_may_be_damaged(struct server *s, const struct kind *k, const char *key)
{
    struct store_collection *c = server_collection(s, k);

    return !is_renewed(k) && (store_damaged(c, key) || store_damage_unidentified(c));
}

bool object_is_absent(struct server *s, const struct kind *k, const char *key)
{
    return !store_head(server_collection(s, k), key) && !object_may_be_damaged(s, k, key);
}

int damage_check_create(struct server_request *r, const char *key, const char *name,
                        struct err *err)
{
    const struct kind *k = r->route.kind;
    struct store_collection *c = server_collection(r->server, k);
    bool knows = r->caller->kind != CALLER_COMPONENT &&
                 !(store_damaged(c, key) && store_damage_unidentified(c));

    return knows || !object_may_be_damaged(r->server, k, key)
               ? 0
               : object_missing(r->server, k, key, name, err);
}

/* What is still known about it. */
static struct json *remains(struct server_request *r)
{
    struct json *object = json_new_object(r->arena);
    struct json *meta = json_make_object(r->arena, object, "metadata");

    json_set_string(r->arena, object, "apiVersion", kind_api_version(r->arena, r->route.kind));
    json_set_string(r->arena, object, "kind", r->route.kind->name);
    json_set_string(r->arena, meta, "name", r->route.name);
    if (r->route.kind->namespaced)
        json_set_string(r->arena, meta, "namespace", r->route.ns);
    return object;
}

bool damaged_is_deleted(struct server_request *r, bool dry_run, int *ret, struct err *err)
{
    const struct kind *k = r->route.kind;
    const char *key = object_key(r->arena, k, r->route.ns, r->route.name);
    struct store_collection *c = server_collection(r->server, k);

    if (!key || store_head(c, key) || !store_damaged(c, key))
        return false;
    *ret = store_damage_unidentified(c) ? object_missing(r->server, k, key, r->route.name, err)
                                        : request_write(r, key, remains(r), WRITE_DELETE, 200,
                                                        success_status(r, NULL), dry_run, err);
    return true;
}

static void list_one(void *arg, const struct store_damage *d)
{
    if (d->key)
        buf_addf(arg, "damaged: %s %s at revision %" PRId64 "\n", d->collection, d->key,
                 d->revision);
    else
        buf_addf(arg,
                 "damaged: an unknown object%s%s at revision %" PRId64
                 ": nothing that may have belonged to it is deleted until muster.db is restored "
                 "from a backup, or kubectl delete --raw " STORAGE_PATH "/%" PRId64
                 " gives it up\n",
                 d->collection ? " of " : "", d->collection ? d->collection : "", d->revision,
                 d->revision);
}

static int storage_get(struct server_request *r)
{
    struct store *s = r->server->store;
    struct buf b = BUF_INIT(LIST_LIMIT_BYTES);

    store_each_damage(s, list_one, &b);
    if (b.len == 0)
        buf_adds(&b, "ok");
    reply_buf(r, store_damage_count(s) ? 500 : 200, "text/plain; charset=utf-8", &b);
    return 0;
}

/* Standard objects that were withheld are created again. */
static void given_up(void *arg, const struct err *err)
{
    struct server_request *r = arg;
    auto_err problem = ERR_INIT;

    if (err) {
        reply_err(r, err);
        return;
    }
    if (namespaces_make(r->server, &problem) < 0)
        log_warn("standard objects: %s", problem.text);
    reply_json(r, 200, success_status(r, NULL));
}

static int storage_delete(struct server_request *r, const char *text, struct err *err)
{
    char *end;
    int64_t revision = strtoll(text, &end, 10);
    int rc = *text && !*end ? store_damage_forget(r->server->store, revision, given_up, r)
                            : -ENOENT;

    if (rc == -ENOENT)
        return err_set(err, ERR_NOT_FOUND,
                       "no damaged row has the revision \"%s\"; " STORAGE_PATH " lists them", text);
    return rc < 0 ? err_set(err, ERR_UNAVAILABLE, "cannot be written now") : 0;
}

/* GET /readyz/storage, DELETE /readyz/storage/REVISION. Object names are not public. */
int verb_storage(struct server_request *r, struct err *err)
{
    const char *below = strstr(r->path, STORAGE_PATH) + strlen(STORAGE_PATH);
    bool deletes = strcmp(r->method, "DELETE") == 0;

    below += strspn(below, "/");
    if (!caller_may_everything(r->caller))
        return err_set(err, ERR_FORBIDDEN, "only the owner may see this");
    if (deletes)
        return storage_delete(r, below, err);
    return *below ? err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource")
                  : storage_get(r);
}

/* --- saying so at the start --- */

struct announcement {
    struct server *server;
    struct arena arena;
    unsigned count;
};

static const struct kind *kind_in(const struct server *s, const char *collection)
{
    for (size_t i = 0; s->kinds[i] && collection; i++) {
        const struct kind *k = s->kinds[i];
        size_t len = strlen(k->group);

        if (strncmp(collection, k->group, len) == 0 && collection[len] == '/' &&
            strcmp(collection + len + 1, k->plural) == 0)
            return k;
    }
    return &kind_namespace;
}

static void announce_one(void *arg, const struct store_damage *d)
{
    struct announcement *n = arg;
    const struct kind *k = kind_in(n->server, d->key ? d->collection : NULL);
    struct json *event = json_new_object(&n->arena), *about;
    const char *slash = d->key && k->namespaced ? strchr(d->key, '/') : NULL;
    const char *ns = slash ? arena_strndup(&n->arena, d->key, (size_t)(slash - d->key)) : "default";
    struct buf text = BUF_INIT(LIST_LIMIT_BYTES);
    char now[TIME_TEXT_SIZE];
    auto_err err = ERR_INIT;

    if (n->count++ >= ANNOUNCED_LIMIT || !ns)
        return;
    list_one(&text, d);
    about = json_make_object(&n->arena, event, "involvedObject");
    json_set_string(&n->arena, about, "apiVersion", kind_api_version(&n->arena, k));
    json_set_string(&n->arena, about, "kind", k->name);
    json_set_string(&n->arena, about, "namespace", slash ? ns : "");
    json_set_string(&n->arena, about, "name", slash ? slash + 1 : d->key ? d->key : "default");
    json_set_string(&n->arena, event, "type", "Warning");
    json_set_string(&n->arena, event, "reason", "StorageDamaged");
    json_set_stringf(&n->arena, event, "message", "%.*s", (int)(text.len ? text.len - 1 : 0),
                     text.data);
    (void)time_format(clock_now_ms(n->server->clock), now);
    json_set_string(&n->arena, event, "firstTimestamp", now);
    json_set_string(&n->arena, event, "lastTimestamp", now);
    json_set_int(&n->arena, event, "count", 1);
    if (make_object(n->server, &n->arena, &kind_event, ns,
                    arena_printf(&n->arena, "storage-damaged.%" PRIx64, (uint64_t)d->revision),
                    event, &err) < 0)
        log_warn("the damage could not be reported by an event: %s", err.text);
    buf_release(&text);
}

void damage_announce(struct server *s)
{
    struct announcement n = {.server = s, .arena = ARENA_INIT(ANNOUNCE_MEMORY_BYTES)};

    store_each_damage(s->store, announce_one, &n);
    arena_release(&n.arena);
}
