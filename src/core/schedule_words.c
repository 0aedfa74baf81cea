/*
 * schedule_words.c - explains in one sentence why a group waits. Only the first in line gets
 * numbers that change by themselves: each change is an API write for every pod that shows them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/quantity.h"
#include "api/selector.h"
#include "base/timefmt.h"
#include "core/decision.h"
#include "core/job.h"

/* The scarcest is named first. */
static const enum resource order[] = {RESOURCE_GPU, RESOURCE_GPU_SHARE, RESOURCE_CPU,
                                      RESOURCE_MEMORY, RESOURCE_PODS};

/* Of an extended resource that has been looked at. */
#define OFFERED_MOST "9P"

const char *wait_reason_name(enum wait_reason reason)
{
    static const char *const names[] = {
        [WAIT_NONE] = "",
        [WAIT_MEMBERS] = "InsufficientMember",
        [WAIT_STOPPING] = CONDITION_PREEMPTED,
        [WAIT_AGAIN] = CONDITION_PREEMPTED,
        [WAIT_NO_QUEUE] = "QueueNotFound",
        [WAIT_NAMESPACE] = "NamespaceNotAllowed",
        [WAIT_CLOSED] = "QueueClosed",
        [WAIT_NO_NODE] = "NoNodeReady",
        [WAIT_CORDONED] = "NodeCordoned",
        [WAIT_NOT_READY] = "NodeNotReady",
        [WAIT_NEVER_FITS] = JOB_NEVER_FITS,
        [WAIT_QUOTA_NEVER] = JOB_QUOTA_FORBIDS,
        [WAIT_QUOTA] = "QuotaExceeded",
        [WAIT_RESOURCES] = "InsufficientResources",
        [WAIT_TURN] = "WaitingForTurn",
    };

    return names[reason];
}

static const char *amount(struct decision *d, const struct resources *r, enum resource which)
{
    return resource_text(d->arena, which, resources_get(r, which));
}

static const char *number(struct decision *d, const struct resources *r, enum resource which)
{
    return resource_number(d->arena, which, resources_get(r, which));
}

/* How many members must get room for the group to progress; of a started one, one. */
static int64_t lacks_members(const struct group *g)
{
    return g->started || g->holding > 0 ? 1 : max_i64(group_required(g), 1);
}

/* What must become free for that. */
static struct resources lacks(const struct group *g)
{
    return group_asks(g, lacks_members(g));
}

/* The member that asks for most, when it is not the sum that is too large. */
static const char *largest_pod(struct decision *d, const struct group *g)
{
    const struct member *most = NULL;
    const char *text = "";

    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_unplaced(m) &&
            (!most || m->asks.gpus > most->asks.gpus ||
             (m->asks.gpus == most->asks.gpus && m->asks.cpu_milli > most->asks.cpu_milli)))
            most = m;
    for (size_t i = 0; most && i < ELEMS(order); i++)
        if (order[i] != RESOURCE_PODS && resources_get(&most->asks, order[i]) > 0)
            text = arena_printf(d->arena, "%s%s%s", text ? text : "", text && *text ? ", " : "",
                                amount(d, &most->asks, order[i]));
    return text && *text ? text : "its size";
}

/* "disk=ssd, zone=a" */
static const char *selector_text(struct decision *d, const struct json *selector)
{
    const char *text = "";

    json_each (m, selector)
        text = arena_printf(d->arena, "%s%s%s=%s", text ? text : "", text && *text ? ", " : "",
                            m->key, json_string(m, ""));
    return text;
}

/* The most of each resource on a single node where the member may run (NULL: on any); false: it may
 * run nowhere. */
static bool largest_node(struct ledger *l, const struct member *m, struct resources *ret)
{
    bool any = false;

    *ret = (struct resources){0};
    for (size_t i = 0; i < l->ready_len; i++) {
        if (m && !place_is_allowed(l, m, l->ready[i], ROOM_EMPTY))
            continue;
        any = true;
        for (enum resource r = 0; r < RESOURCE_COUNT; r++)
            ret->amount[r] = max_i64(ret->amount[r], l->ready[i]->total.amount[r]);
    }
    return any;
}

/* The next waiting member after `last` (NULL: the first) that nodes treat unlike it. */
static const struct member *next_shape(const struct group *g, const struct member *last)
{
    const struct member *m = last ? last->next : g->first;

    while (m && (!member_is_unplaced(m) || (last && m->shape == last->shape)))
        m = m->next;
    return m;
}

static const char *joined(struct decision *d, const char *text, const char *between,
                          const char *more)
{
    return arena_printf(d->arena, "%s%s%s", text ? text : "", text && *text ? between : "", more);
}

static const struct json *offers(const struct ledger *l, size_t i)
{
    return json_at(l->find(l->arg, &kind_node, "", l->ready[i]->name), "status", "allocatable");
}

/* Whether no node offers all of the extended resources it asks for. */
static bool lacks_offers(struct decision *d, const struct member *m)
{
    const struct json *spec = json_get(member_pod(d->ledger, m), "spec");

    for (size_t i = 0; m->extended && i < d->ledger->ready_len; i++)
        if (!pod_unoffered(spec, offers(d->ledger, i), NULL, NULL))
            return false;
    return m->extended;
}

static bool is_label_of_a_node(struct decision *d, const char *key)
{
    const struct ledger *l = d->ledger;

    for (size_t i = 0; i < l->ready_len; i++)
        if (object_label(l->find(l->arg, &kind_node, "", l->ready[i]->name), key))
            return true;
    return false;
}

/* The label over which the pod must be spread although no node has it, or NULL. */
static const char *unknown_spread(struct decision *d, const struct json *pod)
{
    json_each (c, json_at(pod, "spec", "topologySpreadConstraints")) {
        const char *key = json_get_string(c, "topologyKey", "");

        if (json_string_is(json_get(c, "whenUnsatisfiable"), "DoNotSchedule") &&
            !is_label_of_a_node(d, key))
            return key;
    }
    return NULL;
}

/* The node it asks for by name, as from a template's nodeName, or NULL. */
static const char *named_node(const struct json *pod)
{
    const struct json *terms = json_at(pod, "spec", "affinity", "nodeAffinity",
                                       "requiredDuringSchedulingIgnoredDuringExecution",
                                       "nodeSelectorTerms");
    const struct json *field = json_first(json_get(json_first(terms), "matchFields"));

    if (json_len(terms) != 1 || !json_string_is(json_get(field, "operator"), "In") ||
        json_len(json_get(field, "values")) != 1)
        return NULL;
    return json_string(json_first(json_get(field, "values")), NULL);
}

/* That node does not exist; NULL: something else is wrong. */
static const char *absent_node(struct decision *d, const struct json *pod)
{
    const char *name = named_node(pod);
    const struct node_room *n = name ? map_gets(&d->ledger->nodes, name) : NULL;

    if (!name || (n && n->exists))
        return NULL;
    return arena_printf(d->arena, "there is no node \"%s\"", name);
}

