/*
 * evict.c - POST pods/NAME/eviction: a deletion that a PodDisruptionBudget selecting the pod may
 * forbid (budget.h).
 */
#include <string.h>

#include "api/status.h"
#include "server/budget.h"
#include "server/internal.h"

static int check_budget(struct server_request *r, const struct json *budget, const struct json *pod,
                        struct err *err)
{
    bool always = json_string_is(json_at(budget, "spec", "unhealthyPodEvictionPolicy"),
                                 "AlwaysAllow");
    bool ready = budget_pod_is_ready(pod);
    struct budget_count c;

    if (!ready && always)
        return 0;
    c = budget_count(r->server, budget, BUDGET_HEAD);
    if (c.allowed > 0 || (!ready && c.healthy == c.desired && c.desired > 0))
        return 0;
    err_set(err, ERR_TOO_MANY_REQUESTS,
            "Cannot evict pod as it would violate the pod's disruption budget.");
    err_cause(err, "DisruptionBudget", "", 0,
              "The disruption budget %s needs %lld healthy pods and has %lld currently",
              object_name(budget), (long long)c.desired, (long long)c.healthy);
    return err_errno(ERR_TOO_MANY_REQUESTS);
}

/* --- all budgets ----------------------------------------------------------------------- */

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

    if (budget && budget_selects(budget, b->pod))
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
    if (!object_has_ended(b.pod) && !object_is_deleting(b.pod))
        store_list(c, prefix, NULL, ask_budget, &b);
    return b.rc;
}

/* Without Retry-After: clients would retry silently, whereas kubectl reports why it waits. */
static int reply_forbidden(struct server_request *r, const struct err *err)
{
    reply_json(r, err_http_code(err->reason),
               status_from_err(r->arena, err, r->route.kind, r->route.name));
    return 0;
}

int verb_evict(struct server_request *r, struct err *err)
{
    struct json *eviction = object_parse(r->arena, &kind_eviction, r->content_type, r->body,
                                         r->body_len, NULL, NULL, err);
    struct removal removal;
    bool dry_run;
    int rc = eviction
                 ? removal_read(r, json_get(eviction, "deleteOptions"), &removal, &dry_run, err)
                 : -1;

    if (rc == 0 && *object_name(eviction) && strcmp(object_name(eviction), r->route.name) != 0)
        rc = err_set(err, ERR_BAD_REQUEST, "name in URL does not match name in Eviction object");
    if (rc == 0)
        rc = check_budgets(r, err);
    if (rc < 0 && err_is_set(err) && err->reason == ERR_TOO_MANY_REQUESTS)
        return reply_forbidden(r, err);
    return rc < 0 ? rc : delete_one(r, &removal, dry_run, 201, success_status(r, NULL), err);
}
