/*
 * machine_access.c - see machine_access.h. Jobs are looked at as pods are: their pods are made by a
 * controller, which may do everything. A pod's spec that stays as it is is not asked for again, so
 * that a job the owner made can be scaled by who may change it; another command in it is.
 */
#include "server/machine_access.h"

#include <string.h>

#include "server/rbac.h"

#define GROUP MACHINE_ACCESS_GROUP
#define RESOURCE MACHINE_ACCESS_RESOURCE
#define PRIVILEGED "privileged"
#define HOST_PATH "hostpath"

struct wish {
    const char *name; /* of the right; NULL: nothing is wished */
    const char *what;
};

static struct wish container_wish(const struct json *container)
{
    const struct json *context = json_get(container, "securityContext");

    if (json_get_bool(context, "privileged", false))
        return (struct wish){PRIVILEGED, "a privileged container"};
    if (json_len(json_at(context, "capabilities", "add")) > 0)
        return (struct wish){PRIVILEGED, "a container with added capabilities"};
    if (json_string_is(json_get(context, "procMount"), "Unmasked"))
        return (struct wish){PRIVILEGED, "a container with procMount: Unmasked"};
    return (struct wish){NULL, NULL};
}

static struct wish privileged_wish(const struct json *spec)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    static const char *const shares[] = {"hostPID", "hostIPC"};
    struct wish wish = {NULL, NULL};

    for (size_t i = 0; i < ELEMS(shares) && !wish.name; i++)
        if (json_get_bool(spec, shares[i], false))
            wish = (struct wish){PRIVILEGED, shares[i]};
    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (container, json_get(spec, lists[i]))
            if (!wish.name)
                wish = container_wish(container);
    return wish;
}

static struct wish folder_wish(const struct json *spec)
{
    json_each (volume, json_get(spec, "volumes"))
        if (json_is(json_get(volume, "hostPath"), JSON_OBJECT))
            return (struct wish){HOST_PATH, "a volume of type hostPath"};
    return (struct wish){NULL, NULL};
}

static bool is_pod_spec(const struct json *v)
{
    return json_is(v, JSON_OBJECT) && json_is(json_get(v, "containers"), JSON_ARRAY);
}

static bool has_spec(const struct json *v, const struct json *spec)
{
    if (is_pod_spec(v) && json_equal(v, spec))
        return true;
    json_each (child, v)
        if (has_spec(child, spec))
            return true;
    return false;
}

/* --- asking -------------------------------------------------------------------------------- */

static int ask(struct server_request *r, const struct json *object, struct wish wish,
               struct err *err)
{
    const struct access what = {.verb = "use",
                                .group = GROUP,
                                .resource = RESOURCE,
                                .subresource = "",
                                .ns = r->route.ns,
                                .name = wish.name};

    if (!wish.name || rbac_allows(r->server, r->arena, r->caller, &what))
        return 0;
    err_set(err, ERR_FORBIDDEN,
            "%s \"%s\" is forbidden: User \"%s\" cannot use resource \"" RESOURCE
            "\" in API group \"" GROUP "\" named \"%s\", which %s needs",
            resource_name(r->arena, r->route.kind), object_name(object), r->caller->user, wish.name,
            wish.what);
    err_hint(err, "a Role with the verb use on " RESOURCE "." GROUP " gives that right");
    return err_errno(ERR_FORBIDDEN);
}

/* Every pod's spec in it, wherever the kind has them. */
static int check_specs(struct server_request *r, const struct json *old, const struct json *next,
                       const struct json *at, struct err *err)
{
    int rc = 0;

    if (is_pod_spec(at) && !has_spec(json_get(old, "spec"), at)) {
        rc = ask(r, next, privileged_wish(at), err);
        if (rc == 0)
            rc = ask(r, next, folder_wish(at), err);
    }
    json_each (child, at)
        if (rc == 0)
            rc = check_specs(r, old, next, child, err);
    return rc;
}

/* They name folders that the daemon then reads for others. */
static int check_annotations(struct server_request *r, const struct json *old,
                             const struct json *next, struct err *err)
{
    static const char *const names[] = {ANNOTATION_LOG_DIR, ANNOTATION_CLAIM_PATH};
    int rc = 0;

    for (size_t i = 0; i < ELEMS(names) && rc == 0; i++) {
        const char *said = object_annotation(next, names[i]);
        const char *before = old ? object_annotation(old, names[i]) : NULL;

        if (said && (!before || strcmp(said, before) != 0))
            rc = ask(
                r, next,
                (struct wish){HOST_PATH, arena_printf(r->arena, "the annotation %s", names[i])},
                err);
    }
    return rc;
}

int machine_access_check(struct server_request *r, const struct json *old, const struct json *next,
                         struct err *err)
{
    int rc;

    /* A subresource changes nothing of what is asked for here. */
    if (caller_may_everything(r->caller) || r->route.kind->schema || *r->route.subresource)
        return 0;
    rc = check_annotations(r, old, next, err);
    return rc < 0 ? rc : check_specs(r, old, next, json_get(next, "spec"), err);
}
