/*
 * damage.c - objects whose stored state is corrupt (store.h). They are answered with an explanation
 * instead of "not found", so that they are not taken for deleted: above all by the garbage
 * collector, which looks for an owner before it deletes dependents. Deleting or recreating the
 * object ends that.
 */
#include <inttypes.h>

#include "server/caller.h"
#include "server/internal.h"

#define LIST_LIMIT_BYTES (1024u * 1024u)

int object_missing(struct server *s, const struct kind *k, const char *key, const char *name,
                   struct err *err)
{
    int64_t revision = key ? store_damaged(server_collection(s, k), key) : 0;
    int rc;

    if (!revision)
        return not_found(err, k, name);
    rc = err_set(err, ERR_INTERNAL,
                 "%s \"%s\" is damaged in the database (revision %" PRId64
                 "), and how it was is not known",
                 k->plural, name, revision);
    err_hint(err, "delete it or create it again, or restore muster.db from a backup");
    return rc;
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
    const char *key = object_key(r->arena, r->route.kind, r->route.ns, r->route.name);

    if (!key || store_head(server_collection(r->server, r->route.kind), key) ||
        !store_damaged(server_collection(r->server, r->route.kind), key))
        return false;
    *ret = request_write(r, key, remains(r), WRITE_DELETE, 200, success_status(r, NULL), dry_run,
                         err);
    return true;
}

static void list_one(void *arg, const struct store_damage *d)
{
    buf_addf(arg, "damaged: %s %s at revision %" PRId64 "\n", d->collection, d->key, d->revision);
}

/* GET /readyz/storage. Object names are not public. */
int verb_storage(struct server_request *r, struct err *err)
{
    struct store *s = r->server->store;
    struct buf b = BUF_INIT(LIST_LIMIT_BYTES);

    if (!caller_may_everything(r->caller))
        return err_set(err, ERR_FORBIDDEN, "only the owner may see this");
    store_each_damage(s, list_one, &b);
    if (b.len == 0)
        buf_adds(&b, "ok");
    reply_buf(r, store_damage_count(s) ? 500 : 200, "text/plain; charset=utf-8", &b);
    return 0;
}
