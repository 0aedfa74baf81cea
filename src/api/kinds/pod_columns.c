/* pod_columns.c - derives READY, STATUS and RESTARTS from a pod's container states in one pass, by
 * the real server's rules, so that scripts that parse them keep working. */
#include "api/kinds/pod_columns.h"

#include <stdio.h>
#include <string.h>

#include "api/columns.h"
#include "api/object.h"
#include "base/timefmt.h"

#define LONGEST_REASON 100u

struct summary {
    unsigned ready, total;
    int64_t restarts, last_restart_ms;
    char reason[128];
};

static void set_reason(struct summary *s, const char *prefix, const char *reason)
{
    size_t prefix_len = strlen(prefix), len = strnlen(reason, LONGEST_REASON);

    memcpy(s->reason, prefix, prefix_len);
    memcpy(s->reason + prefix_len, reason, len);
    s->reason[prefix_len + len] = '\0';
}

static void set_exit(struct summary *s, const char *prefix, const struct json *terminated)
{
    const char *reason = json_get_string(terminated, "reason", "");
    int64_t signal_number = json_get_int(terminated, "signal", 0);

    if (*reason)
        set_reason(s, prefix, reason);
    else if (signal_number)
        (void)snprintf(s->reason, sizeof(s->reason), "%sSignal:%lld", prefix,
                       (long long)signal_number);
    else
        (void)snprintf(s->reason, sizeof(s->reason), "%sExitCode:%lld", prefix,
                       (long long)json_get_int(terminated, "exitCode", 0));
}

static void count_restarts(struct summary *s, const struct json *status)
{
    int64_t ended = object_time(json_at(status, "lastState", "terminated"), "finishedAt");

    s->restarts += json_get_int(status, "restartCount", 0);
    s->last_restart_ms = max_i64(s->last_restart_ms, ended);
}

static bool is_restartable(const struct json *spec, const char *name)
{
    const struct json *c = json_find(json_get(spec, "initContainers"), "name", name);

    return json_string_is(json_get(c, "restartPolicy"), "Always");
}

/* Adds one init container. True: initialization has not got past this one. */
static bool look_at_init(struct summary *s, const struct json *spec, const struct json *status,
                         size_t index)
{
    const struct json *state = json_get(status, "state");
    const struct json *terminated = json_get(state, "terminated");
    const char *waiting = json_get_string(json_get(state, "waiting"), "reason", "");

    if (terminated && json_get_int(terminated, "exitCode", 0) == 0)
        return false;
    if (is_restartable(spec, json_get_string(status, "name", "")) &&
        json_get_bool(status, "started", false)) {
        s->ready += json_get_bool(status, "ready", false);
        return false;
    }
    if (terminated)
        set_exit(s, "Init:", terminated);
    else if (*waiting && strcmp(waiting, "PodInitializing") != 0)
        set_reason(s, "Init:", waiting);
    else
        (void)snprintf(s->reason, sizeof(s->reason), "Init:%zu/%zu", index,
                       json_len(json_get(spec, "initContainers")));
    return true;
}

static bool look_at_inits(struct summary *s, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    struct summary sidecars = {0};
    size_t index = 0;
    bool initializing = false;

    json_each (c, json_get(spec, "initContainers"))
        s->total += json_string_is(json_get(c, "restartPolicy"), "Always");
    json_each (status, json_at(pod, "status", "initContainerStatuses")) {
        count_restarts(s, status);
        if (is_restartable(spec, json_get_string(status, "name", "")))
            count_restarts(&sidecars, status);
        initializing = look_at_init(s, spec, status, index++);
        if (initializing)
            break;
    }
    if (!initializing || object_condition_is(pod, "Initialized")) {
        s->restarts = sidecars.restarts;
        s->last_restart_ms = sidecars.last_restart_ms;
        return false;
    }
    return true;
}

/* As on the real server, the last container is visited first, so that the first one's reason
 * wins. */
static void look_at_containers(struct summary *s, const struct json *pod)
{
    bool running = false, reason_set = false;

    json_each (status, json_at(pod, "status", "containerStatuses")) {
        const struct json *state = json_get(status, "state");
        const struct json *terminated = json_get(state, "terminated");
        const char *waiting = json_get_string(json_get(state, "waiting"), "reason", "");

        count_restarts(s, status);
        if (!*waiting && !terminated) {
            if (json_get_bool(status, "ready", false) && json_get(state, "running")) {
                running = true;
                s->ready++;
            }
            continue;
        }
        if (reason_set)
            continue;
        reason_set = true;
        if (*waiting)
            set_reason(s, "", waiting);
        else
            set_exit(s, "", terminated);
    }
    if (running && strcmp(s->reason, "Completed") == 0)
        set_reason(s, "", object_condition_is(pod, "Ready") ? "Running" : "NotReady");
}

static void summarize(const struct json *pod, struct summary *s)
{
    const struct json *status = json_get(pod, "status");
    const char *phase = json_get_string(status, "phase", "");
    const char *reason = json_get_string(status, "reason", "");

    *s = (struct summary){.total = (unsigned)json_len(json_at(pod, "spec", "containers"))};
    set_reason(s, "", *reason ? reason : phase);
    if (json_string_is(json_get(object_condition(pod, "PodScheduled"), "reason"),
                       "SchedulingGated"))
        set_reason(s, "", "SchedulingGated");
    if (!look_at_inits(s, pod))
        look_at_containers(s, pod);
    if (!object_is_deleting(pod))
        return;
    if (strcmp(reason, "NodeLost") == 0)
        set_reason(s, "", "Unknown");
    else if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
        set_reason(s, "", "Terminating");
}

