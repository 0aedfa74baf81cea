/* update.c - PUT of one object, or of its status. */
#include "server/internal.h"

static int check_has_version(struct server_request *r, const struct json *object, struct err *err)
{
    const struct kind *k = r->route.kind;

    if (!k->custom || *object_resource_version(object))
        return 0;
    err_set(err, ERR_INVALID,
            "%s \"%s\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified "
            "for an update",
            resource_name(r->arena, k), r->route.name);
    err_cause(err, "FieldValueInvalid", "metadata.resourceVersion", 0,
              "Invalid value: 0: must be specified for an update");
    return err_errno(ERR_INVALID);
}

int verb_update(struct server_request *r, struct err *err)
{
    const struct store_item *item;
    struct json *next, *old;
    const char *key;
    int rc;

    next = body_object(r, err);
    if (!next)
        return -1;
    if (!*object_name(next))
        return err_set(err, ERR_BAD_REQUEST,
                       "the name of the object (%s based on URL) was undeterminable: name must be "
                       "provided",
                       r->route.name);
    rc = body_matches_path(r, next, err);
    if (rc < 0)
        return rc;
    old = request_load(r, &key, &item, err);
    if (!old)
        return -1;
    rc = check_has_version(r, next, err);
    return rc < 0 ? rc : change_object(r, key, item, old, next, 200, NULL, err);
}