/* Ready or not. */
static bool a_node_has_labels(struct decision *d, const struct json *labels)
{
    map_for_each (node, &d->ledger->nodes) {
        const struct node_room *n = node->value;

        if (n->exists && label_map_matches(labels, object_labels(d->ledger->find(
                                                       d->ledger->arg, &kind_node, "", n->name))))
            return true;
    }
    return false;
}

/* "dedicated=x:NoSchedule" */
static const char *taint_text(struct decision *d, const struct json *taint)
{
    const char *value = json_get_string(taint, "value", "");

    return arena_printf(d->arena, "%s%s%s:%s", json_get_string(taint, "key", ""), *value ? "=" : "",
                        value, json_get_string(taint, "effect", ""));
}

/* The first node from which only a taint keeps it, or NULL. */
static const char *tainted(struct decision *d, const struct member *m)
{
    const struct ledger *l = d->ledger;

    for (size_t i = 0; i < l->ready_len; i++) {
        const struct json *taint = constraints_taint(d->ledger, m, l->ready[i]);

        if (taint)
            return arena_printf(d->arena,
                                "node %s, which its nodeSelector, affinity and queue allow, has "
                                "the taint %s, which it does not tolerate",
                                l->ready[i]->name, taint_text(d, taint));
    }
    return NULL;
}

/* The taint that alone keeps one of its pods from a node with enough of everything; NULL: none. */
static const char *only_taint(struct decision *d, const struct group *g, bool at_once,
                              const char **ret_node)
{
    struct ledger *l = d->ledger;

    for (const struct member *m = next_shape(g, NULL); m && l->has_taints; m = next_shape(g, m))
        for (size_t i = 0; i < l->ready_len; i++) {
            struct resources room = l->ready[i]->total;
            const struct json *taint;

            if (at_once)
                resources_subtract(&room, &l->ready[i]->used);
            if (!l->ready[i]->tainted || !place_fits(l, &m->asks, &room))
                continue;
            taint = constraints_taint(l, m, l->ready[i]);
            if (!taint)
                continue;
            *ret_node = l->ready[i]->name;
            return taint_text(d, taint);
        }
    return NULL;
}

/* No node belongs to its queue; NULL: some do. */
static const char *outside_queue(struct decision *d, const struct queue_entry *q)
{
    const struct json *selector = json_at(
        d->ledger->find(d->ledger->arg, &kind_queue, QUEUE_NAMESPACE, q->name), "spec",
        "nodeSelector");

    for (size_t i = 0; i < d->ledger->ready_len; i++)
        if (queue_allows_node(d->ledger, q, d->ledger->ready[i]))
            return NULL;
    if (json_get(selector, "matchLabels"))
        selector = json_get(selector, "matchLabels");
    return arena_printf(d->arena, "no node has the labels of the nodeSelector of queue \"%s\": %s",
                        q->name, selector_text(d, selector));
}

/* Why it may run nowhere, but for extended resources that no node offers. */
static const char *nowhere(struct decision *d, const struct member *m, const char *missing)
{
    const struct json *pod = member_pod(d->ledger, m);
    const struct json *selector = json_at(pod, "spec", "nodeSelector");
    const char *lacking = absent_node(d, pod);

    if (lacking)
        return lacking;
    lacking = unknown_spread(d, pod);
    if (lacking)
        return arena_printf(d->arena,
                            "no node has the label \"%s\", the topologyKey of its "
                            "topologySpreadConstraints",
                            lacking);
    if (json_len(selector) && !a_node_has_labels(d, selector))
        return arena_printf(d->arena, "no node has the labels of the nodeSelector: %s",
                            selector_text(d, selector));
    lacking = outside_queue(d, m->group->queue);
    if (!lacking)
        lacking = tainted(d, m);
    if (!lacking && lacks_offers(d, m))
        return *missing ? "" : "no node offers all of the extended resources it asks for";
    return lacking ? lacking
                   : "no node is one that its nodeSelector, affinity, tolerations and queue allow";
}

/* What is too small: the only node, all nodes together, the largest, the allowed one. */
enum whose { WHOSE_ONE, WHOSE_ALL, WHOSE_LARGEST, WHOSE_LARGEST_ALLOWED, WHOSE_ONLY };

static const char *shortage(struct decision *d, enum whose whose, const char *only,
                            const char *asks, const char *has)
{
    switch (whose) {
    case WHOSE_ONE:
        return arena_printf(d->arena, "asks %s, the node has %s", asks, has);
    case WHOSE_ALL:
        return arena_printf(d->arena, "asks %s, the %zu nodes together have %s", asks,
                            d->ledger->ready_len, has);
    case WHOSE_LARGEST:
        return arena_printf(d->arena, "a pod asks %s, the largest node has %s", asks, has);
    case WHOSE_LARGEST_ALLOWED:
        return arena_printf(d->arena, "a pod asks %s, the largest node that it may use has %s",
                            asks, has);
    case WHOSE_ONLY:
        break;
    }
    return arena_printf(d->arena, "asks %s, %s has %s", asks, only, has);
}

/* The most of each resource that a single waiting pod asks for. */
static struct resources largest_asks(const struct group *g)
{
    struct resources most = {0};

    for (const struct member *m = g->first; m; m = m->next) {
        if (!member_is_unplaced(m))
            continue;
        most.cpu_milli = max_i64(most.cpu_milli, m->asks.cpu_milli);
        most.memory_bytes = max_i64(most.memory_bytes, m->asks.memory_bytes);
        most.gpus = max_i64(most.gpus, m->asks.gpus);
        most.gpu_shares = max_i64(most.gpu_shares, m->asks.gpu_shares);
        most.pods = max_i64(most.pods, m->asks.pods);
    }
    return most;
}

/* Adds "asks 5 CPU, the node has 4" for each insufficient resource; if `one` is given and differs,
 * also how much of it a single pod asks for. */
static const char *too_little(struct decision *d, const char *text, const struct resources *asks,
                              const struct resources *one, const struct resources *has,
                              enum whose whose, const char *only)
{
    for (size_t i = 0; i < ELEMS(order); i++) {
        enum resource r = order[i];
        const char *words;

        if (!ledger_counts(d->ledger, r) || resources_get(asks, r) <= resources_get(has, r))
            continue;
        words = amount(d, asks, r);
        if (one && r != RESOURCE_PODS && resources_get(one, r) < resources_get(asks, r))
            words = arena_printf(d->arena, "%s (up to %s a pod)", words, number(d, one, r));
        text = joined(d, text, "; ", shortage(d, whose, only, words, number(d, has, r)));
    }
    return text;
}

