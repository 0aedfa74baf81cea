/*
 * schedule_words.c - says in one sentence why a group waits. Only the first in line is told numbers
 * that change by themselves: each change is a write to the API for every pod that is told them.
 */
#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/decision.h"

/* What is scarcest is named first. */
static const enum resource order[] = {RESOURCE_GPU, RESOURCE_GPU_SHARE, RESOURCE_CPU,
                                      RESOURCE_MEMORY, RESOURCE_PODS};

const char *wait_reason_name(enum wait_reason reason)
{
    static const char *const names[] = {
        [WAIT_NONE] = "",
        [WAIT_MEMBERS] = "InsufficientMember",
        [WAIT_STOPPING] = CONDITION_PREEMPTED,
        [WAIT_NO_QUEUE] = "QueueNotFound",
        [WAIT_NAMESPACE] = "NamespaceNotAllowed",
        [WAIT_CLOSED] = "QueueClosed",
        [WAIT_NO_NODE] = "NoNodeReady",
        [WAIT_NEVER_FITS] = "NeverFits",
        [WAIT_QUOTA_NEVER] = "QuotaForbids",
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

/* What must become free for the group to get on: of one that has started, for one member. */
static struct resources lacks(const struct group *g)
{
    return group_asks(g, g->started || g->holding > 0 ? 1 : max_i64(group_required(g), 1));
}

/* The member that asks for most, for when the sum is not what is wrong. */
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

/* The most of each resource that one node has on which the member may run; false: it may nowhere.
 */
static bool largest_node(struct ledger *l, const struct member *m, struct resources *ret)
{
    bool any = false;

    *ret = (struct resources){0};
    for (size_t i = 0; i < l->ready_len; i++) {
        if (!place_is_allowed(l, m, l->ready[i], ROOM_EMPTY))
            continue;
        any = true;
        for (enum resource r = 0; r < RESOURCE_COUNT; r++)
            ret->amount[r] = max_i64(ret->amount[r], l->ready[i]->total.amount[r]);
    }
    return any;
}

/* What no node offers, of all that the pod asks for. */
static const char *unoffered(struct decision *d, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    const char *lacking = pod_unoffered(spec, NULL);

    for (size_t i = 0; lacking && i < d->ledger->ready_len; i++) {
        const struct json *node = d->ledger->find(d->ledger->arg, &kind_node, "",
                                                  d->ledger->ready[i]->name);

        lacking = pod_unoffered(spec, json_at(node, "status", "allocatable"));
    }
    return lacking;
}

static bool is_label_of_a_node(struct decision *d, const char *key)
{
    const struct ledger *l = d->ledger;

    for (size_t i = 0; i < l->ready_len; i++)
        if (object_label(l->find(l->arg, &kind_node, "", l->ready[i]->name), key))
            return true;
    return false;
}

/* Over which label the pod must be spread though no node has it; NULL: over none. */
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

/* The one node it asks for by name is not there, or takes nothing; NULL: something else is wrong.
 */
static const char *absent_node(struct decision *d, const struct json *pod)
{
    const struct json *terms = json_at(pod, "spec", "affinity", "nodeAffinity",
                                       "requiredDuringSchedulingIgnoredDuringExecution",
                                       "nodeSelectorTerms");
    const struct json *field = json_first(json_get(json_first(terms), "matchFields"));
    const char *name = json_string(json_first(json_get(field, "values")), "");
    const struct node_room *n = map_gets(&d->ledger->nodes, name);

    if (json_len(terms) != 1 || !json_string_is(json_get(field, "operator"), "In") ||
        json_len(json_get(field, "values")) != 1 || (n && n->ready))
        return NULL;
    return arena_printf(d->arena,
                        n && n->exists ? NEVER_FITS ": node \"%s\" is not ready or is cordoned"
                                       : NEVER_FITS ": there is no node \"%s\"",
                        name);
}

static const char *nowhere(struct decision *d, const struct member *m)
{
    const struct json *pod = d->ledger->find(d->ledger->arg, &kind_pod, m->group->ns, m->name);
    const struct json *selector = json_at(pod, "spec", "nodeSelector");
    const char *lacking = absent_node(d, pod);

    if (lacking)
        return lacking;
    lacking = unoffered(d, pod);

    if (lacking)
        return arena_printf(d->arena, NEVER_FITS ": no node offers enough %s", lacking);
    lacking = unknown_spread(d, pod);
    if (lacking)
        return arena_printf(d->arena,
                            NEVER_FITS ": no node has the label \"%s\", the topologyKey of its "
                                       "topologySpreadConstraints",
                            lacking);
    if (json_len(selector) && !m->group->queue->on_some_nodes && !json_at(pod, "spec", "affinity"))
        return arena_printf(d->arena, NEVER_FITS ": no node has the labels of the nodeSelector: %s",
                            selector_text(d, selector));
    return NEVER_FITS ": no node is one that its nodeSelector, affinity, tolerations and queue "
                      "allow";
}

/* Adds "asks 5 CPU, the node has 4" for each resource of which there is too little. */
static const char *too_little(struct decision *d, const char *text, const char *who,
                              const struct resources *asks, const struct resources *has,
                              const char *what_has)
{
    for (size_t i = 0; i < ELEMS(order); i++) {
        enum resource r = order[i];

        if (ledger_counts(d->ledger, r) && resources_get(asks, r) > resources_get(has, r))
            text = arena_printf(d->arena, "%s%s%sasks %s, %s %s", text ? text : "",
                                text && *text ? "; " : "", who, amount(d, asks, r), what_has,
                                number(d, has, r));
    }
    return text;
}

/* Whether a pod of its own is too large for every node it may run on. */
static const char *too_large(struct decision *d, const struct group *g, const char *text)
{
    for (const struct member *m = g->first; m; m = m->next) {
        struct resources most;
        const char *more;

        if (!member_is_unplaced(m) || !largest_node(d->ledger, m, &most))
            continue;
        more = too_little(d, text, "a pod ", &m->asks, &most, "the largest node has");
        if (more != text)
            return more;
    }
    return text;
}

/* The options of muster up that give the one machine there is more of what is missing. */
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

static const char *what_helps(struct decision *d, const struct resources *asks)
{
    const char *options[RESOURCE_COUNT + 1], *text;
    size_t n = options_that_help(d->ledger, asks, options);

    if (n == 0)
        return " (what helps: smaller requests or fewer replicas)";
    text = " (what helps: smaller requests, fewer replicas, or muster up with ";
    for (size_t i = 0; i < n; i++)
        text = arena_printf(d->arena, "%s%s%s", text ? text : "", options[i],
                            i + 1 == n   ? ")"
                            : i + 2 == n ? " or "
                                         : ", ");
    return text;
}

/* The text, and which nodes would be ready. */
static const char *beside_cordoned(struct decision *d, const char *text)
{
    const char *first = NULL;
    size_t more = 0;

    map_for_each (node, &d->ledger->nodes) {
        const struct node_room *n = node->value;

        more += n->cordoned && first;
        first = n->cordoned && !first ? n->name : first;
    }
    if (!first || !text)
        return text;
    if (more == 0)
        return arena_printf(d->arena, "%s; node %s is cordoned (kubectl uncordon %s)", text, first,
                            first);
    return arena_printf(d->arena, "%s; node %s and %zu more are cordoned (kubectl uncordon %s)",
                        text, first, more, first);
}

static const char *never(struct decision *d, const struct group *g)
{
    const struct ledger *l = d->ledger;
    struct resources asks = lacks(g), most;
    bool one = l->ready_len == 1;
    const char *has = one ? "the node has"
                          : arena_printf(d->arena, "the %zu nodes together have", l->ready_len);
    const char *text;

    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_unplaced(m) && !largest_node(d->ledger, m, &most))
            return nowhere(d, m);
    text = too_little(d, "", "", &asks, &l->total, has ? has : "");
    if (!one)
        text = too_large(d, g, text);
    if (!text || !*text)
        return arena_printf(d->arena,
                            NEVER_FITS ": there is enough in all, but not where its pods would "
                                       "need it: the largest pod asks %s%s",
                            largest_pod(d, g), what_helps(d, &asks));
    return arena_printf(d->arena, NEVER_FITS ": %s%s", text, what_helps(d, &asks));
}

/* --- quotas ----------------------------------------------------------------------------------- */

static const char *quota(struct decision *d, const struct group *g, bool ever)
{
    const struct queue_entry *q = g->queue;
    struct resources asks = lacks(g);

    if (!ever && g->started)
        resources_add(&asks, &g->held);
    for (size_t i = 0; i < ELEMS(order); i++) {
        enum resource r = order[i];
        int64_t used = ever ? resources_get(&q->used, r) : 0;

        if (!q->limited[r] || resources_get(&asks, r) == 0 ||
            resources_get(&asks, r) + used <= resources_get(&q->quota, r))
            continue;
        if (!ever)
            return arena_printf(d->arena, NEVER_FITS ": asks %s, the quota of queue \"%s\" is %s",
                                amount(d, &asks, r), q->name, number(d, &q->quota, r));
        if (used > resources_get(&q->quota, r))
            return arena_printf(d->arena,
                                "waiting for the quota of queue \"%s\": needs %s, %s is in use, "
                                "more than its %s",
                                q->name, amount(d, &asks, r), number(d, &q->used, r),
                                amount(d, &q->quota, r));
        return arena_printf(
            d->arena, "waiting for the quota of queue \"%s\": needs %s, %s of %s is in use",
            q->name, amount(d, &asks, r), number(d, &q->used, r), amount(d, &q->quota, r));
    }
    return arena_printf(d->arena, "waiting for the quota of queue \"%s\"", q->name);
}

/* --- room ------------------------------------------------------------------------------------- */

static bool holds_more(const struct group *a, const struct group *b, enum resource which)
{
    int64_t left = resources_get(&a->held_ready, which);
    int64_t right = b ? resources_get(&b->held_ready, which) : 0;

    return !b || left > right || (left == right && strcmp(a->key, b->key) < 0);
}

static void add_holder(struct decision *d, const struct group *g, enum resource which)
{
    if (resources_get(&g->held_ready, which) == 0)
        return;
    d->holders[which].len++;
    if (holds_more(g, d->holders[which].most, which)) {
        d->holders[which].second = d->holders[which].most;
        d->holders[which].most = g;
    } else if (holds_more(g, d->holders[which].second, which)) {
        d->holders[which].second = g;
    }
}

/* Of what is counted, on nodes that are ready; who starts by this decision holds it too. */
static void find_holders(struct decision *d, enum resource which)
{
    if (d->holders[which].known)
        return;
    d->holders[which].known = true;
    map_for_each (node, &d->ledger->queues) {
        const struct queue_entry *q = node->value;

        for (const struct group *g = q->running; g; g = g->next_running)
            add_holder(d, g, which);
    }
    for (const struct group *g = d->looked; g; g = g->next_looked)
        if (!g->at_running)
            add_holder(d, g, which);
}

static const char *until(struct decision *d, const struct group *g)
{
    int64_t end = group_end_ms(g);
    char text[TIME_TEXT_SIZE];

    return end ? arena_printf(d->arena, " until %s at the latest", time_format(end, text)) : "";
}

/* Who has what is missing: the group itself, of others the one that holds most, how many more. */
static const char *holders(struct decision *d, const struct group *g, enum resource which)
{
    bool own = resources_get(&g->held_ready, which) > 0;
    const char *itself = own ? arena_printf(d->arena, "; it holds %s itself",
                                            amount(d, &g->held_ready, which))
                             : "";
    const struct group *most;
    int64_t others;

    find_holders(d, which);
    most = d->holders[which].most == g ? d->holders[which].second : d->holders[which].most;
    others = d->holders[which].len - own - 1;
    if (!most || !itself)
        return itself ? itself : "";
    return arena_printf(d->arena, "%s; %s \"%s\" (queue %s) holds %s%s%s", itself, most->word,
                        most->owner, most->queue->name, amount(d, &most->held_ready, which),
                        until(d, most),
                        others > 0 ? arena_printf(d->arena, ", %" PRId64 " more hold%s the rest",
                                                  others, others == 1 ? "s" : "")
                                   : "");
}

static const char *place_in_line(struct decision *d, const struct group *g)
{
    return g->position > 1 && g->position <= POSITIONS_TOLD
               ? arena_printf(d->arena, "; number %zu in line", g->position)
               : "";
}

/* Whether a pod that waits would have room if only others let it. */
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

static const char *kept_away(struct decision *d, const struct group *g)
{
    return arena_printf(d->arena,
                        "waiting for other pods: where there is room its affinity, their "
                        "anti-affinity or its topologySpreadConstraints forbid it to run%s",
                        place_in_line(d, g));
}

static bool is_stopping(const struct member *m)
{
    return m->ending || m->evicted || m->group->taker;
}

/* Which pods make room for it by ending; NULL: none do. */
static const char *stopping(struct decision *d, const struct group *g)
{
    const struct group *first = NULL;
    int64_t of_first = 0, others = 0;

    for (size_t i = 0; i < g->claim_len; i++) {
        if (!g->claim[i].is_short)
            continue;
        for (const struct member *m = g->claim[i].node->holders; m; m = m->next_on_node) {
            if (!is_stopping(m))
                continue;
            first = first && strcmp(first->key, m->group->key) < 0 ? first : m->group;
            others++;
        }
    }
    for (const struct member *m = first ? first->first : NULL; m; m = m->next)
        for (size_t i = 0; i < g->claim_len; i++)
            of_first += m->node == g->claim[i].node && g->claim[i].is_short && is_stopping(m);
    others -= of_first;
    if (!first)
        return NULL;
    return arena_printf(d->arena, "waiting for %" PRId64 " pod%s of %s \"%s\"%s to stop%s",
                        of_first, of_first == 1 ? "" : "s", first->word, first->owner,
                        others ? arena_printf(d->arena, " and %" PRId64 " of others", others) : "",
                        place_in_line(d, g));
}

static const char *room(struct decision *d, const struct group *g)
{
    const struct ledger *l = d->ledger;
    const char *ends = g->clears ? stopping(d, g) : NULL;
    struct resources asks = lacks(g);

    if (ends)
        return ends;

    for (size_t i = 0; i < ELEMS(order); i++) {
        enum resource r = order[i];
        int64_t free = max_i64(resources_get(&l->total, r) - resources_get(&l->used, r), 0);

        if (ledger_counts(l, r) && resources_get(&asks, r) > free)
            return arena_printf(d->arena, "waiting for resources: needs %s, %s of %s is free%s%s",
                                amount(d, &asks, r), resource_number(d->arena, r, free),
                                amount(d, &l->total, r), holders(d, g, r), place_in_line(d, g));
    }
    if (is_kept_away(d->ledger, g))
        return kept_away(d, g);
    return arena_printf(d->arena,
                        "waiting for resources: no node has room for a pod of %s at the moment%s",
                        largest_pod(d, g), place_in_line(d, g));
}

static bool is_constrained(const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_unplaced(m) && m->constrained)
            return true;
    return false;
}

