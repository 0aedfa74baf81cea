/* resources.c - what a pod asks for, in numbers and in words. Pure. */
#include <inttypes.h>
#include <string.h>

#include "api/quantity.h"
#include "core/resources.h"

static const struct {
    const char *name;  /* in requests, limits and capacity */
    const char *words; /* after a number */
    const char *one;   /* singular */
} table[RESOURCE_COUNT] = {
    [RESOURCE_CPU] = {"cpu", " CPU", " CPU"},
    [RESOURCE_MEMORY] = {"memory", " memory", " memory"},
    [RESOURCE_GPU] = {"nvidia.com/gpu", " GPU", " GPU"},
    [RESOURCE_GPU_SHARE] = {"nvidia.com/gpu.shared", " GPU shares", " GPU share"},
    [RESOURCE_PODS] = {"pods", " pods", " pod"},
};

/* More than any machine has, yet small enough that sums never saturate, so that they can be undone
 * by subtraction. */
#define AMOUNT_MOST INT64_C(1000000000000000)

const char *resource_key(enum resource which)
{
    return table[which].name;
}

void resources_add(struct resources *sum, const struct resources *r)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        sum->amount[i] = add_i64(sum->amount[i], r->amount[i]);
}

void resources_subtract(struct resources *sum, const struct resources *r)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        sum->amount[i] = subtract_i64(sum->amount[i], r->amount[i]);
}

static int64_t amount_in(const struct json *map, enum resource which)
{
    const struct json *v = json_get(map, table[which].name);
    int64_t amount = which == RESOURCE_CPU ? quantity_json_milli(v, 0) : quantity_json_value(v, 0);

    return min_i64(max_i64(amount, 0), AMOUNT_MOST);
}

struct resources resources_of(const struct json *map)
{
    struct resources r = {0};

    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        r.amount[i] = amount_in(map, i);
    return r;
}

static const char *quantity_text(enum resource which, int64_t amount, char out[QUANTITY_TEXT_SIZE])
{
    if (which == RESOURCE_CPU)
        return quantity_format_milli(amount, out);
    if (which == RESOURCE_MEMORY)
        return quantity_format_bytes(amount, out);
    return quantity_format_milli(multiply_i64(amount, 1000), out);
}

struct json *resources_map(struct arena *a, const struct resources *r)
{
    struct json *map = json_new_object(a);
    char text[QUANTITY_TEXT_SIZE];

    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (r->amount[i] && i != RESOURCE_PODS)
            json_set_string(a, map, table[i].name, quantity_text(i, r->amount[i], text));
    return map;
}

static struct resources container_requests(const struct json *container)
{
    const struct json *requests = json_at(container, "resources", "requests");
    const struct json *limits = json_at(container, "resources", "limits");
    struct resources r = {0};

    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        r.amount[i] = amount_in(json_get(requests, table[i].name) ? requests : limits, i);
    return r;
}

struct resources pod_requests(const struct json *pod_spec)
{
    struct resources sum = {0}, overhead = resources_of(json_get(pod_spec, "overhead"));

    json_each (c, json_get(pod_spec, "containers")) {
        struct resources r = container_requests(c);

        resources_add(&sum, &r);
    }
    json_each (c, json_get(pod_spec, "initContainers")) {
        struct resources r = container_requests(c);

        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            sum.amount[i] = max_i64(sum.amount[i], r.amount[i]);
    }
    resources_add(&sum, &overhead);
    sum.pods = 1;
    return sum;
}

static int64_t container_amount(const struct json *container, const char *part,
                                const char *resource)
{
    const struct json *resources = json_get(container, "resources");
    const struct json *v = json_at(resources, part, resource);

    return quantity_json_milli(v ? v : json_at(resources, "limits", resource), 0);
}

int64_t pod_amount_milli(const struct json *pod_spec, const char *part, const char *resource)
{
    int64_t sum = 0, overhead = quantity_json_milli(json_at(pod_spec, "overhead", resource), 0);

    json_each (c, json_get(pod_spec, "containers"))
        sum = add_i64(sum, container_amount(c, part, resource));
    json_each (c, json_get(pod_spec, "initContainers"))
        sum = max_i64(sum, container_amount(c, part, resource));
    return sum == 0 && strcmp(part, "limits") == 0 ? 0 : add_i64(sum, overhead);
}

/* A machine's memory is never round: whole Mi are precise enough for a sentence. */
static int64_t rounded_bytes(int64_t bytes)
{
    const int64_t mi = INT64_C(1) << 20;

    return bytes >= mi ? bytes / mi * mi : bytes;
}

/* What pods asked for may have been more: only such amounts are so round. */
static bool is_cut(int64_t amount)
{
    return amount > 0 && amount % AMOUNT_MOST == 0;
}

static const char *exact_number(struct arena *a, enum resource which, int64_t amount)
{
    char text[QUANTITY_TEXT_SIZE];

    if (which == RESOURCE_CPU)
        return arena_strdup(a, quantity_format_milli(amount, text));
    if (which == RESOURCE_MEMORY)
        return arena_strdup(a, quantity_format_bytes(rounded_bytes(amount), text));
    return arena_printf(a, "%" PRId64, amount);
}

const char *resource_number(struct arena *a, enum resource which, int64_t amount)
{
    const char *text = exact_number(a, which, amount);

    return is_cut(amount) ? arena_printf(a, "at least %s", text) : text;
}

const char *resource_text(struct arena *a, enum resource which, int64_t amount)
{
    return arena_printf(a, "%s%s", resource_number(a, which, amount),
                        amount == 1 ? table[which].one : table[which].words);
}

static bool is_counted(const char *resource)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (strcmp(resource, resource_key(i)) == 0)
            return true;
    return false;
}

/* A node has these only if it lists them. */
static bool is_offered_by_name(const char *resource)
{
    static const char large_pages[] = "hugepages-";

    return strchr(resource, '/') || strncmp(resource, large_pages, strlen(large_pages)) == 0;
}

const char *pod_unoffered(const struct json *pod_spec, const struct json *allocatable,
                          held_fn *held, const void *arg)
{
    static const char *const lists[] = {"initContainers", "containers"};
    static const char *const parts[] = {"requests", "limits"};

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_get(pod_spec, lists[i]))
            for (size_t k = 0; k < ELEMS(parts); k++)
                json_each (v, json_at(c, "resources", parts[k])) {
                    int64_t asks;

                    if (!is_offered_by_name(v->key) || is_counted(v->key))
                        continue;
                    asks = pod_amount_milli(pod_spec, "requests", v->key);
                    if (asks > 0 && add_i64(asks, held ? held(arg, v->key) : 0) >
                                        quantity_json_milli(json_get(allocatable, v->key), 0))
                        return v->key;
                }
    return NULL;
}