/* Of each resource, the pod that asks most of those too large for every node they may run on. */
static const char *too_large(struct decision *d, const struct group *g, const char *text)
{
    struct resources asks = {0}, has = {0}, most, any;
    enum whose whose = WHOSE_LARGEST;

    (void)largest_node(d->ledger, NULL, &any);
    for (const struct member *m = next_shape(g, NULL); m; m = next_shape(g, m)) {
        if (!largest_node(d->ledger, m, &most))
            (void)largest_node(d->ledger, NULL, &most);
        for (enum resource r = 0; r < RESOURCE_COUNT; r++)
            if (m->asks.amount[r] > max_i64(most.amount[r], asks.amount[r])) {
                asks.amount[r] = m->asks.amount[r];
                has.amount[r] = most.amount[r];
            }
    }
    for (enum resource r = 0; r < RESOURCE_COUNT; r++)
        if (asks.amount[r] && has.amount[r] < any.amount[r])
            whose = WHOSE_LARGEST_ALLOWED;
    return too_little(d, text, &asks, NULL, &has, whose, "");
}

/* An extended resource, in thousandths: of one pod and the largest offer, and of all. */
struct extended {
    int64_t asks, has, asks_all, has_all;
};

static struct extended extended_of(struct decision *d, const struct group *g, const char *resource)
{
    int64_t left = lacks_members(g), asks = 0;
    const struct member *last = NULL;
    struct extended e = {0};

    for (const struct member *m = g->first; m; m = m->next) {
        if (!member_is_unplaced(m))
            continue;
        if (!last || m->shape != last->shape)
            asks = pod_amount_milli(json_get(member_pod(d->ledger, m), "spec"), "requests",
                                    resource);
        last = m;
        e.asks = max_i64(e.asks, asks);
        if (left-- > 0)
            e.asks_all = add_i64(e.asks_all, asks);
    }
    for (size_t i = 0; i < d->ledger->ready_len; i++) {
        int64_t has = quantity_json_milli(json_get(offers(d->ledger, i), resource), 0);

        e.has = max_i64(e.has, has);
        e.has_all = add_i64(e.has_all, has);
    }
    return e;
}

/* "asks 6 rdma/hca, the node has 4" */
static const char *sum_of(struct decision *d, const char *resource, const struct extended *e)
{
    char asks[QUANTITY_TEXT_SIZE], has[QUANTITY_TEXT_SIZE];

    return shortage(
        d, d->ledger->ready_len == 1 ? WHOSE_ONE : WHOSE_ALL, "",
        arena_printf(d->arena, "%s %s", quantity_format_milli(e->asks_all, asks), resource),
        quantity_format_milli(e->has_all, has));
}

/* "amd.com/gpu, rdma/hca": what its pods ask for that no node offers. ret_sums: what only all of
 * them together lack, as too_little() has it. */
static const char *unoffered(struct decision *d, const struct group *g, const char **ret_sums)
{
    struct json *seen = json_new_object(d->arena);
    const char *text = "", *resource;

    *ret_sums = "";

    for (const struct member *m = next_shape(g, NULL); m; m = next_shape(g, m)) {
        const struct json *spec = json_get(member_pod(d->ledger, m), "spec");

        while (m->extended && (resource = pod_unoffered(spec, seen, NULL, NULL)) &&
               !json_get(seen, resource)) {
            const struct extended e = extended_of(d, g, resource);

            if (e.asks > e.has)
                text = joined(d, text, ", ", resource);
            else if (e.asks_all > e.has_all)
                *ret_sums = joined(d, *ret_sums, "; ", sum_of(d, resource, &e));
            json_set_string(d->arena, seen, resource, OFFERED_MOST);
            if (arena_failed(d->arena))
                return *ret_sums = "";
        }
    }
    return text ? text : "";
}

/* Options of muster up that give the only machine more of what is missing. */
static size_t options_that_help(const struct ledger *l, const struct resources *asks,
                                const char *ret[RESOURCE_COUNT + 1])
{
    size_t n = 0;

    if (l->ready_len != 1 || l->ready[0]->elsewhere)
        return 0;
    if (!l->overcommit && asks->cpu_milli > l->total.cpu_milli)
        ret[n++] = "--cpus";
    if (!l->overcommit && asks->memory_bytes > l->total.memory_bytes)
        ret[n++] = "--memory";
    if (n > 0)
        ret[n++] = "--overcommit";
    if (asks->gpus > l->total.gpus)
        ret[n++] = "--gpus if the machine has more";
    if (asks->gpu_shares > l->total.gpu_shares)
        ret[n++] = "--gpu-shares";
    return n;
}

/* Whether each of its pods would fit alone. */
static bool fewer_would_fit(struct decision *d, const struct group *g)
{
    size_t waiting = 0;

    for (const struct member *m = g->first; m; m = m->next) {
        struct resources most;

        if (!member_is_unplaced(m))
            continue;
        waiting++;
        if (!largest_node(d->ledger, m, &most) || !place_fits(d->ledger, &m->asks, &most))
            return false;
    }
    return waiting > 1;
}

static const char *what_helps(struct decision *d, const struct group *g,
                              const struct resources *asks)
{
    const char *options[RESOURCE_COUNT + 1], *list = "";
    size_t n = options_that_help(d->ledger, asks, options);
    bool fewer = fewer_would_fit(d, g);

    const char *node, *taint = only_taint(d, g, false, &node);

    if (taint)
        return arena_printf(d->arena,
                            " (what helps: smaller requests, or, for node %s, a toleration of %s)",
                            node, taint);
    if (n == 0)
        return fewer ? " (what helps: smaller requests or fewer replicas)"
                     : " (what helps: smaller requests)";
    for (size_t i = 0; i < n; i++)
        list = arena_printf(
            d->arena, "%s%s", list ? list : "",
            i == 0 ? options[i]
                   : arena_printf(d->arena, i + 1 == n ? " or %s" : ", %s", options[i]));
    if (fewer)
        return arena_printf(d->arena,
                            " (what helps: smaller requests, fewer replicas, or muster up with %s)",
                            list);
    return arena_printf(d->arena, " (what helps: smaller requests, or muster up with %s)", list);
}

/* Whether one of its pods could run there if it were empty. */
static bool would_take(struct ledger *l, const struct group *g, const struct node_room *n)
{
    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_unplaced(m) && place_fits(l, &m->asks, &n->total) &&
            place_is_allowed(l, m, n, ROOM_EMPTY))
            return true;
    return false;
}

/* The first of the cordoned or lost nodes that would help, and how many others there are. */
static const char *useful(struct decision *d, const struct group *g, bool cordoned,
                          size_t *ret_more)
{
    const char *first = NULL;

    *ret_more = 0;
    map_for_each (node, &d->ledger->nodes) {
        const struct node_room *n = node->value;

        if (n->ready || !n->exists || n->cordoned != cordoned || !would_take(d->ledger, g, n))
            continue;
        *ret_more += first ? 1 : 0;
        first = first ? first : n->name;
    }
    return first;
}

