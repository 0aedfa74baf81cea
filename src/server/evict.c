/*
 * evict.c - POST pods/NAME/eviction: a deletion that asks first. A PodDisruptionBudget that selects
 * the pod may forbid it; what it allows is counted here and now, nobody keeps its status.
 */
#include <stdlib.h>
#include <string.h>

#include "api/selector.h"
#include "api/status.h"
#include "server/internal.h"

#define SCRATCH_BYTES (OBJECT_LIMIT_BYTES * 16)

static bool is_over(const struct json *pod)
{
    const struct json *phase = json_at(pod, "status", "phase");

    return json_string_is(phase, "Succeeded") || json_string_is(phase, "Failed");
}

static bool is_ready(const struct json *pod)
{
    return json_string_is(json_get(object_condition(pod, "Ready"), "status"), "True");
}

static bool selects(const struct json *budget, const struct json *pod)
{
    const struct json *selector = json_at(budget, "spec", "selector");

    return json_is(selector, JSON_OBJECT) && label_map_matches(selector, object_labels(pod));
}

/* --- one budget ------------------------------------------------------------------------ */

struct count {
    struct store_collection *pods;
    const struct json *budget;
    struct arena scratch;
    int64_t all, healthy;
};

/* As writes see it: evictions on their way to the disk count. */
static bool count_pod(void *arg, const struct store_item *item)
{
    struct count *c = arg;
    const struct store_item *head = store_head(c->pods, item->key);
    const struct json *pod;

    arena_reset(&c->scratch);
    pod = head ? blob_parse(&c->scratch, head->value, NULL) : NULL;
    if (!pod || is_over(pod) || !selects(c->budget, pod))
        return true;
    c->all++;
    c->healthy += is_ready(pod) && !object_is_deleting(pod);
    return true;
}

/* A number, or "50%" of all, rounded up. */
static int64_t amount(const struct json *v, int64_t all)
{
    const char *text = json_string(v, "");

    return *text ? (all * strtoll(text, NULL, 10) + 99) / 100 : json_int(v, 0);
}

static int64_t desired(const struct count *c)
{
    const struct json *spec = json_get(c->budget, "spec"), *max = json_get(spec, "maxUnavailable");

    if (max)
        return max_i64(0, c->all - amount(max, c->all));
    return amount(json_get(spec, "minAvailable"), c->all);
}

static int check_budget(struct server_request *r, const struct json *budget, const struct json *pod,
                        struct err *err)
{
    struct count c = {.pods = server_collection(r->server, &kind_pod),
                      .budget = budget,
                      .scratch = ARENA_INIT(SCRATCH_BYTES)};
    bool always = json_string_is(json_at(budget, "spec", "unhealthyPodEvictionPolicy"),
                                 "AlwaysAllow");
    int64_t wanted;

    if (!is_ready(pod) && always)
        return 0;
    store_list(c.pods, arena_printf(r->arena, "%s/", r->route.ns), NULL, count_pod, &c);
    arena_release(&c.scratch);
    wanted = desired(&c);
    if (c.healthy > wanted || (!is_ready(pod) && c.healthy == wanted && wanted > 0))
        return 0;
    err_set(err, ERR_TOO_MANY_REQUESTS,
            "Cannot evict pod as it would violate the pod's disruption budget.");
    err_cause(err, "DisruptionBudget", "", 0,
              "The disruption budget %s needs %lld healthy pods and has %lld currently",
              object_name(budget), (long long)wanted, (long long)c.healthy);
    return err_errno(ERR_TOO_MANY_REQUESTS);
}

/* --- all of them ----------------------------------------------------------------------- */

struct budgets {
    struct server_request *request;
    const struct json *pod;
    struct err *err;
    int rc;
};

static bool ask_budget(void *arg, const struct store_item *item)
{
    struct budgets *b = arg;
    const struct json *budget = blob_parse(b->request->arena, item->value, NULL);

    if (budget && selects(budget, b->pod))
        b->rc = check_budget(b->request, budget, b->pod, b->err);
    return b->rc == 0;
}

static int check_budgets(struct server_request *r, struct err *err)
{
    struct store_collection *c = server_collection(r->server, &kind_pod_disruption_budget);
    struct budgets b = {.request = r, .err = err};
    const struct store_item *item;
    const char *key, *prefix;

    if (store_count(c) == 0)
        return 0;
    b.pod = request_load(r, &key, &item, err);
    prefix = arena_printf(r->arena, "%s/", r->route.ns);
    if (!b.pod || !prefix)
        return -1;
    if (!is_over(b.pod) && !object_is_deleting(b.pod))
        store_list(c, prefix, NULL, ask_budget, &b);
    return b.rc;
}

/* Without the time after which to try again: clients would do so silently, where kubectl says why
 * it waits. */
static int reply_forbidden(struct server_request *r, const struct err *err)
{
    reply_json(r, err_http_code(err->reason),
               status_from_err(r->arena, err, r->route.kind, r->route.name));
    return 0;
}

int verb_evict(struct server_request *r, struct err *err)
{
    struct json *eviction = object_parse(r->arena, r->content_type, r->body, r->body_len, NULL,
                                         NULL, err);
    struct removal removal;
    bool dry_run;
    int rc = eviction
                 ? removal_read(r, json_get(eviction, "deleteOptions"), &removal, &dry_run, err)
                 : -1;

    if (rc == 0)
        rc = check_budgets(r, err);
    if (rc < 0 && err_is_set(err) && err->reason == ERR_TOO_MANY_REQUESTS)
        return reply_forbidden(r, err);
    return rc < 0 ? rc : delete_one(r, &removal, dry_run, 201, success_status(r, NULL), err);
}
