/* create.c - POST to a collection. */
#include <string.h>

#include "api/managed.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "core/job.h"
#include "loop/random.h"
#include "server/internal.h"
#include "server/machine_access.h"
#include "server/rbac.h"
#include "server/signing.h"

/* Members only the server may set. */
static const char *const server_owned[] = {"selfLink", "managedFields", "deletionTimestamp",
                                           "deletionGracePeriodSeconds", "resourceVersion"};

static void make_name(struct server_request *r, struct json *meta)
{
    const char *prefix = json_get_string(meta, "generateName", "");

    if (*json_get_string(meta, "name", "") || !*prefix)
        return;
    if (!*r->suffix)
        random_suffix(r->suffix);
    json_set_stringf(r->arena, meta, "name", "%s%s", prefix, r->suffix);
}

static void stamp(struct server_request *r, struct json *object)
{
    struct json *meta = json_make_object(r->arena, object, "metadata");
    char now[TIME_TEXT_SIZE];

    for (size_t i = 0; i < ELEMS(server_owned); i++)
        json_remove(meta, server_owned[i]);
    json_remove(meta, "generation");
    make_name(r, meta);
    if (r->route.kind->namespaced)
        json_set_string(r->arena, meta, "namespace", r->route.ns);
    if (!*r->uid)
        random_uid(r->uid);
    json_set_string(r->arena, meta, "uid", r->uid);
    json_set_string(r->arena, meta, "creationTimestamp", time_format(request_now_ms(r), now));
    if (r->route.kind->custom || r->route.kind->has_generation)
        json_set_int(r->arena, meta, "generation", 1);
}

/* What the server adds by itself. */
static int complete(struct server_request *r, struct json *object, struct err *err)
{
    int rc;

    kind_hooks_prepare_create(r->arena, r->route.kind, object);
    stamp(r, object);
    rc = limit_range_apply(r, object, err);
    if (rc == 0)
        rc = priority_apply(r, object, err);
    if (rc == 0)
        object_set_defaults(r->arena, r->route.kind, object);
    return rc;
}

/* *ret becomes another object if a webhook changes it. */
static int prepare(struct server_request *r, struct json **ret, struct json *managed, bool dry_run,
                   struct err *err)
{
    const struct kind *k = r->route.kind;
    struct json *object = *ret;
    int rc = body_matches_path(r, object, err);

    if (rc == 0 && *object_resource_version(object))
        rc = err_set(err, ERR_BAD_REQUEST,
                     "resourceVersion should not be set on objects to be created");
    if (rc == 0)
        rc = complete(r, object, err);
    if (rc == 0)
        rc = webhooks_mutate(r, "CREATE", NULL, ret, dry_run, err);
    if (rc == 0 && *ret != object) {
        object = *ret;
        rc = body_matches_path(r, object, err);
        if (rc == 0)
            rc = complete(r, object, err);
    }
    if (rc < 0)
        return rc;
    if (k == &kind_certificate_request)
        rc = signing_create(r, object, err);
    if (rc < 0)
        return rc;
    if (k == &kind_crd)
        definition_prepare(r, object);
    if (arena_failed(r->arena))
        return out_of_memory(err);
    rc = object_validate(k, object, NULL, err);
    if (rc == 0)
        room_ask_for_node(r, object);
    if (rc == 0 && k->warn)
        k->warn(object, request_warn, r);
    if (rc == 0 && !managed)
        update_managed(r, NULL, object);
    else if (rc == 0 && !managed_take(r->arena, k, object, managed))
        rc = out_of_memory(err);
    return rc;
}

/* Preconditions on the kind itself. */
static int check_kind(struct server_request *r, const struct json *object, struct err *err)
{
    const struct kind *k = r->route.kind;

    if (k->ending)
        return err_set(err, ERR_METHOD_NOT_ALLOWED,
                       "create not allowed while custom resource definition is terminating");
    if (k != &kind_crd)
        return 0;
    if (crd_builtin(r->server, r->arena, object_name(object))) {
        r->route.name = object_name(object);
        return err_set(err, ERR_ALREADY_EXISTS, "%s \"%s\" already exists",
                       resource_name(r->arena, k), object_name(object));
    }
    return definition_check_room(r->server, err);
}