static const char *no_node(struct decision *d, const struct group *g)
{
    size_t more;
    const char *first = useful(d, g, true, &more);

    if (!first)
        return "waiting for a node: none is ready";
    if (more == 0)
        return arena_printf(d->arena,
                            "waiting for a node: none is ready; node %s is cordoned (kubectl "
                            "uncordon %s)",
                            first, first);
    return arena_printf(d->arena,
                        "waiting for a node: none is ready; node %s and %zu more are cordoned "
                        "(kubectl uncordon %s)",
                        first, more, first);
}

static const char *cordoned(struct decision *d, const struct group *g)
{
    size_t more;
    const char *first = useful(d, g, true, &more);

    if (!first)
        return "waiting for nodes that are cordoned";
    if (more == 0)
        return arena_printf(
            d->arena, "waiting for node %s, which is cordoned (kubectl uncordon %s)", first, first);
    return arena_printf(d->arena,
                        "waiting for nodes that are cordoned: %s and %zu more (kubectl uncordon "
                        "%s)",
                        first, more, first);
}

static const char *not_ready(struct decision *d, const struct group *g)
{
    size_t more;
    const char *first = useful(d, g, false, &more);

    if (!first)
        return "waiting for nodes that are not ready";
    if (more == 0)
        return arena_printf(d->arena, "waiting for node %s, which is not ready", first);
    return arena_printf(d->arena, "waiting for nodes that are not ready: %s and %zu more", first,
                        more);
}

/* --- one node --------------------------------------------------------------------------------- */

/* The only one of several ready nodes where all waiting pods may run, or NULL. */
static const struct node_room *only_node(struct ledger *l, const struct group *g)
{
    const struct node_room *only = NULL;
    const struct member *last = NULL;

    for (const struct member *m = l->ready_len > 1 ? g->first : NULL; m; m = m->next) {
        if (!member_is_unplaced(m) || (last && m->shape == last->shape))
            continue;
        if (!m->constrained && !l->has_taints && !g->queue->on_some_nodes)
            return NULL;
        for (size_t i = 0; i < l->ready_len; i++) {
            if (!place_is_allowed(l, m, l->ready[i], ROOM_EMPTY))
                continue;
            if (only && only != l->ready[i])
                return NULL;
            only = l->ready[i];
        }
        last = m;
    }
    return only;
}

/* Why only that one; among ready nodes, with another that would take it. */
static const char *why_only(struct decision *d, const struct group *g)
{
    const struct member *m = g->first;
    const char *other;
    size_t more;

    while (m && !member_is_unplaced(m))
        m = m->next;
    if (m && named_node(member_pod(d->ledger, m)))
        return "which its nodeName names";
    other = useful(d, g, true, &more);
    if (other)
        return arena_printf(d->arena,
                            "the only ready one that its nodeSelector, affinity, tolerations and "
                            "queue allow (node %s is cordoned: kubectl uncordon %s)",
                            other, other);
    other = useful(d, g, false, &more);
    if (other)
        return arena_printf(d->arena,
                            "the only ready one that its nodeSelector, affinity, tolerations and "
                            "queue allow (node %s is not ready)",
                            other);
    return "the only one that its nodeSelector, affinity, tolerations and queue allow";
}

/* "node "n1", which its nodeName names," */
static const char *node_text(struct decision *d, const struct group *g, const struct node_room *n)
{
    return arena_printf(d->arena, "node \"%s\", %s,", n->name, why_only(d, g));
}

/* Which constraint keeps its pods apart although a node has room; NULL: none. */
static const char *keeping_apart(struct decision *d, const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next) {
        const struct json *pod = member_pod(d->ledger, m);

        if (!member_is_unplaced(m))
            continue;
        if (m->repels)
            return "required podAntiAffinity";
        json_each (c, json_at(pod, "spec", "topologySpreadConstraints"))
            if (json_string_is(json_get(c, "whenUnsatisfiable"), "DoNotSchedule"))
                return "topologySpreadConstraints";
        if (json_at(pod, "spec", "affinity", "podAffinity",
                    "requiredDuringSchedulingIgnoredDuringExecution"))
            return "required podAffinity";
        if (m->extended)
            return arena_printf(d->arena, "request for %s",
                                pod_unoffered(json_get(pod, "spec"), NULL, NULL, NULL));
    }
    return NULL;
}

/* Whether, beyond those that empty nodes take, the rest has room but is kept apart. */
static const char *too_many_apart(struct decision *d, struct group *g)
{
    struct ledger *l = d->ledger;
    const char *what = keeping_apart(d, g);
    int64_t fit = what ? place_count_fitting(l, g, ROOM_EMPTY) : 0;
    struct resources one = group_asks(g, 1);
    int64_t room = 0;

    for (size_t i = 0; i < l->ready_len && what; i++) {
        int64_t here = group_required(g);

        if (!constraints_allow_but_for_pods(l, g->first, l->ready[i]))
            continue;
        for (enum resource r = 0; r < RESOURCE_COUNT; r++)
            if (one.amount[r] > 0 && ledger_counts(l, r))
                here = min_i64(here, l->ready[i]->total.amount[r] / one.amount[r]);
        room += here;
    }
    if (fit == 0 || room < group_required(g))
        return NULL;
    return arena_printf(d->arena,
                        NEVER_FITS ": its %s lets %" PRId64 " of %" PRId64
                                   " pods run at once (what helps: fewer replicas or more nodes)",
                        what, fit, group_required(g));
}

/* Why some of its pods may run nowhere, whatever room there is; "": all may run somewhere. */
static const char *all_nowhere(struct decision *d, const struct group *g, const char *missing)
{
    const char *text = "", *why;
    struct resources most;

    for (const struct member *m = next_shape(g, NULL); m; m = next_shape(g, m)) {
        why = largest_node(d->ledger, m, &most) ? "" : nowhere(d, m, missing);
        if (why && *why && text && !strstr(text, why))
            text = joined(d, text, "; ", why);
    }
    if (*missing)
        text = joined(d, text, "; ", arena_printf(d->arena, "no node offers enough %s", missing));
    return text ? text : "";
}

/* All that is short is told at once: who mends one thing should not find the next one then. */
static const char *never_on(struct decision *d, struct group *g)
{
    const struct ledger *l = d->ledger;
    struct resources asks = lacks(g), each = largest_asks(g);
    const char *sums, *missing = unoffered(d, g, &sums), *outside = all_nowhere(d, g, missing);
    const char *text, *apart;
    const struct node_room *only = *outside ? NULL : only_node(d->ledger, g);
    bool one = l->ready_len == 1;

    text = only ? too_little(d, "", &asks, &each, &only->total, WHOSE_ONLY, node_text(d, g, only))
                : too_little(d, outside, &asks, &each, &l->total, one ? WHOSE_ONE : WHOSE_ALL, "");
    if (!one && !only)
        text = too_large(d, g, text);
    if (*sums && text && *text)
        text = joined(d, text, "; ", sums);
    if (*outside && text == outside)
        return arena_printf(d->arena, NEVER_FITS ": %s%s", outside,
                            *missing ? " (what helps: smaller requests, or a node that offers more)"
                                     : "");
    apart = text && !*text ? too_many_apart(d, g) : NULL;
    if (apart)
        return apart;
    if ((!text || !*text) && g->holding > 0)
        return arena_printf(d->arena,
                            NEVER_FITS ": no node has room for more of its pods beside those it "
                                       "has: the largest pod asks %s%s",
                            largest_pod(d, g), what_helps(d, g, &asks));
    if (!text || !*text)
        return arena_printf(d->arena,
                            NEVER_FITS ": there is enough in all, but not where its pods would "
                                       "need it: the largest pod asks %s%s",
                            largest_pod(d, g), what_helps(d, g, &asks));
    return arena_printf(d->arena, NEVER_FITS ": %s%s", text, what_helps(d, g, &asks));
}

