/*
 * change.c - common to update, patch and binding: an old state, a new one, and the rules between
 * them. A change without effect is answered with the current object and writes nothing.
 */
#include <string.h>

#include "api/managed.h"
#include "server/internal.h"
#include "server/machine_access.h"
#include "server/rbac.h"
#include "server/signing.h"

static int conflict(struct server_request *r, const char *why, struct err *err)
{
    return err_set(err, ERR_CONFLICT, "Operation cannot be fulfilled on %s \"%s\": %s",
                   resource_name(r->arena, r->route.kind), r->route.name, why);
}

static int check_version(struct server_request *r, const struct json *old, const struct json *next,
                         struct err *err)
{
    const char *version = object_resource_version(next), *uid = object_uid(next);

    if (*uid && strcmp(uid, object_uid(old)) != 0)
        return conflict(r,
                        arena_printf(r->arena,
                                     "Precondition failed: UID in precondition: %s, UID in object "
                                     "meta: %s",
                                     uid, object_uid(old)),
                        err);
    if (*version && strcmp(version, "0") != 0 && /* "0" matches any */
        strcmp(version, object_resource_version(old)) != 0)
        return conflict(r,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again",
                        err);
    return 0;
}

/* Server-owned members keep their old value, or stay absent. */
static void keep_members(struct arena *a, struct json *next, const struct json *old,
                         const char *const *names)
{
    for (; *names; names++) {
        const struct json *was = json_get(old, *names);

        if (was)
            json_set(a, next, *names, json_clone(a, was));
        else
            json_remove(next, *names);
    }
}

static void keep_metadata(struct arena *a, struct json *next, const struct json *old)
{
    static const char *const owned[] = {"name",
                                        "namespace",
                                        "generateName",
                                        "uid",
                                        "creationTimestamp",
                                        "generation",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "resourceVersion",
                                        "selfLink",
                                        "managedFields",
                                        NULL};

    static const char *const gone_when_empty[] = {"labels", "annotations", "finalizers",
                                                  "ownerReferences"};
    struct json *meta = json_make_object(a, next, "metadata");

    keep_members(a, meta, json_get(old, "metadata"), owned);
    for (size_t i = 0; i < ELEMS(gone_when_empty); i++)
        if (json_len(json_get(meta, gone_when_empty[i])) == 0)
            json_remove(meta, gone_when_empty[i]);
}

/* A node can only be assigned by a binding, which checks for room. */
static int check_node(const struct server_request *r, const struct json *old,
                      const struct json *next, struct err *err)
{
    static const char problem[] = "Forbidden: is set by a binding (POST to pods/NAME/binding)";
    const char *node = json_string(json_at(next, "spec", "nodeName"), "");

    if (r->route.kind != &kind_pod || strcmp(r->route.subresource, "binding") == 0 ||
        strcmp(node, json_string(json_at(old, "spec", "nodeName"), "")) == 0)
        return 0;
    err_set(err, ERR_INVALID, "Pod \"%s\" is invalid: spec.nodeName: %s", r->route.name, problem);
    err_cause(err, "FieldValueForbidden", "spec.nodeName", 0, "%s", problem);
    return err_errno(ERR_INVALID);
}

/* They are added at a subresource of their own, which is a right of its own. */
static int check_late(const struct server_request *r, const struct json *old,
                      const struct json *next, struct err *err)
{
    static const char problem[] = "Forbidden: is set by pods/NAME/" EPHEMERAL_CONTAINERS
                                  " (kubectl debug)";

    if (r->route.kind != &kind_pod || strcmp(r->route.subresource, EPHEMERAL_CONTAINERS) == 0 ||
        json_equal(json_at(old, "spec", "ephemeralContainers"),
                   json_at(next, "spec", "ephemeralContainers")))
        return 0;
    err_set(err, ERR_INVALID, "Pod \"%s\" is invalid: spec.ephemeralContainers: %s", r->route.name,
            problem);
    err_cause(err, "FieldValueForbidden", "spec.ephemeralContainers", 0, "%s", problem);
    return err_errno(ERR_INVALID);
}

static struct json *keep_all_but_late(struct arena *a, const struct json *old,
                                      const struct json *next)
{
    static const char *const late[] = {"ephemeralContainers", NULL};
    struct json *whole = json_clone(a, old);

    keep_members(a, json_get_mut(whole, "spec"), json_get(next, "spec"), late);
    return whole;
}

static struct json *keep_all_but_conditions(struct arena *a, const struct json *old,
                                            const struct json *next)
{
    static const char *const decided[] = {"conditions", NULL};
    struct json *whole = json_clone(a, old);

    keep_members(a, json_make_object(a, whole, "status"), json_get(next, "status"), decided);
    return whole;
}

/* The main endpoint keeps status; /status keeps everything else. */
static struct json *keep_other_half(struct server_request *r, const struct json *old,
                                    struct json *next)
{
    static const char *const status[] = {"status", NULL};
    struct json *whole;

    if (strcmp(r->route.subresource, APPROVAL) == 0)
        return keep_all_but_conditions(r->arena, old, next);
    if (strcmp(r->route.subresource, EPHEMERAL_CONTAINERS) == 0)
        return keep_all_but_late(r->arena, old, next);
    if (strcmp(r->route.subresource, "status") != 0) {
        if (r->route.kind->has_status)
            keep_members(r->arena, next, old, status);
        return next;
    }
    whole = json_clone(r->arena, old);
    keep_members(r->arena, whole, next, status);
    return whole;
}

