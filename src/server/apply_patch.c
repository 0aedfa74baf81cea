/*
 * apply_patch.c - PATCH with application/apply-patch+yaml: server-side apply. A missing object is
 * created. The merging itself is in api/objects/apply_merge.c.
 */
#include "api/apply_merge.h"

#include <string.h>

#include "api/managed.h"
#include "server/rbac.h"

static int read_options(struct server_request *r, struct apply *ret, struct err *err)
{
    const char *manager = query_get(r, "fieldManager");

    if (!manager || !*manager)
        return option_invalid(r, "FieldValueRequired", "fieldManager",
                              "Required value: is required for apply patch", err);
    *ret = (struct apply){.kind = r->route.kind,
                          .manager = manager,
                          .api_version = kind_api_version(r->arena, r->route.kind),
                          .operation = "Apply",
                          .subresource = r->route.subresource,
                          .force = query_is_true(r, "force"),
                          .now_ms = request_now_ms(r)};
    return 0;
}

/* The applied object must state its type. */
static int check_type(struct server_request *r, const struct json *config, struct err *err)
{
    const char *version = json_get_string(config, "apiVersion", ""),
               *kind = json_get_string(config, "kind", "");
    const char *wanted = kind_api_version(r->arena, r->route.kind);

    if (!wanted)
        return out_of_memory(err);
    if (strcmp(version, wanted) == 0 && strcmp(kind, r->route.kind->name) == 0)
        return 0;
    return err_set(err, ERR_BAD_REQUEST, "invalid object type: %s%s, Kind=%s",
                   strchr(version, '/') ? "" : "/", version, kind);
}

static struct json *read_config(struct server_request *r, enum field_validation mode,
                                struct err *err)
{
    struct json *config = patch_parse(r->arena, r->content_type, r->body, r->body_len, request_warn,
                                      r, err);

    if (!config)
        return NULL;
    if (json_len(json_at(config, "metadata", "managedFields"))) {
        err_set(err, ERR_BAD_REQUEST, "metadata.managedFields must be nil");
        return NULL;
    }
    if (check_type(r, config, err) < 0 ||
        object_decode(r->arena, r->route.kind, config, mode, request_warn, r, err) < 0 ||
        body_matches_path(r, config, err) < 0)
        return NULL;
    json_set_string(r->arena, json_make_object(r->arena, config, "metadata"), "name",
                    r->route.name);
    return config;
}

static int apply_new(struct server_request *r, const struct apply *apply, const struct json *config,
                     struct err *err)
{
    struct json *next = NULL, *managed = NULL;
    int rc;

    if (*r->route.subresource)
        return not_found(err, r->route.kind, r->route.name);
    if (*object_uid(config))
        return err_set(err, ERR_CONFLICT,
                       "Operation cannot be fulfilled on %s \"%s\": uid mismatch: the provided "
                       "object specified uid %s, and no existing object was found",
                       resource_name(r->arena, r->route.kind), r->route.name, object_uid(config));
    rc = rbac_check_verb(r, "create", err);
    if (rc == 0)
        rc = apply_merge(r->arena, apply, NULL, config, &next, &managed, err);
    return rc < 0 ? rc : create_object(r, next, managed, err);
}

int apply_patch(struct server_request *r, enum field_validation mode, struct err *err)
{
    const struct kind *k = r->route.kind;
    const struct store_item *item;
    struct apply apply;
    struct json *config, *old, *next, *managed;
    const char *key;
    int rc = read_options(r, &apply, err);

    config = rc < 0 ? NULL : read_config(r, mode, err);
    if (!config)
        return -1;
    key = object_key(r->arena, k, r->route.ns, r->route.name);
    item = key ? store_head(server_collection(r->server, k), key) : NULL;
    if (!item)
        return key ? apply_new(r, &apply, config, err) : out_of_memory(err);
    old = stored_parse(r->arena, k, item->value, false, err);
    if (!old)
        return -1;
    rc = apply_merge(r->arena, &apply, old, config, &next, &managed, err);
    if (rc == 0) {
        managed_clear(next);
        rc = object_decode(r->arena, k, next, FIELD_VALIDATION_IGNORE, NULL, NULL, err);
    }
    return rc < 0 ? rc : change_managed(r, key, item, old, next, managed, 200, NULL, err);
}

/* Without fieldManager, the program's name. */
static const char *manager_of(struct server_request *r)
{
    const char *given = query_get(r, "fieldManager");
    const char *agent = r->agent;
    size_t len = agent ? strcspn(agent, "/ \t") : 0;

    if (given && *given)
        return given;
    return len && len <= MANAGER_LENGTH_LIMIT ? arena_strndup(r->arena, agent, len) : "unknown";
}

void update_managed(struct server_request *r, const struct json *old, struct json *next)
{
    const char *part = r->route.subresource;
    const struct apply update = {.kind = r->route.kind,
                                 .manager = strcmp(part, "binding") == 0 ? NULL : manager_of(r),
                                 .operation = "Update",
                                 .subresource = part,
                                 .now_ms = request_now_ms(r)};

    /* The owners of an object from before they were tracked are unknown. */
    if (!old || !managed_is_empty(old))
        managed_track(r->arena, &update, old, next);
    else
        managed_clear(next);
}