/* Cordoned and lost nodes would not help either. */
static const char *never(struct decision *d, struct group *g)
{
    struct ready_nodes before = place_count_also(d->ledger, true);
    const char *text = never_on(d, g);

    place_put_back(d->ledger, &before);
    return text;
}

/* --- holders ---------------------------------------------------------------------------------- */

static int64_t holds(const struct group *g, enum resource which, bool anywhere)
{
    return resources_get(anywhere ? &g->held : &g->held_ready, which);
}

static bool holds_more(const struct group *a, const struct group *b, enum resource which,
                       bool anywhere)
{
    int64_t left = holds(a, which, anywhere), right = b ? holds(b, which, anywhere) : 0;

    return !b || left > right || (left == right && strcmp(a->key, b->key) < 0);
}

static void add_holder(struct holders *of, const struct group *g, enum resource which,
                       bool anywhere)
{
    if (holds(g, which, anywhere) == 0)
        return;
    of->len++;
    if (holds_more(g, of->most, which, anywhere)) {
        of->second = of->most;
        of->most = g;
    } else if (holds_more(g, of->second, which, anywhere)) {
        of->second = g;
    }
}

/* Of counted resources on ready nodes; includes groups starting by this decision. */
static void find_holders(struct decision *d, enum resource which)
{
    if (d->holders[which].at == d->ledger->walks)
        return;
    d->holders[which].at = d->ledger->walks;
    map_for_each (node, &d->ledger->queues) {
        const struct queue_entry *q = node->value;

        for (const struct group *g = q->running; g; g = g->next_running)
            add_holder(&d->holders[which], g, which, false);
    }
    for (const struct group *g = d->looked; g; g = g->next_looked)
        if (!g->at_running)
            add_holder(&d->holders[which], g, which, false);
}

static const char *until(struct decision *d, const struct group *g)
{
    int64_t end = group_end_ms(g);
    char text[TIME_TEXT_SIZE];

    return end ? arena_printf(d->arena, " until %s at the latest", time_format(end, text)) : "";
}

/* The part of what a group without a job holds for pods that do not exist: nothing may ever create
 * them. */
static const char *for_absent(struct decision *d, const struct group *g, enum resource which)
{
    int64_t absent = 0;

    for (const struct member *m = g->of_job ? NULL : g->first; m; m = m->next)
        if (m->node && !m->has_pod)
            absent = add_i64(absent, resources_get(&m->asks, which));
    return absent ? arena_printf(d->arena, ", %s of it for pods that are not there",
                                 resource_number(d->arena, which, absent))
                  : "";
}

/* "; it holds 1 CPU itself; job "a" (queue q) holds 4 CPU, 2 more hold the rest". */
static const char *holders_text(struct decision *d, enum resource which, int64_t own,
                                const struct group *most, int64_t of_most, int64_t others,
                                const char *queue, const char *there)
{
    struct arena *a = d->arena;
    const char *itself = own > 0 ? arena_printf(a, "; it holds %s%s itself",
                                                resource_text(a, which, own), there)
                                 : "";

    if (!most || !itself)
        return itself ? itself : "";
    return arena_printf(a, "%s%s", itself,
                        arena_printf(a, "; %s \"%s\"%s holds %s%s%s%s%s", most->word, most->owner,
                                     queue, resource_text(a, which, of_most), there,
                                     for_absent(d, most, which), until(d, most),
                                     others > 0
                                         ? arena_printf(a, ", %" PRId64 " more hold%s the rest",
                                                        others, others == 1 ? "s" : "")
                                         : ""));
}

static const char *in_queue(struct decision *d, const struct group *g)
{
    return g ? arena_printf(d->arena, " (queue %s)", g->queue->name) : "";
}

/* The holders of what is missing: the group itself, the largest other holder, how many more. */
static const char *holders(struct decision *d, const struct group *g, enum resource which)
{
    const struct holders *of = &d->holders[which];
    int64_t own = holds(g, which, false);
    const struct group *most;

    find_holders(d, which);
    most = of->most == g ? of->second : of->most;
    return holders_text(d, which, own, most, most ? holds(most, which, false) : 0,
                        of->len - (own > 0) - 1, in_queue(d, most), "");
}

struct ending {
    const struct group *group;
    int64_t end_ms;
};

static int ending_compare(const void *left, const void *right)
{
    const struct ending *a = left, *b = right;

    if (a->end_ms != b->end_ms)
        return a->end_ms < b->end_ms ? -1 : 1;
    return strcmp(a->group->key, b->group->key);
}

static size_t add_endings(struct ending *list, const struct queue_entry *q, enum resource which,
                          const struct group *but)
{
    size_t len = 0;

    for (const struct group *g = q->running; g; g = g->next_running) {
        struct ending e = {.group = g, .end_ms = group_end_ms(g)};

        if (!e.end_ms || g == but || holds(g, which, false) == 0)
            continue;
        if (list)
            list[len] = e;
        len++;
    }
    return len;
}

/* When the first in line has enough, having named the largest holder: the others may end
 * earlier. */
static const char *enough(struct decision *d, const struct group *g, enum resource which,
                          int64_t needs, int64_t free)
{
    const struct holders *of = &d->holders[which];
    struct ending *list;
    size_t len = 0, n = 0;
    char text[TIME_TEXT_SIZE];

    if (g->position != 1)
        return "";
    find_holders(d, which);
    map_for_each (node, &d->ledger->queues)
        len += add_endings(NULL, node->value, which, g);
    list = arena_alloc(d->arena, (len + 1) * sizeof(*list));
    if (!list)
        return "";
    map_for_each (node, &d->ledger->queues)
        n += add_endings(list + n, node->value, which, g);
    qsort(list, n, sizeof(*list), ending_compare);
    for (size_t i = 0; i < n; i++) {
        free = add_i64(free, holds(list[i].group, which, false));
        if (free < needs)
            continue;
        if (list[i].group == (of->most == g ? of->second : of->most))
            return ""; /* its end is already mentioned */
        return arena_printf(d->arena, "; %s is free when %s \"%s\" has ended, at %s at the latest",
                            resource_text(d->arena, which, free), list[i].group->word,
                            list[i].group->owner, time_format(list[i].end_ms, text));
    }
    return "";
}

