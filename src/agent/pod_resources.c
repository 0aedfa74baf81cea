/* pod_resources.c - see pod_resources.h. */
#include "agent/pod_resources.h"

#include <inttypes.h>
#include <string.h>

#include "api/quantity.h"

static const struct json *amount(const struct json *c, const char *list, const char *resource)
{
    return json_get(json_at(c, "resources", list), resource);
}

struct container_limits pod_container_limits(const struct json *c)
{
    struct container_limits l = {
        .cpu_milli = quantity_json_milli(amount(c, "limits", "cpu"), 0),
        .memory_bytes = quantity_json_value(amount(c, "limits", "memory"), 0),
    };

    l.cpu_request_milli = quantity_json_milli(amount(c, "requests", "cpu"), l.cpu_milli);
    return l;
}

bool pod_has_limits(const struct json *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_at(pod, "spec", lists[i])) {
            struct container_limits l = pod_container_limits(c);

            if (l.cpu_milli > 0 || l.memory_bytes > 0)
                return true;
        }
    return false;
}

static const struct json *find_container(const struct json *pod, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_at(pod, "spec", lists[i]))
            if (json_string_is(json_get(c, "name"), name))
                return c;
    return NULL;
}

/* What resourceFieldRef can name. An unset limit is the node's capacity, an unset request is the
 * limit, else nothing. */
static const struct {
    const char *path, *list, *name;
    bool milli; /* in thousandths */
} resources[] = {
    {"limits.cpu", "limits", "cpu", true},
    {"requests.cpu", "requests", "cpu", true},
    {"limits.memory", "limits", "memory", false},
    {"requests.memory", "requests", "memory", false},
    {"limits.ephemeral-storage", "limits", "ephemeral-storage", false},
    {"requests.ephemeral-storage", "requests", "ephemeral-storage", false},
};

static int64_t read_amount(const struct json *c, size_t i, const struct pod_allocatable *node)
{
    const char *name = resources[i].name;
    bool milli = resources[i].milli, limit = strcmp(resources[i].list, "limits") == 0;
    const struct json *v = amount(c, resources[i].list, name);

    if (!v && !limit)
        v = amount(c, "limits", name);
    if (v)
        return milli ? quantity_json_milli(v, 0) : quantity_json_value(v, 0);
    if (!limit)
        return 0;
    return milli ? node->cpu_milli : strcmp(name, "memory") == 0 ? node->memory_bytes : 0;
}

static int64_t divisor_of(const struct json *ref, bool milli)
{
    const struct json *v = json_get(ref, "divisor");
    int64_t n = milli ? quantity_json_milli(v, 0) : quantity_json_value(v, 0);

    return n > 0 ? n : milli ? 1000 : 1; /* "0" and absent are 1 */
}

int pod_resource_value(struct arena *a, const struct json *pod, const struct json *c,
                       const struct json *ref, const struct pod_allocatable *node, const char **ret,
                       struct err *err)
{
    const char *path = json_get_string(ref, "resource", "");
    const char *container = json_get_string(ref, "containerName", "");
    int64_t value, divisor;
    size_t i = 0;

    if (*container)
        c = find_container(pod, container);
    if (!c)
        return err_set(err, ERR_INVALID,
                       "resourceFieldRef: the pod has no container \"%s\" (containerName)",
                       container);
    while (i < ELEMS(resources) && strcmp(resources[i].path, path) != 0)
        i++;
    if (i == ELEMS(resources))
        return err_set(err, ERR_INVALID,
                       "resourceFieldRef \"%s\" is not supported: use limits. or requests. with "
                       "cpu, memory or ephemeral-storage",
                       path);
    value = read_amount(c, i, node);
    divisor = divisor_of(ref, resources[i].milli);
    *ret = arena_printf(a, "%" PRId64, value / divisor + (value % divisor > 0));
    return *ret ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
}
