/* limit_range.c - LimitRanges of type Container: defaults and bounds for new pods. */

#include "api/quantity.h"
#include "server/internal.h"

/* A given limit also becomes the request, before a default does. */
static void fill(struct arena *a, struct json *container, const struct json *range)
{
    struct json *resources = json_make_object(a, container, "resources");

    json_each (d, json_get(range, "defaultRequest"))
        if (!json_at(resources, "requests", d->key) && !json_at(resources, "limits", d->key))
            json_set(a, json_make_object(a, resources, "requests"), d->key, json_clone(a, d));
    json_each (d, json_get(range, "default")) {
        if (!json_at(resources, "limits", d->key))
            json_set(a, json_make_object(a, resources, "limits"), d->key, json_clone(a, d));
        if (!json_at(resources, "requests", d->key))
            json_set(a, json_make_object(a, resources, "requests"), d->key,
                     json_clone(a, json_at(resources, "limits", d->key)));
    }
}

struct use {
    struct server_request *request;
    struct json *pod;
    struct err *err;
    int rc;
};

static int refuse(struct use *u, const char *bound, const struct json *limit, const char *part,
                  const struct json *is)
{
    const char *name = object_name(u->pod);

    u->request->route.name = *name ? name : NULL;
    return err_set(u->err, ERR_FORBIDDEN,
                   "pods \"%s\" is forbidden: %s %s usage per Container is %s, but %s is %s", name,
                   bound, limit->key, json_string(limit, ""), part, json_string(is, "not given"));
}

static int check(struct use *u, const struct json *container, const struct json *range)
{
    json_each (high, json_get(range, "max")) {
        const struct json *is = json_at(container, "resources", "limits", high->key);

        if (!is || quantity_json_milli(is, 0) > quantity_json_milli(high, INT64_MAX))
            return refuse(u, "maximum", high, "limit", is);
    }
    json_each (low, json_get(range, "min")) {
        const struct json *is = json_at(container, "resources", "requests", low->key);

        if (!is || quantity_json_milli(is, 0) < quantity_json_milli(low, 0))
            return refuse(u, "minimum", low, "request", is);
    }
    return 0;
}

static void use_on(struct use *u, const struct json *range, const char *list)
{
    struct json *spec = json_get_mut(u->pod, "spec");

    for (struct json *c = json_first_mut(json_get_mut(spec, list)); c && u->rc == 0; c = c->next)
        if (json_is(c, JSON_OBJECT)) {
            fill(u->request->arena, c, range);
            u->rc = check(u, c, range);
        }
}

static bool use_item(void *arg, const struct store_item *item)
{
    struct use *u = arg;
    const struct json *limits = blob_parse(u->request->arena, item->value, NULL);

    json_each (range, json_at(limits, "spec", "limits")) {
        if (!json_string_is(json_get(range, "type"), "Container"))
            continue;
        use_on(u, range, "initContainers");
        use_on(u, range, "containers");
    }
    return u->rc == 0;
}

int limit_range_apply(struct server_request *r, struct json *pod, struct err *err)
{
    struct store_collection *c = server_collection(r->server, &kind_limit_range);
    struct use u = {.request = r, .pod = pod, .err = err};
    const char *prefix;

    if (r->route.kind != &kind_pod || store_count(c) == 0)
        return 0;
    prefix = arena_printf(r->arena, "%s/", r->route.ns);
    if (!prefix)
        return out_of_memory(err);
    store_list(c, prefix, NULL, use_item, &u);
    return u.rc;
}
