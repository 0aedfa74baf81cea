/*
 * constraints.c - where a pod may run and where it prefers to, according to its template and queue:
 * node selectors, node and pod affinity, taints, topology spread. Pure.
 */
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/selector.h"
#include "core/placement.h"

/* The taint a real API server adds for spec.unschedulable, which we check directly. */
#define TAINT_CORDONED "node.kubernetes.io/unschedulable"
#define TAINT_NOT_READY "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* A pod looking for a node. */
struct asking {
    struct ledger *ledger;
    const struct member *member;
    const struct json *pod, *spec;
    bool alone; /* considers only its own group: as if the others were gone */
};

static const struct json *node_object(struct ledger *l, const struct node_room *n)
{
    return l->find(l->arg, &kind_node, "", n->name);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool is_in(const char *value, const struct json *values)
{
    return value && json_has(values, value);
}

static bool expression_holds(const struct json *e, const char *value)
{
    const char *operator= json_get_string(e, "operator", "");
    const struct json *values = json_get(e, "values");
    long long bound = strtoll(json_string(json_first(values), "0"), NULL, 10);

    if (strcmp(operator, "In") == 0)
        return is_in(value, values);
    if (strcmp(operator, "NotIn") == 0)
        return !is_in(value, values);
    if (strcmp(operator, "Exists") == 0)
        return value;
    if (strcmp(operator, "DoesNotExist") == 0)
        return !value;
    if (!value)
        return false;
    return strcmp(operator, "Gt") == 0   ? strtoll(value, NULL, 10) > bound
           : strcmp(operator, "Lt") == 0 ? strtoll(value, NULL, 10) < bound
                                         : false;
}

static bool term_holds(const struct json *term, const struct json *node)
{
    const struct json *labels = json_get(term, "matchExpressions");
    const struct json *fields = json_get(term, "matchFields");

    json_each (e, labels)
        if (!expression_holds(e, object_label(node, json_get_string(e, "key", ""))))
            return false;
    json_each (e, fields)
        if (!expression_holds(e, object_name(node))) /* the only field is metadata.name */
            return false;
    return json_len(labels) + json_len(fields) > 0; /* an empty term matches nothing */
}

bool node_selector_allows(const struct json *selector, const struct json *node)
{
    const struct json *terms = json_get(selector, "nodeSelectorTerms");

    if (!terms)
        return true;
    json_each (term, terms)
        if (term_holds(term, node))
            return true;
    return false;
}

static bool affinity_allows(const struct json *pod_spec, const struct json *node)
{
    return node_selector_allows(json_at(pod_spec, "affinity", "nodeAffinity", REQUIRED), node);
}

static bool tolerates(const struct json *toleration, const struct json *taint)
{
    const char *key = json_get_string(toleration, "key", "");
    const char *effect = json_get_string(toleration, "effect", "");

    if (*effect && !json_string_is(json_get(taint, "effect"), effect))
        return false;
    if (*key && !json_string_is(json_get(taint, "key"), key))
        return false;
    if (strcmp(json_get_string(toleration, "operator", "Equal"), "Exists") == 0)
        return true;
    return *key && strcmp(json_get_string(toleration, "value", ""),
                          json_get_string(taint, "value", "")) == 0;
}

/* A taint that mirrors the node's own fields, and disappears with their cause. */
static bool is_passing(const struct json *taint, const struct json *node)
{
    const struct json *key = json_get(taint, "key");

    return json_string_is(key, TAINT_CORDONED) ||
           (!object_condition_is(node, "Ready") &&
            (json_string_is(key, TAINT_NOT_READY) || json_string_is(key, TAINT_UNREACHABLE)));
}

/* only_ask: considers only PreferNoSchedule taints, otherwise only the others. */
static bool keeps_away(const struct json *taint, const struct json *pod_spec,
                       const struct json *node, bool only_ask)
{
    if (json_string_is(json_get(taint, "effect"), "PreferNoSchedule") != only_ask ||
        is_passing(taint, node))
        return false;
    json_each (t, json_get(pod_spec, "tolerations"))
        if (tolerates(t, taint))
            return false;
    return true;
}

static int64_t count_taints(const struct json *pod_spec, const struct json *node, bool only_ask)
{
    int64_t count = 0;

    json_each (taint, json_at(node, "spec", "taints"))
        count += keeps_away(taint, pod_spec, node, only_ask);
    return count;
}

/* --- other pods ------------------------------------------------------------------------------- */

static const char *domain_of(struct ledger *l, const struct node_room *n, const char *key)
{
    return object_label(node_object(l, n), key);
}

static bool namespace_is_meant(struct ledger *l, const struct json *term, const char *own,
                               const char *other)
{
    const struct json *named = json_get(term, "namespaces");
    const struct json *selector = json_get(term, "namespaceSelector");

    if (!selector && json_len(named) == 0)
        return strcmp(own, other) == 0;
    return is_in(other, named) ||
           (selector && label_map_matches(
                            selector, object_labels(l->find(l->arg, &kind_namespace, "", other))));
}

static bool counts(const struct asking *a, const struct member *other)
{
    return other != a->member && (!a->alone || other->group == a->member->group);
}

/* Pods on the node that match the term. */
static int64_t count_matching(const struct asking *a, const struct json *term,
                              const struct node_room *n)
{
    int64_t count = 0;

    for (const struct member *m = n->holders; m; m = m->next_on_node) {
        bool meant = counts(a, m) &&
                     namespace_is_meant(a->ledger, term, a->member->group->ns, m->group->ns);
        const struct json *pod = meant ? member_pod(a->ledger, m) : NULL;

        count += pod && label_map_matches(json_get(term, "labelSelector"), object_labels(pod));
    }
    return count;
}

static int64_t count_in_domain(const struct asking *a, const struct json *term, const char *domain)
{
    const char *key = json_get_string(term, "topologyKey", "");
    struct ledger *l = a->ledger;
    int64_t count = 0;

    for (size_t i = 0; i < l->ready_len; i++) {
        const char *there = domain_of(l, l->ready[i], key);

        if (there && strcmp(there, domain) == 0)
            count += count_matching(a, term, l->ready[i]);
    }
    return count;
}

/* The same over the node's topology domain; -1: the node has none. */
static int64_t count_around(const struct asking *a, const struct json *term,
                            const struct node_room *n)
{
    const char *domain = domain_of(a->ledger, n, json_get_string(term, "topologyKey", ""));

    return domain ? count_in_domain(a, term, domain) : -1;
}

static bool repels(const struct asking *a, const struct node_room *n)
{
    json_each (term, json_at(a->spec, "affinity", "podAntiAffinity", REQUIRED))
        if (count_around(a, term, n) > 0)
            return true;
    return false;
}

static bool is_near(struct ledger *l, const struct json *term, const struct node_room *a,
                    const struct node_room *b)
{
    const char *key = json_get_string(term, "topologyKey", "");
    const char *here = domain_of(l, a, key), *there = domain_of(l, b, key);

    return here && there && strcmp(here, there) == 0;
}

/* Anti-affinity is symmetric: existing pods keep others away too. */
static bool is_repelled(const struct asking *a, const struct node_room *n)
{
    for (const struct member *m = a->ledger->repelling; m; m = m->next_repelling) {
        const struct json *pod = counts(a, m) ? member_pod(a->ledger, m) : NULL;

        json_each (term, json_at(pod, "spec", "affinity", "podAntiAffinity", REQUIRED))
            if (is_near(a->ledger, term, m->node, n) &&
                namespace_is_meant(a->ledger, term, m->group->ns, a->member->group->ns) &&
                label_map_matches(json_get(term, "labelSelector"), object_labels(a->pod)))
                return true;
    }
    return false;
}

/* The first pod of a group with affinity to itself has no peer yet. */
static bool is_first_of_its_kind(const struct asking *a, const struct json *term)
{
    struct ledger *l = a->ledger;

    if (!label_map_matches(json_get(term, "labelSelector"), object_labels(a->pod)))
        return false;
    for (size_t i = 0; i < l->ready_len; i++)
        if (count_matching(a, term, l->ready[i]) > 0)
            return false;
    return true;
}

static bool attracts(const struct asking *a, const struct node_room *n)
{
    json_each (term, json_at(a->spec, "affinity", "podAffinity", REQUIRED)) {
        int64_t near = count_around(a, term, n);
        bool of_others = !label_map_matches(json_get(term, "labelSelector"), object_labels(a->pod));

        if (near < 0)
            return false;
        if (near == 0 && !(a->alone && of_others) && !is_first_of_its_kind(a, term))
            return false;
    }
    return true;
}

static bool is_strict(const struct json *constraint)
{
    return json_string_is(json_get(constraint, "whenUnsatisfiable"), "DoNotSchedule");
}

static bool keeps_even(const struct asking *a, const struct node_room *n)
{
    struct ledger *l = a->ledger;

    json_each (c, json_get(a->spec, "topologySpreadConstraints")) {
        int64_t here = is_strict(c) ? count_around(a, c, n) : 0, least = INT64_MAX;

        if (!is_strict(c))
            continue;
        if (here < 0)
            return false;
        for (size_t i = 0; i < l->ready_len; i++) {
            int64_t there = count_around(a, c, l->ready[i]);

            if (there >= 0)
                least = min_i64(least, there);
        }
        if (here + 1 - least > json_get_int(c, "maxSkew", 1))
            return false;
    }
    return true;
}

static struct asking asking_for(struct ledger *l, const struct member *m)
{
    const struct json *pod = member_pod(l, m);

    return (struct asking){.ledger = l, .member = m, .pod = pod, .spec = json_get(pod, "spec")};
}

struct place {
    const struct asking *asking;
    const struct node_room *node;
};

static int64_t held_there(const void *arg, const char *resource)
{
    const struct place *p = arg;
    int64_t sum = 0;

    for (const struct member *m = p->node->holders; m; m = m->next_on_node)
        if (m->extended && counts(p->asking, m))
            sum = add_i64(sum, pod_amount_milli(json_get(member_pod(p->asking->ledger, m), "spec"),
                                                "requests", resource));
    return sum;
}

/* Which extended resource is used up there; NULL: there is enough of each. */
static const char *used_up(const struct asking *a, const struct node_room *n)
{
    const struct place p = {a, n};
    const struct json *has = json_at(node_object(a->ledger, n), "status", "allocatable");

    return a->member->extended ? pod_unoffered(a->spec, has, held_there, &p) : NULL;
}

const char *constraints_used_up(struct ledger *l, const struct member *m, const struct node_room *n)
{
    const struct asking a = asking_for(l, m);

    return used_up(&a, n);
}

/* But for its taints, and for pods. */
static bool node_suits(const struct json *pod_spec, const struct json *node)
{
    const struct json *wanted = json_get(pod_spec, "nodeSelector");

    return node && !pod_unoffered(pod_spec, json_at(node, "status", "allocatable"), NULL, NULL) &&
           (json_len(wanted) == 0 || label_map_matches(wanted, object_labels(node))) &&
           affinity_allows(pod_spec, node);
}

const struct json *constraints_taint(struct ledger *l, const struct member *m,
                                     const struct node_room *n)
{
    const struct json *spec = json_get(member_pod(l, m), "spec"), *node = node_object(l, n);

    if (!queue_allows_node(l, m->group->queue, n) || !node_suits(spec, node))
        return NULL;
    json_each (taint, json_at(node, "spec", "taints"))
        if (keeps_away(taint, spec, node, false))
            return taint;
    return NULL;
}

bool constraints_allow(struct ledger *l, const struct member *m, const struct node_room *n,
                       bool alone)
{
    struct asking a = asking_for(l, m);
    const struct json *node = node_object(l, n);

    a.alone = alone;
    return a.pod && node_suits(a.spec, node) && count_taints(a.spec, node, false) == 0 &&
           !used_up(&a, n) && !repels(&a, n) && !is_repelled(&a, n) && attracts(&a, n) &&
           keeps_even(&a, n);
}

bool constraints_allow_but_for_pods(struct ledger *l, const struct member *m,
                                    const struct node_room *n)
{
    const struct json *spec = json_get(member_pod(l, m), "spec"), *node = node_object(l, n);

    return queue_allows_node(l, m->group->queue, n) && node_suits(spec, node) &&
           count_taints(spec, node, false) == 0;
}

/* --- preferences ------------------------------------------------------------------------------ */

static int64_t node_liking(const struct asking *a, const struct json *node)
{
    int64_t sum = 0;

    json_each (p, json_at(a->spec, "affinity", "nodeAffinity", PREFERRED))
        if (term_holds(json_get(p, "preference"), node))
            sum += json_get_int(p, "weight", 1);
    return sum;
}

static int64_t pod_liking(const struct asking *a, const char *affinity, const struct node_room *n)
{
    int64_t sum = 0;

    json_each (p, json_at(a->spec, "affinity", affinity, PREFERRED))
        sum += json_get_int(p, "weight", 1) *
               max_i64(count_around(a, json_get(p, "podAffinityTerm"), n), 0);
    return sum;
}

/* A node without a domain comes last. */
static int64_t crowd(const struct asking *a, const struct node_room *n)
{
    int64_t sum = 0;

    json_each (c, json_get(a->spec, "topologySpreadConstraints")) {
        int64_t here = is_strict(c) ? 0 : count_around(a, c, n);

        sum += here < 0 ? INT32_MAX : here;
    }
    return sum;
}

void constraints_like(struct ledger *l, const struct member *m, const struct node_room *n,
                      int64_t ret[LIKINGS])
{
    const struct asking a = asking_for(l, m);
    const struct json *node = node_object(l, n);

    ret[LIKING_NODE] = node_liking(&a, node);
    ret[LIKING_PODS] = pod_liking(&a, "podAffinity", n) - pod_liking(&a, "podAntiAffinity", n);
    ret[LIKING_SPREAD] = -crowd(&a, n);
    ret[LIKING_TAINTS] = -count_taints(a.spec, node, true);
}

/* --- queues ----------------------------------------------------------------------------------- */

static const struct json *queue_spec(struct ledger *l, const struct queue_entry *q)
{
    return json_get(l->find(l->arg, &kind_queue, QUEUE_NAMESPACE, q->name), "spec");
}

bool queue_allows_node(struct ledger *l, const struct queue_entry *q, const struct node_room *n)
{
    const struct json *selector;

    if (!q->on_some_nodes)
        return true;
    selector = json_get(queue_spec(l, q), "nodeSelector");
    return label_map_matches(selector, object_labels(node_object(l, n)));
}

bool queue_allows_namespace(struct ledger *l, const struct queue_entry *q, const char *ns)
{
    const struct json *selector = json_get(queue_spec(l, q), "namespaceSelector");

    if (json_len(selector) == 0)
        return q->everybody;
    return label_map_matches(selector, object_labels(l->find(l->arg, &kind_namespace, "", ns)));
}
