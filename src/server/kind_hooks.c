/*
 * kind_hooks.c - what the real server does for built-in kinds besides storing them: a Node is
 * created with its status, a Service gets an address, a Pod with a node counts as scheduled, a
 * budget shows what it allows. One table; job kinds do not belong here.
 */

#include "base/timefmt.h"
#include "server/budget.h"
#include "server/internal.h"

#define DEFAULT_GRACE_SECONDS 30
#define SCHEDULED "PodScheduled"
#define GATED "SchedulingGated"

/* --- pods ------------------------------------------------------------------------------ */

static struct json *condition_make(struct arena *a, struct json *status, const char *type)
{
    struct json *conditions = json_make_array(a, status, "conditions"), *c;

    for (c = json_first_mut(conditions); c; c = c->next)
        if (json_string_is(json_get(c, "type"), type))
            return c;
    c = json_append(conditions, json_new_object(a));
    json_set_string(a, c, "type", type);
    return c;
}

static void pod_set_scheduled(struct arena *a, struct json *pod, int64_t now_ms)
{
    struct json *c = condition_make(a, json_make_object(a, pod, "status"), SCHEDULED);
    char now[TIME_TEXT_SIZE];

    if (json_string_is(json_get(c, "status"), "True"))
        return;
    json_set_string(a, c, "status", "True");
    json_set_string(a, c, "lastTransitionTime", time_format(now_ms, now));
    json_remove(c, "reason");
    json_remove(c, "message");
}

static const char *node_name(const struct json *pod)
{
    return json_string(json_at(pod, "spec", "nodeName"), "");
}

static bool is_gated(const struct json *pod)
{
    return json_len(json_at(pod, "spec", "schedulingGates")) > 0;
}

static void pod_create(struct arena *a, struct json *pod)
{
    struct json *c;

    if (!is_gated(pod))
        return;
    c = condition_make(a, json_make_object(a, pod, "status"), SCHEDULED);
    json_set_string(a, c, "status", "False");
    json_set_string(a, c, "reason", GATED);
    json_set_string(a, c, "message", "Scheduling is blocked due to non-empty scheduling gates");
}

/* If it still waits, the scheduler will say why. */
static void pod_release(struct arena *a, struct json *pod)
{
    struct json *kept = json_new_array(a);

    json_each (c, json_at(pod, "status", "conditions"))
        if (!json_string_is(json_get(c, "reason"), GATED))
            (void)json_append(kept, json_clone(a, c));
    json_set(a, json_make_object(a, pod, "status"), "conditions", kept);
}

static void pod_update(struct arena *a, const struct json *old, struct json *next, int64_t now_ms)
{
    if (is_gated(old) && !is_gated(next))
        pod_release(a, next);
    if (!*node_name(old) && *node_name(next))
        pod_set_scheduled(a, next, now_ms);
}

/* A pod without a node, or that has ended, needs no grace period. */
static int64_t pod_grace(const struct json *pod, int64_t asked)
{
    if (!*node_name(pod) || object_has_ended(pod))
        return 0;
    if (asked < 0)
        asked = json_int(json_at(pod, "spec", "terminationGracePeriodSeconds"),
                         DEFAULT_GRACE_SECONDS);
    return asked < 0 ? 1 : asked;
}

/* --- others ---------------------------------------------------------------------------- */

/* As on the real server, it is kept when an update omits it. */
static void service_update(struct arena *a, const struct json *old, struct json *next,
                           int64_t now_ms)
{
    const char *address = json_string(json_at(old, "spec", "clusterIP"), "");

    (void)now_ms;
    if (*address && !*json_string(json_at(next, "spec", "clusterIP"), "")) {
        json_set_string(a, json_make_object(a, next, "spec"), "clusterIP", address);
        if (json_at(old, "spec", "clusterIPs"))
            json_set(a, json_make_object(a, next, "spec"), "clusterIPs",
                     json_clone(a, json_at(old, "spec", "clusterIPs")));
    }
}

/* --- the table ------------------------------------------------------------------------- */

static const struct kind_hooks {
    const struct kind *kind;
    bool keeps_status; /* at creation */
    bool shows_deleted;
    void (*create)(struct arena *a, struct json *object);
    void (*update)(struct arena *a, const struct json *old, struct json *next, int64_t now_ms);
    int64_t (*grace)(const struct json *object, int64_t asked);
    void (*complete)(const struct server *s, struct arena *a, struct json *object);
} table[] = {
    {.kind = &kind_pod,
     .shows_deleted = true,
     .create = pod_create,
     .update = pod_update,
     .grace = pod_grace},
    {.kind = &kind_node, .keeps_status = true},
    {.kind = &kind_service, .shows_deleted = true, .update = service_update},
    {.kind = &kind_persistent_volume_claim, .shows_deleted = true},
    {.kind = &kind_pod_disruption_budget, .complete = budget_set_status},
    {.kind = &kind_pod_disruption_budget_beta, .complete = budget_set_status},
};

static const struct kind_hooks none;

static const struct kind_hooks *kind_hooks_of(const struct kind *k)
{
    for (size_t i = 0; i < ELEMS(table); i++)
        if (table[i].kind == k)
            return &table[i];
    return &none;
}

void kind_hooks_prepare_create(struct arena *a, const struct kind *k, struct json *object)
{
    if (k->has_status && !kind_hooks_of(k)->keeps_status)
        json_remove(object, "status");
    if (kind_hooks_of(k)->create)
        kind_hooks_of(k)->create(a, object);
}

void kind_hooks_update(struct arena *a, const struct kind *k, const struct json *old,
                       struct json *next, int64_t now_ms)
{
    if (kind_hooks_of(k)->update)
        kind_hooks_of(k)->update(a, old, next, now_ms);
}

int64_t kind_hooks_grace_seconds(const struct kind *k, const struct json *object, int64_t asked)
{
    return kind_hooks_of(k)->grace ? kind_hooks_of(k)->grace(object, asked) : 0;
}

bool kind_hooks_show_deleted(const struct kind *k)
{
    return kind_hooks_of(k)->shows_deleted;
}

bool kind_hooks_completes(const struct kind *k)
{
    return kind_hooks_of(k)->complete;
}

void kind_hooks_complete(const struct server *s, struct arena *a, const struct kind *k,
                         struct json *object)
{
    if (kind_hooks_of(k)->complete)
        kind_hooks_of(k)->complete(s, a, object);
}
