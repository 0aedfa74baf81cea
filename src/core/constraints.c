/*
 * constraints.c - where a pod may run, as its template and its queue say: node selectors, node and
 * pod affinity, taints, topology spread. Preferences are not weighed; what is required is. Pure.
 */
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/selector.h"
#include "core/place.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

static const struct json *node_object(struct ledger *l, const struct node_room *n)
{
    return l->find(l->arg, &kind_node, "", n->name);
}

static const struct json *pod_object(struct ledger *l, const struct member *m)
{
    return l->find(l->arg, &kind_pod, m->group->ns, m->name);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool is_in(const char *value, const struct json *values)
{
    json_each (v, values)
        if (value && json_string_is(v, value))
            return true;
    return false;
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
        if (!expression_holds(e, object_name(node))) /* there is only metadata.name */
            return false;
    return json_len(labels) + json_len(fields) > 0; /* an empty term is none */
}

static bool affinity_allows(const struct json *pod_spec, const struct json *node)
{
    const struct json *terms = json_at(pod_spec, "affinity", "nodeAffinity", REQUIRED,
                                       "nodeSelectorTerms");

    if (!terms)
        return true;
    json_each (term, terms)
        if (term_holds(term, node))
            return true;
    return false;
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

static bool taints_allow(const struct json *pod_spec, const struct json *node)
{
    json_each (taint, json_at(node, "spec", "taints")) {
        bool tolerated = json_string_is(json_get(taint, "effect"), "PreferNoSchedule");

        json_each (t, json_get(pod_spec, "tolerations"))
            tolerated = tolerated || tolerates(t, taint);
        if (!tolerated)
            return false;
    }
    return true;
}

/* --- other pods ------------------------------------------------------------------------------- */

static const char *domain_of(struct ledger *l, const struct node_room *n, const char *key)
{
    return object_label(node_object(l, n), key);
}

static bool namespace_is_meant(const struct json *term, const struct member *asking,
                               const struct member *other)
{
    const struct json *named = json_get(term, "namespaces");

    if (json_get(term, "namespaceSelector"))
        return true; /* wider than it says: all namespaces */
    return json_len(named) ? is_in(other->group->ns, named)
                           : strcmp(asking->group->ns, other->group->ns) == 0;
}

/* Pods on the node the term means. */
static int64_t count_matching(struct ledger *l, const struct json *term,
                              const struct member *asking, const struct node_room *n)
{
    int64_t count = 0;

    for (const struct member *m = n->holders; m; m = m->next_on_node) {
        const struct json *pod = m != asking && namespace_is_meant(term, asking, m)
                                     ? pod_object(l, m)
                                     : NULL;

        count += pod && label_map_matches(json_get(term, "labelSelector"), object_labels(pod));
    }
    return count;
}

static int64_t count_in_domain(struct ledger *l, const struct json *term,
                               const struct member *asking, const char *domain)
{
    const char *key = json_get_string(term, "topologyKey", "");
    int64_t count = 0;

    for (size_t i = 0; i < l->ready_len; i++) {
        const char *there = domain_of(l, l->ready[i], key);

        if (there && strcmp(there, domain) == 0)
            count += count_matching(l, term, asking, l->ready[i]);
    }
    return count;
}

static bool repels(struct ledger *l, const struct json *spec, const struct member *m,
                   const struct node_room *n)
{
    json_each (term, json_at(spec, "affinity", "podAntiAffinity", REQUIRED)) {
        const char *domain = domain_of(l, n, json_get_string(term, "topologyKey", ""));

        if (domain && count_in_domain(l, term, m, domain) > 0)
            return true;
    }
    return false;
}

/* The first of a group that wants to be together has nobody to go to. */
static bool is_first_of_its_kind(struct ledger *l, const struct json *term, const struct member *m,
                                 const struct json *pod)
{
    if (!label_map_matches(json_get(term, "labelSelector"), object_labels(pod)))
        return false;
    for (size_t i = 0; i < l->ready_len; i++)
        if (count_matching(l, term, m, l->ready[i]) > 0)
            return false;
    return true;
}

static bool attracts(struct ledger *l, const struct json *pod, const struct member *m,
                     const struct node_room *n)
{
    json_each (term, json_at(pod, "spec", "affinity", "podAffinity", REQUIRED)) {
        const char *domain = domain_of(l, n, json_get_string(term, "topologyKey", ""));

        if (!domain ||
            (count_in_domain(l, term, m, domain) == 0 && !is_first_of_its_kind(l, term, m, pod)))
            return false;
    }
    return true;
}

static bool keeps_even(struct ledger *l, const struct json *spec, const struct member *m,
                       const struct node_room *n)
{
    json_each (c, json_get(spec, "topologySpreadConstraints")) {
        const char *key = json_get_string(c, "topologyKey", ""), *here = domain_of(l, n, key);
        int64_t least = INT64_MAX;

        if (!json_string_is(json_get(c, "whenUnsatisfiable"), "DoNotSchedule"))
            continue;
        if (!here)
            return false;
        for (size_t i = 0; i < l->ready_len; i++) {
            const char *domain = domain_of(l, l->ready[i], key);

            if (domain)
                least = min_i64(least, count_in_domain(l, c, m, domain));
        }
        if (count_in_domain(l, c, m, here) + 1 - least > json_get_int(c, "maxSkew", 1))
            return false;
    }
    return true;
}

bool constraints_allow(struct ledger *l, const struct member *m, const struct node_room *n)
{
    const struct json *pod = pod_object(l, m), *node = node_object(l, n);
    const struct json *spec = json_get(pod, "spec"), *wanted = json_get(spec, "nodeSelector");

    if (!pod || !node)
        return false;
    if (pod_unoffered(spec, json_at(node, "status", "allocatable")))
        return false;
    return (json_len(wanted) == 0 || label_map_matches(wanted, object_labels(node))) &&
           taints_allow(spec, node) && affinity_allows(spec, node) && !repels(l, spec, m, n) &&
           attracts(l, pod, m, n) && keeps_even(l, spec, m, n);
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
