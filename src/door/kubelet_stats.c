/*
 * kubelet_stats.c - a kubelet's reports about its node: its pods, and their usage, in the format of
 * k8s.io/kubelet/pkg/apis/stats/v1alpha1 (/stats/summary) and for metrics-server
 * (/metrics/resource). What was not measured is omitted.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "door/kubelet_internal.h"
#include "runtime/usage.h"

struct gathering {
    struct arena *arena;
    struct node *node;
    struct json *list;
};

static bool add_pod(void *arg, const struct json *pod)
{
    struct gathering *g = arg;

    (void)json_append(g->list, json_clone(g->arena, pod));
    return !arena_failed(g->arena);
}

struct json *kubelet_pod_list(struct arena *a, const struct kubelet_pods *pods)
{
    struct json *v = json_new_object(a);
    struct gathering g = {.arena = a};

    json_set_string(a, v, "kind", "PodList");
    json_set_string(a, v, "apiVersion", "v1");
    (void)json_make_object(a, v, "metadata");
    g.list = json_make_array(a, v, "items");
    pods->each(pods->arg, add_pod, &g);
    return v;
}

static void add_figures(struct arena *a, struct json *v, int64_t time_ms, float cpu, float memory)
{
    char time[TIME_TEXT_SIZE];
    struct json *at;

    (void)time_format(time_ms, time);
    if (!isnan(cpu)) {
        at = json_make_object(a, v, "cpu");
        json_set_string(a, at, "time", time);
        json_set_int(a, at, "usageNanoCores", (int64_t)((double)cpu * 1e9));
    }
    if (!isnan(memory)) {
        at = json_make_object(a, v, "memory");
        json_set_string(a, at, "time", time);
        json_set_int(a, at, "workingSetBytes", (int64_t)memory);
    }
}

static bool add_stats(void *arg, const struct json *pod)
{
    struct gathering *g = arg;
    struct arena *a = g->arena;
    const struct node_pod which = {object_namespace(pod), object_name(pod), object_uid(pod)};
    struct usage_latest latest;
    struct json *v, *about, *list;

    if (g->node->ops->latest(g->node, &which, &latest) < 0)
        return true;
    v = json_append(g->list, json_new_object(a));
    about = json_make_object(a, v, "podRef");
    json_set_string(a, about, "name", which.name);
    json_set_string(a, about, "namespace", which.ns);
    json_set_string(a, about, "uid", which.uid);
    json_set_string(a, v, "startTime", json_string(json_at(pod, "status", "startTime"), ""));
    json_set_int(a, v, "windowMilliseconds", latest.window_ms); /* for our own server */
    add_figures(a, v, latest.sample.time_ms, latest.sample.v[USAGE_CPU],
                latest.sample.v[USAGE_MEMORY]);
    list = json_make_array(a, v, "containers");
    for (size_t i = 0; i < latest.containers_len; i++) {
        struct json *c = json_append(list, json_new_object(a));

        json_set_string(a, c, "name", latest.containers[i].name);
        add_figures(a, c, latest.sample.time_ms, latest.containers[i].cpu,
                    latest.containers[i].memory);
    }
    return !arena_failed(a);
}

struct json *kubelet_summary(struct arena *a, struct node *n, const struct kubelet_pods *pods)
{
    struct json *v = json_new_object(a), *node = json_make_object(a, v, "node");
    struct gathering g = {.arena = a, .node = n, .list = json_make_array(a, v, "pods")};
    struct usage_latest latest;

    json_set_string(a, node, "nodeName", n->name);
    if (n->ops->latest(n, NULL, &latest) == 0) {
        json_set_int(a, node, "windowMilliseconds", latest.window_ms);
        add_figures(a, node, latest.sample.time_ms, latest.sample.v[USAGE_CPU],
                    latest.sample.v[USAGE_MEMORY]);
    }
    pods->each(pods->arg, add_stats, &g);
    return v;
}

/* --- /metrics/resource ------------------------------------------------------------------ */

enum metric {
    CONTAINER_CPU,
    CONTAINER_MEMORY,
    CONTAINER_START,
    NODE_CPU,
    NODE_MEMORY,
    POD_CPU,
    POD_MEMORY,
    METRICS
};