static struct json *keep_rest(struct server_request *r, const struct json *old, struct json *next)
{
    keep_metadata(r->arena, next, old);
    next = keep_other_half(r, old, next);
    object_set_defaults(r->arena, r->route.kind, next);
    return next;
}

bool spec_changed(const struct json *old, const struct json *next)
{
    json_each (m, next)
        if (strcmp(m->key, "metadata") != 0 && strcmp(m->key, "status") != 0 &&
            !json_equal(m, json_get(old, m->key)))
            return true;
    json_each (m, old)
        if (strcmp(m->key, "metadata") != 0 && strcmp(m->key, "status") != 0 &&
            !json_get(next, m->key))
            return true;
    return false;
}

static void raise_generation(struct arena *a, const struct json *old, struct json *next)
{
    struct json *meta = json_get_mut(next, "metadata");

    if (json_get(meta, "generation") && spec_changed(old, next))
        json_set_int(a, meta, "generation", json_get_int(meta, "generation", 0) + 1);
}

/* Deleted, its grace period over, and the last finalizer removed: now it can be deleted. */
static bool is_finished(const struct json *object)
{
    const struct json *meta = json_get(object, "metadata");

    return object_is_deleting(object) &&
           json_get_int(meta, "deletionGracePeriodSeconds", -1) == 0 &&
           json_len(json_get(meta, "finalizers")) == 0;
}

/* Clients may set the managers themselves, as kubectl does when it moves from client-side to
 * server-side apply; an empty list removes them. A malformed list is ignored. */
static const struct json *given_managed(struct server_request *r, const struct json *old,
                                        const struct json *next)
{
    const struct json *given = json_at(next, "metadata", "managedFields");
    struct json *before;

    if (*r->route.subresource || !json_is(given, JSON_ARRAY))
        return old;
    before = json_clone(r->arena, old);
    if (json_len(given) == 0 || (json_len(given) == 1 && json_len(json_first(given)) == 0))
        managed_clear(before);
    else if (!managed_take(r->arena, r->route.kind, before, given))
        return old;
    return before;
}

int change_managed(struct server_request *r, const char *key, const struct store_item *item,
                   const struct json *old, struct json *next, struct json *managed, int code,
                   struct json *instead, struct err *err)
{
    const struct kind *k = r->route.kind;
    const struct json *before = old; /* with the field managers given by the client */
    const struct json *asked;
    bool dry_run;
    int rc = query_dry_run(r, &dry_run, err);

    if (rc == 0)
        rc = check_version(r, old, next, err);
    if (rc < 0)
        return rc;
    if (!managed)
        before = given_managed(r, old, next);
    next = keep_rest(r, old, next);
    asked = next;
    rc = webhooks_mutate(r, "UPDATE", old, &next, dry_run, err);
    if (rc < 0)
        return rc;
    if (next != asked)
        next = keep_rest(r, old, next);
    kind_hooks_update(r->arena, k, old, next, request_now_ms(r));
    if (k == &kind_crd && !object_is_deleting(old) && !*r->route.subresource)
        definition_prepare(r, next);
    if (k == &kind_certificate_request)
        rc = signing_update(r, old, next, err);
    if (rc < 0)
        return rc;
    if (arena_failed(r->arena))
        return out_of_memory(err);
    if (!managed)
        update_managed(r, before, next);
    else if (!managed_take(r->arena, k, next, managed))
        return out_of_memory(err);
    rc = object_validate(k, next, old, err);
    if (rc == 0)
        rc = check_node(r, old, next, err);
    if (rc == 0)
        rc = check_late(r, old, next, err);
    if (rc == 0)
        rc = machine_access_check(r, old, next, dry_run, err);
    if (rc == 0)
        rc = removal_check_later(r, old, next, err);
    if (rc == 0)
        rc = rbac_check_grant(r, old, next, err);
    if (rc < 0)
        return rc;
    raise_generation(r->arena, old, next);
    rc = admission_check(r, "UPDATE", old, next, dry_run, err);
    if (rc == 0)
        rc = group_owner_check(r, old, next, err);
    if (rc == 0)
        rc = room_check_group(r, old, next, err);
    if (rc == 0)
        rc = room_check_pod(r, old, next, err);
    if (rc < 0)
        return rc;
    if (k->warn && !*r->route.subresource)
        k->warn(next, request_warn, r);
    if (is_finished(next) && k != &kind_namespace)
        return request_write(r, key, next, WRITE_DELETE, code, instead, dry_run, err);
    if (json_equal(old, next) && !instead &&
        ((!managed && before == old) || managed_is_same(r->arena, k, old, next)))
        return request_unchanged(r, item, err);
    return request_write(r, key, next, WRITE_PUT, code, instead, dry_run, err);
}

int change_object(struct server_request *r, const char *key, const struct store_item *item,
                  const struct json *old, struct json *next, int code, struct json *instead,
                  struct err *err)
{
    return change_managed(r, key, item, old, next, NULL, code, instead, err);
}
