/*
 * patch.c - PATCH of one object, or of its status: JSON patch, merge patch and, for built-in kinds,
 * strategic merge patch. How they work is in api/objects/patch*.c; what the result must satisfy is
 * in change.c. Server-side apply uses the same method but its own code (apply_patch.c).
 */
#include "api/patch.h"

#include <string.h>
#include <strings.h>

#include "api/managed.h"
#include "server/internal.h"

#define CHECK_MEMORY_BYTES (64u * 1024u * 1024u) /* as a request may use */

static bool type_is(const struct server_request *r, const char *type)
{
    const char *given = r->content_type ? r->content_type : "";
    size_t len = strcspn(given, "; \t");

    return len == strlen(type) && strncasecmp(given, type, len) == 0;
}

/* --- unknown fields ------------------------------------------------------------------------- */

/* Looked for in what the patch sets: fields the object already has are not its fault. Values of the
 * wrong type are reported for the whole result, which has a name. members, which changes, has
 * memory of its own: a large object fits the request's only a few times. */
static int check_members(struct server_request *r, struct arena *own, struct json *members,
                         enum field_validation mode, struct err *err)
{
    auto_err found = ERR_INIT;
    int rc = 0;

    if (!members || arena_failed(own)) {
        rc = out_of_memory(err);
    } else if (object_decode(own, r->route.kind, members, mode, request_warn, r, &found) < 0 &&
               found.reason != ERR_INVALID) {
        err_move(err, &found);
        rc = err_errno(err->reason);
    }
    arena_release(own);
    return rc;
}

/* --- patch types ---------------------------------------------------------------------------- */

static struct json *run_merge(struct server_request *r, const struct json *old, struct json *patch,
                              enum field_validation mode, struct err *err)
{
    struct arena own = ARENA_INIT(CHECK_MEMORY_BYTES);

    if (!json_is(patch, JSON_OBJECT)) {
        err_set(err, ERR_BAD_REQUEST, "a merge patch must be an object");
        return NULL;
    }
    object_rename_aliases(r->route.kind, patch);
    if (mode != FIELD_VALIDATION_IGNORE &&
        check_members(r, &own, json_clone(&own, patch), mode, err) < 0)
        return NULL;
    return patch_merge(r->arena, old, patch);
}

static struct json *run_strategic(struct server_request *r, const struct json *old,
                                  struct json *patch, enum field_validation mode, struct err *err)
{
    struct json *next = patch_strategic(r->arena, r->route.kind, old, patch, err);
    struct arena own = ARENA_INIT(CHECK_MEMORY_BYTES);

    if (next && mode != FIELD_VALIDATION_IGNORE &&
        check_members(r, &own, patch_strategic_members(&own, patch), mode, err) < 0)
        return NULL;
    return next;
}

static bool is_decodable(const struct kind *k, const struct json *object)
{
    struct arena own = ARENA_INIT(CHECK_MEMORY_BYTES);
    struct json *copy = json_clone(&own, object);
    bool good = copy &&
                object_decode(&own, k, copy, FIELD_VALIDATION_STRICT, NULL, NULL, NULL) == 0;

    arena_release(&own);
    return good;
}

/* Its operations contain no object to check: the whole result is checked, unless the old one
 * already had unknown fields. */
static struct json *run_json(struct server_request *r, const struct json *old, struct json *patch,
                             enum field_validation mode, struct err *err)
{
    struct json *next = patch_json(r->arena, old, patch, err);
    struct arena own = ARENA_INIT(CHECK_MEMORY_BYTES);

    if (!next || mode == FIELD_VALIDATION_IGNORE || !is_decodable(r->route.kind, old))
        return next;
    return check_members(r, &own, json_clone(&own, next), mode, err) < 0 ? NULL : next;
}

static const struct patch_type {
    const char *media;
    bool builtin_only; /* custom kinds have no merge keys known to clients */
    struct json *(*run)(struct server_request *r, const struct json *old, struct json *patch,
                        enum field_validation mode, struct err *err); /* NULL: apply_patch.c */
} types[] = {
    {"application/json-patch+json", false, run_json},
    {"application/merge-patch+json", false, run_merge},
    {"application/strategic-merge-patch+json", true, run_strategic},
    {"application/apply-patch+yaml", false, NULL},
};

static const struct patch_type *find_type(const struct server_request *r, struct err *err)
{
    struct buf known = BUF_INIT(1024);

    for (size_t i = 0; i < ELEMS(types); i++) {
        if (types[i].builtin_only && r->route.kind->custom)
            continue;
        if (type_is(r, types[i].media)) {
            buf_release(&known);
            return &types[i];
        }
        buf_addf(&known, "%s%s", known.len ? ", " : "", types[i].media);
    }
    err_set(err, ERR_UNSUPPORTED_MEDIA,
            "the body of the request was in an unknown format - accepted media types include: %s",
            known.failed ? "" : known.data);
    buf_release(&known);
    return NULL;
}

/* The list of managedFields is built only if the patch may refer to it. */
static struct json *run_patch(struct server_request *r, const struct patch_type *type,
                              struct json *old, struct json *patch, enum field_validation mode,
                              struct err *err)
{
    static const char name[] = "managedFields";
    struct json *meta = json_get_mut(old, "metadata"), *managers = json_get_mut(meta, name), *next;

    if (memmem(r->body, r->body_len, name, sizeof(name) - 1))
        managed_show(r->arena, r->route.kind, old);
    else
        managed_clear(old);
    next = type->run(r, old, patch, mode, err);
    if (managers)
        json_set(r->arena, meta, name, managers);
    return next;
}

int verb_patch(struct server_request *r, struct err *err)
{
    const struct patch_type *type = find_type(r, err);
    const struct store_item *item;
    enum field_validation mode;
    struct json *patch, *old, *next;
    const char *key;
    int rc;

    if (!type)
        return -1;
    rc = field_validation(r, &mode, err);
    if (rc < 0)
        return rc;
    if (!type->run)
        return apply_patch(r, mode, err);
    if (query_get(r, "force"))
        return option_invalid(r, "FieldValueForbidden", "force",
                              "Forbidden: may not be specified for non-apply patch", err);
    patch = patch_parse(r->arena, r->content_type, r->body, r->body_len, request_warn, r, err);
    if (!patch)
        return -1;
    old = request_load(r, &key, &item, err);
    if (!old)
        return -1;
    next = run_patch(r, type, old, patch, mode, err);
    if (!next)
        return err_is_set(err) ? -1 : out_of_memory(err);
    rc = object_decode(r->arena, r->route.kind, next, FIELD_VALIDATION_IGNORE, NULL, NULL, err);
    if (rc == 0)
        rc = body_matches_path(r, next, err);
    return rc < 0 ? rc : change_object(r, key, item, old, next, 200, NULL, err);
}