static const char *turn(struct decision *d, const struct group *g)
{
    if (g->position == 0 || g->position > POSITIONS_TOLD)
        return arena_printf(d->arena, "waiting for its turn: more than %d are in line before it",
                            POSITIONS_TOLD);
    if ((d->ledger->repelling || is_constrained(g)) && is_kept_away(d->ledger, g))
        return kept_away(d, g);
    if (!d->first || d->first == g)
        return arena_printf(d->arena, "waiting for its turn: number %zu in line of queue \"%s\"",
                            g->position, g->queue->name);
    return arena_printf(d->arena, "waiting for its turn: number %zu in line behind %s \"%s\"",
                        g->position, d->first->word, d->first->owner);
}

const char *words_of_members(struct decision *d, const struct group *g)
{
    if (!g->exists)
        return arena_printf(d->arena,
                            "waiting for its PodGroup: there is none named \"%s\" in namespace %s",
                            g->name, g->ns);
    return arena_printf(d->arena, "waiting for pods: %" PRId64 " of %" PRId64 " are there",
                        group_there(g) + g->unplaced, g->min_member);
}

const char *words_for(struct decision *d, const struct group *g)
{
    switch (g->reason) {
    case WAIT_NONE:
        break;
    case WAIT_MEMBERS:
        return words_of_members(d, g);
    case WAIT_STOPPING:
        return arena_printf(d->arena, "waiting for %" PRId64 " of its own pods to stop", g->bound);
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
        return beside_cordoned(d, "waiting for a node: none is ready");
    case WAIT_NEVER_FITS:
        return beside_cordoned(d, never(d, g));
    case WAIT_QUOTA_NEVER:
        return quota(d, g, false);
    case WAIT_QUOTA:
        return quota(d, g, true);
    case WAIT_RESOURCES:
        return room(d, g);
    case WAIT_TURN:
        return turn(d, g);
    }
    return "";
}