static const char *place_in_line(struct decision *d, const struct group *g)
{
    return g->position > 1 && g->position <= PLACES_TOLD
               ? arena_printf(d->arena, "; number %zu in line", g->position)
               : "";
}

/* --- quotas ----------------------------------------------------------------------------------- */

static void find_holders_in(struct ledger *l, struct queue_entry *q)
{
    if (q->holders[0].at == l->walks)
        return;
    for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
        q->holders[i] = (struct holders){.at = l->walks};
        for (const struct group *g = q->running; g; g = g->next_running)
            add_holder(&q->holders[i], g, i, true);
    }
}

/* Groups starting by this decision are not in any queue's list yet. */
static void find_starting_holders(struct decision *d)
{
    if (d->knows_starting)
        return;
    d->knows_starting = true;
    for (const struct group *g = d->looked; g; g = g->next_looked) {
        if (g->at_running || g->holding == 0)
            continue;
        find_holders_in(d->ledger, g->queue);
        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            add_holder(&g->queue->holders[i], g, i, true);
    }
}

/* Like holders(), for a queue's quota, on any node. */
static const char *quota_holders(struct decision *d, const struct group *g, enum resource which)
{
    const struct holders *of = &g->queue->holders[which];
    int64_t own = holds(g, which, true);
    const struct group *most;

    find_starting_holders(d);
    find_holders_in(d->ledger, g->queue);
    most = of->most == g ? of->second : of->most;
    return holders_text(d, which, own, most, most ? holds(most, which, true) : 0,
                        of->len - (own > 0) - 1, "", "");
}

static bool is_short_in_quota(const struct queue_entry *q, const struct resources *asks,
                              const struct resources *used, enum resource r)
{
    return q->limited[r] && resources_get(asks, r) > 0 &&
           add_i64(resources_get(asks, r), resources_get(used, r)) > resources_get(&q->quota, r);
}

/* The resource of which the quota has too little; RESOURCE_COUNT: none. */
static enum resource short_in_quota(const struct queue_entry *q, const struct resources *asks,
                                    const struct resources *used)
{
    for (size_t i = 0; i < ELEMS(order); i++)
        if (is_short_in_quota(q, asks, used, order[i]))
            return order[i];
    return RESOURCE_COUNT;
}

static const char *quota_forbids(struct decision *d, const struct group *g)
{
    static const struct resources nothing;
    struct resources asks = lacks(g);
    const char *text = "";

    if (g->started)
        resources_add(&asks, &g->held);
    for (size_t i = 0; i < ELEMS(order); i++)
        if (is_short_in_quota(g->queue, &asks, &nothing, order[i]))
            text = joined(d, text, "; ",
                          arena_printf(d->arena, "asks %s, the quota of queue \"%s\" is %s",
                                       amount(d, &asks, order[i]), g->queue->name,
                                       number(d, &g->queue->quota, order[i])));
    return arena_printf(d->arena, NEVER_FITS ": %s",
                        text && *text ? text : "the quota of its queue is too small");
}

static const char *quota(struct decision *d, const struct group *g)
{
    const struct queue_entry *q = g->queue;
    struct resources asks = lacks(g);
    enum resource r = short_in_quota(q, &asks, &q->used);
    const char *who;

    if (r == RESOURCE_COUNT)
        return arena_printf(d->arena, "waiting for the quota of queue \"%s\"%s", q->name,
                            place_in_line(d, g));
    if (g->position > PLACES_TOLD)
        return arena_printf(d->arena,
                            "waiting for the quota of queue \"%s\": needs %s; %d or more are in "
                            "line before it",
                            q->name, amount(d, &asks, r), PLACES_TOLD);
    who = quota_holders(d, g, r);
    if (resources_get(&q->used, r) > resources_get(&q->quota, r))
        return arena_printf(d->arena,
                            "waiting for the quota of queue \"%s\": needs %s, %s is in use, more "
                            "than its %s%s%s",
                            q->name, amount(d, &asks, r), amount(d, &q->used, r),
                            number(d, &q->quota, r), who, place_in_line(d, g));
    return arena_printf(d->arena,
                        "waiting for the quota of queue \"%s\": needs %s, %s of %s is in use%s%s",
                        q->name, amount(d, &asks, r), number(d, &q->used, r),
                        amount(d, &q->quota, r), who, place_in_line(d, g));
}

/* --- waiting for room ------------------------------------------------------------------------- */

/* Whether a waiting pod would have room if other pods did not repel it. */
static bool is_kept_away(struct ledger *l, const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next)
        for (size_t i = 0; i < l->ready_len && member_is_unplaced(m); i++)
            if (place_has_room(l, m, l->ready[i], ROOM_UNHELD) &&
                place_is_allowed(l, m, l->ready[i], ROOM_EMPTY) &&
                !place_is_allowed(l, m, l->ready[i], ROOM_UNHELD))
                return true;
    return false;
}

/* The extended resource of which others hold too much on all nodes with room; NULL: none. */
static const char *used_up(struct ledger *l, const struct group *g)
{
    const char *what = NULL;

    for (const struct member *m = g->first; m && !what; m = m->next)
        for (size_t i = 0; i < l->ready_len && !what && member_is_unplaced(m); i++)
            if (place_has_room(l, m, l->ready[i], ROOM_UNHELD) &&
                place_is_allowed(l, m, l->ready[i], ROOM_EMPTY))
                what = constraints_used_up(l, m, l->ready[i]);
    return what;
}

static const char *kept_away(struct decision *d, const struct group *g)
{
    const char *what = used_up(d->ledger, g);

    if (what)
        return arena_printf(d->arena,
                            "waiting for resources: where there is room for a pod of it other pods "
                            "hold the %s it asks for%s",
                            what, place_in_line(d, g));
    return arena_printf(d->arena,
                        "waiting for other pods: where there is room its affinity, their "
                        "anti-affinity or its topologySpreadConstraints forbid it to run%s",
                        place_in_line(d, g));
}

static bool is_stopping(const struct member *m)
{
    return m->ending || m->evicted || m->group->taker;
}

static const char *gone_by(struct decision *d, int64_t at_ms)
{
    char text[TIME_TEXT_SIZE];

    return at_ms ? arena_printf(d->arena, ", until %s at the latest", time_format(at_ms, text))
                 : "";
}