static const struct {
    const char *name, *type, *help;
} metrics[METRICS] = {
    [CONTAINER_CPU] = {"container_cpu_usage_seconds_total", "counter", "CPU time of a container"},
    [CONTAINER_MEMORY] = {"container_memory_working_set_bytes", "gauge",
                          "working set of a container"},
    [CONTAINER_START] = {"container_start_time_seconds", "gauge",
                         "when a container was started, since 1970"},
    [NODE_CPU] = {"node_cpu_usage_seconds_total", "counter", "CPU time of the node"},
    [NODE_MEMORY] = {"node_memory_working_set_bytes", "gauge", "working set of the node"},
    [POD_CPU] = {"pod_cpu_usage_seconds_total", "counter", "CPU time of a pod"},
    [POD_MEMORY] = {"pod_memory_working_set_bytes", "gauge", "working set of a pod"},
};

#define METRIC_LIMIT_BYTES (8u * 1024u * 1024u)

struct exposition {
    struct node *node;
    struct buf lines[METRICS];
    const struct json *pod;
};

/* Names are DNS labels and subdomains: nothing needs escaping. */
static void add_line(struct exposition *e, enum metric m, const char *container, double value,
                     int64_t time_ms)
{
    struct buf *b = &e->lines[m];

    if (isnan(value))
        return;
    buf_adds(b, metrics[m].name);
    if (container)
        buf_addf(b, "{container=\"%s\",namespace=\"%s\",pod=\"%s\"}", container,
                 object_namespace(e->pod), object_name(e->pod));
    else if (e->pod)
        buf_addf(b, "{namespace=\"%s\",pod=\"%s\"}", object_namespace(e->pod), object_name(e->pod));
    buf_addf(b, " %.15g %" PRId64 "\n", value, time_ms);
}

static double started_s(const struct json *pod, const char *container)
{
    json_each (s, json_at(pod, "status", "containerStatuses")) {
        const struct json *running = json_at(s, "state", "running");

        if (json_string_is(json_get(s, "name"), container) && running)
            return (double)object_time(running, "startedAt") / 1000;
    }
    return NAN;
}

static bool add_metrics(void *arg, const struct json *pod)
{
    struct exposition *e = arg;
    const struct node_pod which = {object_namespace(pod), object_name(pod), object_uid(pod)};
    struct usage_latest latest;
    double sum_s = 0;

    if (e->node->ops->latest(e->node, &which, &latest) < 0)
        return true;
    e->pod = pod;
    for (size_t i = 0; i < latest.containers_len; i++) {
        const struct usage_container *c = &latest.containers[i];
        double start_s = started_s(pod, c->name);

        sum_s += c->cpu_s;
        if (isnan(start_s))
            continue; /* no longer running */
        add_line(e, CONTAINER_CPU, c->name, c->cpu_s, latest.sample.time_ms);
        add_line(e, CONTAINER_MEMORY, c->name, (double)c->memory, latest.sample.time_ms);
        add_line(e, CONTAINER_START, c->name, start_s, latest.sample.time_ms);
    }
    add_line(e, POD_CPU, NULL, sum_s, latest.sample.time_ms);
    add_line(e, POD_MEMORY, NULL, (double)latest.sample.v[USAGE_MEMORY], latest.sample.time_ms);
    e->pod = NULL;
    return true;
}

void kubelet_metrics(struct buf *out, struct node *n, const struct kubelet_pods *pods,
                     int64_t now_ms)
{
    struct exposition e = {.node = n};
    struct usage_node counters = {0};
    struct usage_sample machine;

    for (size_t i = 0; i < METRICS; i++)
        buf_init(&e.lines[i], METRIC_LIMIT_BYTES);
    usage_node_look(&counters, "", now_ms, &machine);
    add_line(&e, NODE_CPU, NULL, counters.cpu_s, now_ms);
    add_line(&e, NODE_MEMORY, NULL, (double)machine.v[USAGE_MEMORY], now_ms);
    pods->each(pods->arg, add_metrics, &e);
    for (size_t i = 0; i < METRICS; i++) {
        if (e.lines[i].len)
            buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[i].name, metrics[i].help,
                     metrics[i].name, metrics[i].type);
        if (e.lines[i].len)
            buf_add(out, e.lines[i].data, e.lines[i].len);
        out->failed = out->failed || e.lines[i].failed;
        buf_release(&e.lines[i]);
    }
}