static struct json *render_ready(struct arena *a, const struct json *pod, int64_t now_ms)
{
    struct summary s;

    (void)now_ms;
    summarize(pod, &s);
    return json_new_stringf(a, "%u/%u", s.ready, s.total);
}

static struct json *render_status(struct arena *a, const struct json *pod, int64_t now_ms)
{
    struct summary s;

    (void)now_ms;
    summarize(pod, &s);
    return json_new_string(a, s.reason);
}

static struct json *render_restarts(struct arena *a, const struct json *pod, int64_t now_ms)
{
    char age[TIME_TEXT_SIZE];
    struct summary s;

    summarize(pod, &s);
    if (s.restarts && s.last_restart_ms)
        return json_new_stringf(a, "%lld (%s ago)", (long long)s.restarts,
                                time_age(now_ms - s.last_restart_ms, age));
    return json_new_stringf(a, "%lld", (long long)s.restarts);
}

static struct json *render_ip(struct arena *a, const struct json *pod, int64_t now_ms)
{
    const struct json *status = json_get(pod, "status");
    const struct json *first = json_get(json_index(json_get(status, "podIPs"), 0), "ip");

    (void)now_ms;
    return column_string(a, first ? first : json_get(status, "podIP"));
}

static struct json *render_node(struct arena *a, const struct json *pod, int64_t now_ms)
{
    (void)now_ms;
    return column_string(a, json_at(pod, "spec", "nodeName"));
}

static struct json *render_nominated(struct arena *a, const struct json *pod, int64_t now_ms)
{
    (void)now_ms;
    return column_string(a, json_at(pod, "status", "nominatedNodeName"));
}

static struct json *render_gates(struct arena *a, const struct json *pod, int64_t now_ms)
{
    const struct json *gates = json_at(pod, "spec", "readinessGates");
    unsigned met = 0;

    (void)now_ms;
    if (json_len(gates) == 0)
        return NULL;
    json_each (gate, gates)
        met += json_string_is(
            json_get(object_condition(pod, json_get_string(gate, "conditionType", "")), "status"),
            "True");
    return json_new_stringf(a, "%u/%zu", met, json_len(gates));
}

const struct column pod_columns[] = {
    COLUMN_NAME,
    COLUMN("Ready", "string", "Ready containers out of all.", .render = render_ready),
    COLUMN("Status", "string", "Phase of the pod, or a more specific state.",
           .path = ".status.phase", .render = render_status),
    COLUMN("Restarts", "string", "How often containers were restarted, and when last.",
           .render = render_restarts),
    COLUMN_AGE,
    COLUMN("IP", "string", "Address.", .priority = 1, .render = render_ip),
    COLUMN("Node", "string", "Node.", .priority = 1, .render = render_node),
    COLUMN("Nominated Node", "string", "Node on which pods are being preempted for it.",
           .priority = 1, .render = render_nominated),
    COLUMN("Readiness Gates", "string", "Met readiness gates out of all.", .priority = 1,
           .render = render_gates),
    {0}};

static const struct json_part container_parts[] = {
    {"name", NULL}, {"restartPolicy", NULL}, {NULL, NULL}};
static const struct json_part spec_parts[] = {{"containers", container_parts},
                                              {"initContainers", container_parts},
                                              {"nodeName", NULL},
                                              {"readinessGates", NULL},
                                              {NULL, NULL}};
static const struct json_part ended_parts[] = {
    {"exitCode", NULL}, {"signal", NULL}, {"reason", NULL}, {"finishedAt", NULL}, {NULL, NULL}};
static const struct json_part waiting_parts[] = {{"reason", NULL}, {NULL, NULL}};
static const struct json_part state_parts[] = {
    {"waiting", waiting_parts}, {"running", NULL}, {"terminated", ended_parts}, {NULL, NULL}};
static const struct json_part container_status_parts[] = {{"name", NULL},
                                                          {"ready", NULL},
                                                          {"started", NULL},
                                                          {"restartCount", NULL},
                                                          {"state", state_parts},
                                                          {"lastState", state_parts},
                                                          {NULL, NULL}};
static const struct json_part condition_parts[] = {
    {"type", NULL}, {"status", NULL}, {"reason", NULL}, {NULL, NULL}};
static const struct json_part status_parts[] = {{"phase", NULL},
                                                {"reason", NULL},
                                                {"conditions", condition_parts},
                                                {"containerStatuses", container_status_parts},
                                                {"initContainerStatuses", container_status_parts},
                                                {"podIP", NULL},
                                                {"podIPs", NULL},
                                                {"nominatedNodeName", NULL},
                                                {NULL, NULL}};

static const struct json_part metadata_parts[] = {{"name", NULL},
                                                  {"resourceVersion", NULL},
                                                  {"creationTimestamp", NULL},
                                                  {"deletionTimestamp", NULL},
                                                  {NULL, NULL}};

const struct json_part pod_row_parts[] = {
    {"metadata", metadata_parts}, {"spec", spec_parts}, {"status", status_parts}, {NULL, NULL}};