/* Which ending pods make room for it; NULL: none. */
static const char *stopping(struct decision *d, const struct group *g)
{
    const struct group *first = NULL;
    int64_t of_first = 0, others = 0, gone_ms = 0;
    bool all_asked = true;

    for (size_t i = 0; i < g->claim_len; i++) {
        if (!g->claim[i].is_short)
            continue;
        for (const struct member *m = g->claim[i].node->holders; m; m = m->next_on_node) {
            if (!is_stopping(m))
                continue;
            first = first && strcmp(first->key, m->group->key) < 0 ? first : m->group;
            others++;
            all_asked = all_asked && m->deleting;
            gone_ms = max_i64(gone_ms, m->gone_ms);
        }
    }
    for (const struct member *m = first ? first->first : NULL; m; m = m->next)
        for (size_t i = 0; i < g->claim_len; i++)
            of_first += m->node == g->claim[i].node && g->claim[i].is_short && is_stopping(m);
    others -= of_first;
    if (!first)
        return NULL;
    return arena_printf(d->arena, "waiting for %" PRId64 " pod%s of %s \"%s\"%s to stop%s%s",
                        of_first, of_first == 1 ? "" : "s", first->word, first->owner,
                        others ? arena_printf(d->arena, " and %" PRId64 " of others", others) : "",
                        gone_by(d, all_asked ? gone_ms : 0), place_in_line(d, g));
}

static int64_t free_of(const struct resources *total, const struct resources *used, enum resource r)
{
    return max_i64(resources_get(total, r) - resources_get(used, r), 0);
}

/* The resource of which there is too little in total; false: none. */
static bool is_scarce(const struct ledger *l, const struct group *g, enum resource *ret)
{
    struct resources asks = lacks(g);

    for (size_t i = 0; i < ELEMS(order); i++) {
        *ret = order[i];
        if (ledger_counts(l, *ret) &&
            resources_get(&asks, *ret) > free_of(&l->total, &l->used, *ret))
            return true;
    }
    return false;
}

static const char *free_text(struct decision *d, enum resource r)
{
    return resource_number(d->arena, r, free_of(&d->ledger->total, &d->ledger->used, r));
}

static int64_t held_on(const struct node_room *n, const struct group *g, enum resource which)
{
    int64_t sum = 0;

    for (const struct member *m = n->holders; m; m = m->next_on_node)
        sum = add_i64(sum, m->group == g ? resources_get(&m->asks, which) : 0);
    return sum;
}

static bool is_first_there(const struct member *m)
{
    for (const struct member *other = m->node->holders; other != m; other = other->next_on_node)
        if (other->group == m->group)
            return false;
    return true;
}

/* Like holders(), for one node. */
static const char *holders_on(struct decision *d, const struct group *g, const struct node_room *n,
                              enum resource which)
{
    const struct group *most = NULL;
    int64_t of_most = 0, others = -1;

    for (const struct member *m = n->holders; m; m = m->next_on_node) {
        int64_t held = is_first_there(m) ? held_on(n, m->group, which) : 0;

        if (held == 0 || m->group == g)
            continue;
        others++;
        if (!most || held > of_most || (held == of_most && strcmp(m->group->key, most->key) < 0)) {
            most = m->group;
            of_most = held;
        }
    }
    return holders_text(d, which, held_on(n, g, which), most, of_most, others, in_queue(d, most),
                        " there");
}

/* The only node it may run on is full; NULL: it is not, or there are others. */
static const char *full_node(struct decision *d, const struct group *g)
{
    const struct node_room *only = only_node(d->ledger, g);
    struct resources asks = lacks(g);

    for (size_t i = 0; i < ELEMS(order) && only; i++) {
        enum resource r = order[i];
        int64_t free = free_of(&only->total, &only->used, r);

        if (ledger_counts(d->ledger, r) && resources_get(&asks, r) > free)
            return arena_printf(
                d->arena, "waiting for room on %s where it needs %s, and %s of %s is free%s%s",
                node_text(d, g, only), amount(d, &asks, r), resource_number(d->arena, r, free),
                amount(d, &only->total, r), holders_on(d, g, only, r), place_in_line(d, g));
    }
    return NULL;
}

/* The resource for which it needs the largest fraction of what is free. */
static enum resource scarcest(const struct ledger *l, const struct group *g)
{
    struct resources asks = lacks(g);
    enum resource most = RESOURCE_CPU;
    double of_most = 0;

    for (size_t i = 0; i < ELEMS(order); i++) {
        double part = (double)resources_get(&asks, order[i]) /
                      (double)max_i64(free_of(&l->total, &l->used, order[i]), 1);

        if (ledger_counts(l, order[i]) && part > of_most) {
            most = order[i];
            of_most = part;
        }
    }
    return most;
}

/* There is enough in total, but fragmented. */
static const char *pieces(struct decision *d, const struct group *g, int64_t fit)
{
    const struct ledger *l = d->ledger;
    enum resource r = scarcest(l, g);
    struct resources one = group_asks(g, 1);
    int64_t most = 0;

    for (size_t i = 0; i < l->ready_len; i++)
        most = max_i64(most, free_of(&l->ready[i]->total, &l->ready[i]->used, r));
    if (fit == 0 && most >= resources_get(&one, r)) /* there are other reasons */
        return arena_printf(d->arena, "%s%s", holders(d, g, r), place_in_line(d, g));
    return arena_printf(d->arena, "; %s of %s is free, at most %s on one node%s%s", free_text(d, r),
                        amount(d, &l->total, r), resource_number(d->arena, r, most),
                        holders(d, g, r), place_in_line(d, g));
}

/* Whether the group ahead claims, where this one could run, what is too little for both. */
static bool is_in_the_way(struct ledger *l, const struct group *h, const struct group *g)
{
    struct resources asks = lacks(g);

    for (size_t i = 0; i < h->claim_len; i++) {
        const struct claim_part *part = &h->claim[i];
        const struct node_room *n = part->node;
        struct resources left = place_room(l, n, ROOM_FREE);
        bool is_short = false;

        for (enum resource r = 0; r < RESOURCE_COUNT; r++)
            is_short = is_short || (ledger_counts(l, r) && asks.amount[r] > left.amount[r] &&
                                    asks.amount[r] > 0 && part->asks.amount[r] > 0);
        if (is_short && would_take(l, g, n))
            return true;
    }
    return false;
}

/* The nearest group ahead that has room reserved which it could use, or NULL. */
static const struct group *claimer(struct decision *d, const struct group *g)
{
    for (size_t i = d->heads_len; i > 0; i--) {
        const struct group *h = d->heads[i - 1];

        if (h != g && h->position > 0 && (g->position == 0 || h->position < g->position) &&
            is_in_the_way(d->ledger, h, g))
            return h;
    }
    return NULL;
}

static const char *pieces_and_taint(struct decision *d, struct group *g, int64_t fit)
{
    const char *node, *taint = only_taint(d, g, true, &node);

    return joined(d, pieces(d, g, fit), "",
                  taint ? arena_printf(d->arena,
                                       "; node %s has room, and the taint %s, which it does not "
                                       "tolerate",
                                       node, taint)
                        : "");
}

