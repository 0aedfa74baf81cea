/*
 * scale.c - /scale of installed kinds: the replica count, wherever the kind has it, as an
 * autoscaling/v1 Scale. Writing it is an ordinary change of the object.
 */
#include <inttypes.h>
#include <string.h>

#include "api/json_path.h"
#include "api/patch.h"
#include "server/internal.h"
#include "server/list.h"

#define PATH_PART_LIMIT 253u

static struct json *scale_of(struct server_request *r, const struct json *object, int64_t revision)
{
    static const char *const copied[] = {"name", "namespace", "uid", "creationTimestamp"};
    const struct kind_scale *at = r->route.kind->scale;
    struct arena *a = r->arena;
    struct json *scale = json_new_object(a), *meta, *status;
    const char *selector = *at->selector_path
                               ? json_string(json_path_first(object, at->selector_path), "")
                               : "";

    json_set_string(a, scale, "kind", "Scale");
    json_set_string(a, scale, "apiVersion", "autoscaling/v1");
    meta = json_make_object(a, scale, "metadata");
    for (size_t i = 0; i < ELEMS(copied); i++) {
        const struct json *m = json_at(object, "metadata", copied[i]);

        if (m)
            json_set(a, meta, copied[i], json_clone(a, m));
    }
    json_set_stringf(a, meta, "resourceVersion", "%" PRId64, revision);
    json_set_int(a, json_make_object(a, scale, "spec"), "replicas",
                 json_int(json_path_first(object, at->spec_path), 0));
    status = json_make_object(a, scale, "status");
    json_set_int(a, status, "replicas", json_int(json_path_first(object, at->status_path), 0));
    if (*selector)
        json_set_string(a, status, "selector", selector);
    return scale;
}

/* .spec.replicas: member names only, as required in definitions. */
static void set_at(struct arena *a, struct json *object, const char *path, int64_t n)
{
    while (*path == '.') {
        size_t len = strcspn(++path, ".");
        char name[PATH_PART_LIMIT + 1];

        if (!len || len > PATH_PART_LIMIT)
            return;
        memcpy(name, path, len);
        name[len] = '\0';
        path += len;
        if (*path)
            object = json_make_object(a, object, name);
        else
            json_set_int(a, object, name, n);
    }
}

static int64_t revision_of(const struct json *object)
{
    int64_t n;

    return revision_parse(object_resource_version(object), &n, NULL) < 0 ? 0 : n;
}

int verb_get_scale(struct server_request *r, struct err *err)
{
    const struct store_item *item;
    const char *key;
    struct json *object = request_load(r, &key, &item, err);

    if (!object)
        return -1;
    reply_json(r, 200, scale_of(r, object, revision_of(object)));
    return 0;
}

static struct json *read_scale(struct server_request *r, const struct json *old, struct err *err)
{
    struct json *given;

    if (strcmp(r->method, "PUT") == 0)
        return object_parse(r->arena, &kind_scale, r->content_type, r->body, r->body_len, NULL,
                            NULL, err);
    given = patch_parse(r->arena, r->content_type, r->body, r->body_len, NULL, NULL, err);
    if (!given)
        return NULL;
    return json_is(given, JSON_ARRAY) ? patch_json(r->arena, old, given, err)
                                      : patch_merge(r->arena, old, given);
}

int verb_set_scale(struct server_request *r, struct err *err)
{
    const struct store_item *item;
    const char *key, *version;
    struct json *old = request_load(r, &key, &item, err), *next, *scale;
    const struct json *wanted;

    if (!old)
        return -1;
    scale = read_scale(r, scale_of(r, old, revision_of(old)), err);
    if (!scale)
        return err_is_set(err) ? -1 : out_of_memory(err);
    wanted = json_at(scale, "spec", "replicas");
    if (!json_is(wanted, JSON_INT) || json_int(wanted, 0) < 0)
        return err_set(err, ERR_INVALID,
                       "Scale.autoscaling \"%s\" is invalid: spec.replicas: must be a whole "
                       "number, 0 or more",
                       r->route.name);
    next = json_clone(r->arena, old);
    version = json_string(json_at(scale, "metadata", "resourceVersion"), "");
    if (next && *version)
        json_set_string(r->arena, json_make_object(r->arena, next, "metadata"), "resourceVersion",
                        version);
    set_at(r->arena, next, r->route.kind->scale->spec_path, json_int(wanted, 0));
    if (arena_failed(r->arena))
        return out_of_memory(err);
    r->route.subresource = "";
    return change_object(r, key, item, old, next, 200,
                         scale_of(r, next, store_next_revision(r->server->store)), err);
}
