/*
 * patch.c - PATCH of one object, or of its status: RFC 7386 merge patches. A strategic merge patch
 * is the same thing as long as it says nothing about lists of objects, and then it is taken as one.
 */
#include <string.h>
#include <strings.h>

#include "api/patch.h"
#include "server/internal.h"

static bool type_is(const struct server_request *r, const char *type)
{
    const char *given = r->content_type ? r->content_type : "";
    size_t len = strcspn(given, "; \t");

    return len == strlen(type) && strncasecmp(given, type, len) == 0;
}

/* What makes a strategic merge patch more than a merge patch: directives, and lists that are merged
 * by a key. */
static bool is_strategic(const struct json *v)
{
    json_each (m, v) {
        if (m->key && m->key[0] == '$')
            return true;
        if (json_is(v, JSON_ARRAY) && json_is(m, JSON_OBJECT))
            return true;
        if (is_strategic(m))
            return true;
    }
    return false;
}

static int refuse_type(const struct server_request *r, struct err *err)
{
    static const struct {
        const char *type, *says;
    } later[] = {
        {"application/json-patch+json", "JSON patches are not served yet; use a merge patch"},
        {"application/apply-patch+yaml",
         "server-side apply is not served yet; use apply without --server-side"},
    };

    for (size_t i = 0; i < ELEMS(later); i++)
        if (type_is(r, later[i].type))
            return err_set(err, ERR_UNSUPPORTED_MEDIA, "%s", later[i].says);
    return err_set(err, ERR_UNSUPPORTED_MEDIA,
                   "the body of the request was in an unknown format - accepted media types "
                   "include: application/json-patch+json, application/merge-patch+json, "
                   "application/apply-patch+yaml");
}

static struct json *parse_patch(struct server_request *r, struct err *err)
{
    bool strategic = type_is(r, "application/strategic-merge-patch+json");
    struct json *patch;

    if (!type_is(r, "application/merge-patch+json") && (!strategic || r->route.kind->custom)) {
        refuse_type(r, err);
        return NULL;
    }
    patch = object_parse(r->arena, r->content_type, r->body, r->body_len, request_warn, r, err);
    if (patch && !json_is(patch, JSON_OBJECT)) {
        err_set(err, ERR_BAD_REQUEST, "a merge patch must be an object");
        return NULL;
    }
    if (patch && strategic && is_strategic(patch)) {
        err_set(err, ERR_UNSUPPORTED_MEDIA,
                "a strategic merge patch of lists is not served yet; use a merge patch "
                "(application/merge-patch+json) with the whole list");
        return NULL;
    }
    return patch;
}

/* Unknown fields are looked for in the patch: those the object has already are not its fault. */
static int check_fields(struct server_request *r, const struct json *patch, struct err *err)
{
    enum field_validation mode;
    int rc = field_validation(r, &mode, err);
    struct json *copy;

    if (rc < 0 || mode == FIELD_VALIDATION_IGNORE)
        return rc;
    copy = json_clone(r->arena, patch);
    if (!copy)
        return out_of_memory(err);
    return object_decode(r->arena, r->route.kind, copy, mode, request_warn, r, err);
}

int verb_patch(struct server_request *r, struct err *err)
{
    struct json *patch = parse_patch(r, err), *old, *next;
    const struct store_item *item;
    const char *key;
    int rc;

    if (!patch)
        return -1;
    old = request_load(r, &key, &item, err);
    if (!old)
        return -1;
    object_rename_aliases(r->route.kind, patch);
    rc = check_fields(r, patch, err);
    if (rc < 0)
        return rc;
    next = patch_merge(r->arena, old, patch);
    if (!next)
        return out_of_memory(err);
    rc = object_decode(r->arena, r->route.kind, next, FIELD_VALIDATION_IGNORE, NULL, NULL, err);
    if (rc == 0)
        rc = body_matches_path(r, next, err);
    return rc < 0 ? rc : change_object(r, key, item, old, next, 200, NULL, err);
}