static const char *room(struct decision *d, struct group *g)
{
    const struct ledger *l = d->ledger;
    const char *said = g->clears ? stopping(d, g) : NULL;
    struct resources asks = lacks(g);
    enum resource r;
    int64_t needs = g->started || g->holding > 0 ? 1 : max_i64(group_required(g), 1), fit;
    const struct group *before;

    if (!said)
        said = full_node(d, g);
    if (said)
        return said;
    if (is_scarce(l, g, &r))
        return arena_printf(
            d->arena, "waiting for resources: needs %s, %s of %s is free%s%s%s",
            amount(d, &asks, r), free_text(d, r), amount(d, &l->total, r), holders(d, g, r),
            enough(d, g, r, resources_get(&asks, r), free_of(&l->total, &l->used, r)),
            place_in_line(d, g));
    if (is_kept_away(d->ledger, g))
        return kept_away(d, g);
    fit = place_count_fitting(d->ledger, g, ROOM_UNHELD);
    before = fit < needs ? NULL : claimer(d, g);
    if (before)
        return arena_printf(d->arena,
                            "waiting for resources: what is free is kept for %s \"%s\", which is "
                            "before it in line%s",
                            before->word, before->owner, place_in_line(d, g));
    if (fit >= needs)
        return arena_printf(d->arena,
                            "waiting for resources: what is free is kept for others before it in "
                            "line%s",
                            place_in_line(d, g));
    if (fit > 0)
        return arena_printf(d->arena,
                            "waiting for resources: there is room for %" PRId64 " of %" PRId64
                            " pods, the largest of %s%s",
                            fit, needs, largest_pod(d, g), pieces_and_taint(d, g, fit));
    return arena_printf(d->arena,
                        "waiting for resources: no node has room for a pod of %s at the moment%s",
                        largest_pod(d, g), pieces_and_taint(d, g, fit));
}

static bool is_constrained(const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_unplaced(m) && m->constrained)
            return true;
    return false;
}

/* The nearest group ahead waiting for the same quota; NULL: it does not lack quota. */
static const struct group *before_in_quota(struct decision *d, const struct group *g)
{
    struct resources asks = lacks(g), beside = g->queue->reserved;
    enum resource which;

    for (size_t i = 0; i < g->claim_len && group_claims(d->ledger, g); i++)
        resources_subtract(&beside, &g->claim[i].asks);
    if (!queue_lacks(g->queue, &asks, &beside, &which))
        return NULL;
    for (size_t i = g->position - 1; i > 0; i--) {
        struct resources other = lacks(d->line[i - 1]);

        if (d->line[i - 1]->queue == g->queue && resources_get(&other, which) > 0)
            return d->line[i - 1];
    }
    return NULL;
}

static const char *turn(struct decision *d, const struct group *g)
{
    const struct ledger *l = d->ledger;
    struct resources asks = lacks(g);
    const struct group *before;
    enum resource r;

    if (g->position == 0 || g->position > PLACES_TOLD)
        return arena_printf(d->arena, "waiting for its turn: %d or more are in line before it",
                            PLACES_TOLD);
    if ((d->ledger->repelling || is_constrained(g)) && is_kept_away(d->ledger, g))
        return kept_away(d, g);
    before = claimer(d, g);
    before = before ? before : before_in_quota(d, g);
    if (before)
        return arena_printf(d->arena, "waiting for its turn: number %zu in line behind %s \"%s\"",
                            g->position, before->word, before->owner);
    if (is_scarce(l, g, &r))
        return arena_printf(d->arena,
                            "waiting for its turn: number %zu in line, needs %s, %s of %s is "
                            "free%s",
                            g->position, amount(d, &asks, r), free_text(d, r),
                            amount(d, &l->total, r), holders(d, g, r));
    return arena_printf(d->arena, "waiting for its turn: number %zu in line", g->position);
}

const char *words_of_members(struct decision *d, const struct group *g)
{
    const struct group_role *role;
    int64_t there;

    if (!g->exists)
        return arena_printf(d->arena,
                            "waiting for its PodGroup: there is none named \"%s\" in namespace %s",
                            g->name, g->ns);
    if (g->wanted > 0 && g->wanted < g->min_member)
        return arena_printf(d->arena,
                            "waiting for pods: %" PRId64 " of %" PRId64
                            " are there, and no more than %" PRId64
                            " come: spec.members is below minMember",
                            group_there(g) + g->unplaced, g->min_member, g->wanted);
    if (group_there(g) + g->unplaced >= g->min_member && group_lacks_role(g, &role, &there))
        return arena_printf(d->arena,
                            "waiting for pods of role \"%s\": %" PRId64 " of %" PRId64 " are there",
                            role->name, there, role->min);
    return arena_printf(d->arena, "waiting for pods: %" PRId64 " of %" PRId64 " are there",
                        group_there(g) + g->unplaced, g->min_member);
}

/* It was preempted and keeps its place in line. */
static const char *again(struct decision *d, const struct group *g)
{
    const char *place = arena_printf(d->arena,
                                     g->position > PLACES_TOLD ? "%zu or more are in line before it"
                                                               : "number %zu in line",
                                     min_size(g->position, PLACES_TOLD));

    if (!place)
        return "";
    if (g->bound > 0)
        return arena_printf(d->arena,
                            "waiting again: %s; %" PRId64 " of its own pods %s still stopping",
                            place, g->bound, g->bound == 1 ? "is" : "are");
    return arena_printf(d->arena, "waiting again: %s; %" PRId64 " of its pods %s not created yet",
                        place, g->due, g->due == 1 ? "is" : "are");
}

const char *words_for(struct decision *d, struct group *g)
{
    switch (g->reason) {
    case WAIT_NONE:
        break;
    case WAIT_MEMBERS:
        return words_of_members(d, g);
    case WAIT_STOPPING:
        return arena_printf(d->arena, "waiting for %" PRId64 " of its own pods to stop", g->bound);
    case WAIT_AGAIN:
        return again(d, g);
    case WAIT_NO_QUEUE:
        return arena_printf(d->arena,
                            "there is no queue \"%s\" in namespace %s: make it "
                            "(muster queue create %s)",
                            g->queue->name, QUEUE_NAMESPACE, g->queue->name);
    case WAIT_NAMESPACE:
        return arena_printf(d->arena,
                            "namespace %s may not use queue \"%s\": its namespaceSelector does not "
                            "select it",
                            g->ns, g->queue->name);
    case WAIT_CLOSED:
        return arena_printf(d->arena,
                            "queue \"%s\" is closed: nothing new is started until it is opened "
                            "(muster queue open %s)",
                            g->queue->name, g->queue->name);
    case WAIT_NO_NODE:
        return no_node(d, g);
    case WAIT_NEVER_FITS:
        return never(d, g);
    case WAIT_CORDONED:
        return cordoned(d, g);
    case WAIT_NOT_READY:
        return not_ready(d, g);
    case WAIT_QUOTA_NEVER:
        return quota_forbids(d, g);
    case WAIT_QUOTA:
        return quota(d, g);
    case WAIT_RESOURCES:
        return room(d, g);
    case WAIT_TURN:
        return turn(d, g);
    }
    return "";
}
