/* get.c - GET of one object: the stored bytes, or a table of one row. */
#include "server/internal.h"
#include "server/shape.h"

/* The definition of a built-in kind is not in the store. */
static int get_builtin(struct server_request *r, const char *key, struct shape *shape,
                       struct err *err)
{
    const struct kind *k = r->route.kind;
    struct json *crd = k == &kind_crd ? crd_builtin(r->server, r->arena, r->route.name) : NULL;
    struct buf b = BUF_INIT(OBJECT_LIMIT_BYTES * 2);
    int rc;

    if (!crd)
        return object_missing(r->server, k, key, r->route.name, err);
    rc = arena_failed(r->arena) ? out_of_memory(err) : shape_event(shape, NULL, crd, true, &b, err);
    if (rc == 0)
        reply_shaped(r, shape, &b);
    buf_release(&b);
    return rc;
}

static void reply_stored(struct server_request *r, struct blob *stored)
{
    struct blob *shown = stored_shown(r, stored);

    reply_blob(r, 200, shown);
    blob_unref(shown);
}

int verb_get(struct server_request *r, struct err *err)
{
    const struct kind *k = r->route.kind;
    const char *key = object_key(r->arena, k, r->route.ns, r->route.name);
    const struct store_item *item = key ? store_get(server_collection(r->server, k), key) : NULL;
    struct buf b = BUF_INIT(OBJECT_LIMIT_BYTES * 2);
    struct shape shape;
    int rc = shape_init(&shape, r, err);

    if (rc < 0)
        return rc;
    if (!key)
        rc = out_of_memory(err);
    else if (!item)
        rc = get_builtin(r, key, &shape, err);
    else if (shape_copies(&shape))
        reply_stored(r, item->value);
    else if ((rc = shape_single(&shape, item->value, &b, err)) == 0)
        reply_shaped(r, &shape, &b);
    buf_release(&b);
    shape_release(&shape);
    return rc;
}
