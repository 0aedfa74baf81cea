/* budget.c - see budget.h. There are few pods and fewer budgets, so each budget checks all pods of
 * the namespace. */
#include "server/budget.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/selector.h"
#include "server/internal.h"

#define SCRATCH_BYTES (OBJECT_LIMIT_BYTES * 16)
#define PREFIX_SIZE 256 /* a namespace is a DNS label */

bool budget_pod_is_ready(const struct json *pod)
{
    return object_condition_is(pod, "Ready");
}

bool budget_selects(const struct json *budget, const struct json *pod)
{
    const struct json *selector = json_at(budget, "spec", "selector");

    return json_is(selector, JSON_OBJECT) && label_map_matches(selector, object_labels(pod));
}

struct counting {
    struct store_collection *pods;
    const struct json *budget;
    enum budget_view view;
    struct arena scratch;
    struct budget_count count;
};

static bool count_pod(void *arg, const struct store_item *item)
{
    struct counting *c = arg;
    const struct store_item *seen = c->view == BUDGET_HEAD ? store_head(c->pods, item->key) : item;
    const struct json *pod;

    arena_reset(&c->scratch);
    pod = seen ? blob_parse(&c->scratch, seen->value, NULL) : NULL;
    if (!pod || object_has_ended(pod) || !budget_selects(c->budget, pod))
        return true;
    c->count.expected++;
    c->count.healthy += budget_pod_is_ready(pod) && !object_is_deleting(pod);
    return true;
}

/* A number, or "50%" of all, rounded up. */
static int64_t amount(const struct json *v, int64_t all)
{
    const char *text = json_string(v, "");

    return *text ? (all * strtoll(text, NULL, 10) + 99) / 100 : json_int(v, 0);
}

static int64_t desired(const struct json *budget, int64_t all)
{
    const struct json *spec = json_get(budget, "spec"), *max = json_get(spec, "maxUnavailable");

    if (max)
        return max_i64(0, all - amount(max, all));
    return amount(json_get(spec, "minAvailable"), all);
}

struct budget_count budget_count(const struct server *s, const struct json *budget,
                                 enum budget_view view)
{
    struct counting c = {.pods = server_collection(s, &kind_pod),
                         .budget = budget,
                         .view = view,
                         .scratch = ARENA_INIT(SCRATCH_BYTES)};
    char prefix[PREFIX_SIZE];

    (void)snprintf(prefix, sizeof(prefix), "%s/", object_namespace(budget));
    store_list(c.pods, prefix, NULL, count_pod, &c);
    arena_release(&c.scratch);
    c.count.desired = desired(budget, c.count.expected);
    c.count.allowed = max_i64(0, c.count.healthy - c.count.desired);
    return c.count;
}

void budget_set_status(const struct server *s, struct arena *a, struct json *budget)
{
    struct budget_count count = budget_count(s, budget, BUDGET_COMMITTED);
    struct json *status = json_make_object(a, budget, "status");

    json_set_int(a, status, "currentHealthy", count.healthy);
    json_set_int(a, status, "desiredHealthy", count.desired);
    json_set_int(a, status, "disruptionsAllowed", count.allowed);
    json_set_int(a, status, "expectedPods", count.expected);
}
