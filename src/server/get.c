/* get.c - GET of one object: the stored bytes, or a table of one row. */
#include "server/internal.h"
#include "server/shape.h"

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
        rc = not_found(err, k, r->route.name);
    else if (shape.format == FORMAT_PLAIN)
        reply_blob(r, 200, item->value);
    else if ((rc = shape_single(&shape, item->value, &b, err)) == 0)
        reply_buf(r, 200, JSON_TYPE, &b);
    buf_release(&b);
    shape_release(&shape);
    return rc;
}