static int check_absent(struct server_request *r, const char *key, const char *name,
                        struct err *err)
{
    const struct kind *k = r->route.kind;

    if (!store_head(server_collection(r->server, k), key))
        return damage_check_create(r, key, name, err);
    return err_set(err, ERR_ALREADY_EXISTS, "%s \"%s\" already exists", resource_name(r->arena, k),
                   name);
}

/* Without parsing it completely, which a job of many replicas would pay for with each pod. */
static bool is_there(struct arena *a, const struct blob *b, const char *uid)
{
    static const char mark[] = "\"deletionTimestamp\":";

    if (!memmem(b->data, b->len, uid, strlen(uid)))
        return false;
    return !memmem(b->data, b->len, mark, strlen(mark)) ||
           !object_is_deleting(blob_parse(a, b, NULL));
}

/* A client that deleted a job has already waited for its pods: one that a controller created at the
 * same moment would run until the garbage collector finds it. */
static int check_owner(struct server_request *r, const struct json *pod, struct err *err)
{
    const struct json *owner = r->route.kind == &kind_pod ? object_controller(pod) : NULL;
    const struct kind *k = owner ? kind_of_object(owner) : NULL;
    const char *name = json_get_string(owner, "name", ""), *key;
    const struct store_item *item;

    if (!k || (!job_is_kind(k) && !batch_is_kind(k)))
        return 0;
    key = object_key(r->arena, k, r->route.ns, name);
    item = key ? store_head(server_collection(r->server, k), key) : NULL;
    if (item && is_there(r->arena, item->value, json_get_string(owner, "uid", "")))
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "pods \"%s\" is not created: its controller, %s \"%s\", is gone",
                   object_name(pod), k->name, name);
}

int create_object(struct server_request *r, struct json *object, struct json *managed,
                  struct err *err)
{
    const char *key;
    bool dry_run;
    int rc = query_dry_run(r, &dry_run, err);

    if (rc == 0)
        rc = namespace_check(r, object_name(object), err);
    if (rc == 0)
        rc = check_kind(r, object, err);
    if (rc < 0)
        return rc;
    rc = prepare(r, &object, managed, dry_run, err);
    key = object_key(r->arena, r->route.kind, r->route.ns, object_name(object));
    if (rc == 0 && !key)
        return out_of_memory(err);
    if (rc == 0)
        rc = check_absent(r, key, object_name(object), err);
    if (rc == 0)
        rc = check_owner(r, object, err);
    if (rc == 0)
        rc = machine_access_check(r, NULL, object, dry_run, err);
    if (rc == 0)
        rc = removal_check_later(r, NULL, object, err);
    if (rc == 0)
        rc = rbac_check_grant(r, NULL, object, err);
    if (rc == 0)
        rc = admission_check(r, "CREATE", NULL, object, dry_run, err);
    if (rc == 0)
        rc = group_owner_check(r, NULL, object, err);
    if (rc == 0)
        rc = queue_check(r, object, err);
    if (rc == 0)
        rc = room_check_new_group(r, object, err);
    if (rc == 0)
        rc = room_check_pod(r, NULL, object, err);
    if (rc == 0)
        rc = service_give_address(r, object, dry_run, err);
    if (rc == 0)
        rc = quota_check(r, object, key, dry_run, err);
    if (rc == 0)
        rc = request_write(r, key, object, WRITE_PUT, 201, NULL, dry_run, err);
    if (rc == 0 && !dry_run && r->route.kind == &kind_namespace &&
        namespace_make_account(r->server, key, NULL) < 0)
        log_warn("namespace %s has no default service account: out of memory", key);
    if (rc < 0 && *object_name(object))
        r->route.name = object_name(object); /* for the Status' details */
    return rc;
}

int verb_create(struct server_request *r, struct err *err)
{
    struct json *object = body_object(r, err);

    return object ? create_object(r, object, NULL, err) : -1;
}
