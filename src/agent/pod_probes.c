/* pod_probes.c - see pod_probes.h. */
#include "agent/pod_probes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/pod_messages.h"
#include "api/object.h"
#include "base/buf.h"
#include "core/job_view.h"

#define HEADERS_LIMIT_BYTES (64u * 1024u)

/* A number, or the name of one of the container's ports. */
static int64_t port_of(const struct json *container, const struct json *port)
{
    const char *name = json_string(port, NULL);

    return name ? json_get_int(json_find(json_get(container, "ports"), "name", name),
                               "containerPort", 0)
                : json_int(port, 0);
}

/* Complete header lines; the probe's own Host replaces the address. */
static const char *headers_of(struct arena *a, const struct json *list, const struct probe_start *p)
{
    struct buf text = BUF_INIT(HEADERS_LIMIT_BYTES);
    bool named = false;
    const char *copy;

    json_each (h, list) {
        const char *name = json_get_string(h, "name", ""), *value = json_get_string(h, "value", "");

        if (strpbrk(name, "\r\n") || strpbrk(value, "\r\n"))
            continue; /* validated now, but older stored probes may have them */
        named = named || strcasecmp(name, "Host") == 0;
        buf_addf(&text, "%s: %s\r\n", name, value);
    }
    if (!named)
        buf_addf(&text, "Host: %s:%" PRId64 "\r\n", *p->host ? p->host : "127.0.0.1", p->port);
    copy = text.failed ? NULL : arena_strdup(a, text.data);
    buf_release(&text);
    return copy ? copy : "";
}

/* Whether it can be part of a request line. */
static const char *path_of(struct arena *a, const char *path)
{
    struct buf text = BUF_INIT(HEADERS_LIMIT_BYTES);
    const char *copy;

    if (*path != '/')
        buf_addc(&text, '/');
    for (; *path; path++)
        if (*path > ' ' && *path < 0x7f)
            buf_addc(&text, *path);
        else
            buf_addf(&text, "%%%02X", (unsigned char)*path);
    copy = text.failed ? NULL : arena_strdup(a, text.data ? text.data : "/");
    buf_release(&text);
    return copy ? copy : "/";
}

static void set_target(struct arena *a, const struct json *container, const struct json *v,
                       struct probe_start *p)
{
    const struct json *exec = json_get(v, "exec"), *http = json_get(v, "httpGet");
    const struct json *target = http ? http : json_get(v, "tcpSocket");
    const char *host = json_get_string(target, "host", "");

    if (exec) {
        p->kind = PROBE_EXEC;
        p->argv = json_strings(a, json_get(exec, "command"));
        return;
    }
    if (json_get(v, "sleep")) {
        p->kind = PROBE_SLEEP;
        p->delay_seconds = max_i64(json_get_int(json_get(v, "sleep"), "seconds", 0), 0);
        return;
    }
    if (!target)
        return;
    p->kind = http ? PROBE_HTTP : PROBE_TCP;
    p->host = strcmp(host, "localhost") != 0 ? host : "";
    p->port = port_of(container, json_get(target, "port"));
    p->path = path_of(a, json_get_string(http, "path", "/"));
    p->headers = headers_of(a, json_get(http, "httpHeaders"), p);
}

static int64_t at_least(const struct json *v, const char *key, int64_t otherwise, int64_t least)
{
    return max_i64(json_get_int(v, key, otherwise), least);
}

void pod_probes_build(struct arena *a, const struct json *container, struct container_start *ret)
{
    static const char *const names[PROBE_PURPOSES] = {[PROBE_STARTUP] = "startupProbe",
                                                      [PROBE_LIVENESS] = "livenessProbe",
                                                      [PROBE_READINESS] = "readinessProbe"};
    static const char *const hook_names[HOOK_PURPOSES] = {
        [HOOK_POST_START] = "postStart", [HOOK_PRE_STOP] = "preStop"};

    for (size_t i = 0; i < PROBE_PURPOSES; i++) {
        const struct json *v = json_get(container, names[i]);
        struct probe_start *p = &ret->probes[i];

        if (!json_is(v, JSON_OBJECT))
            continue;
        set_target(a, container, v, p);
        p->delay_seconds = at_least(v, "initialDelaySeconds", 0, 0);
        p->period_seconds = at_least(v, "periodSeconds", 10, 1);
        p->timeout_seconds = at_least(v, "timeoutSeconds", 1, 1);
        p->success_threshold = at_least(v, "successThreshold", 1, 1);
        p->failure_threshold = at_least(v, "failureThreshold", 3, 1);
        p->grace_seconds = at_least(v, "terminationGracePeriodSeconds", -1, -1);
    }
    for (size_t i = 0; i < HOOK_PURPOSES; i++) {
        const struct json *v = json_get(json_get(container, "lifecycle"), hook_names[i]);

        if (json_is(v, JSON_OBJECT))
            set_target(a, container, v, &ret->hooks[i]);
    }
    ret->message_path = json_get_string(container, "terminationMessagePath", MESSAGE_DEFAULT_PATH);
    ret->message_from_log_on_error = json_string_is(json_get(container, "terminationMessagePolicy"),
                                                    "FallbackToLogsOnError");
}

int64_t pod_attempt(const struct json *pod)
{
    const char *text = object_annotation(pod, ANNOTATION_ATTEMPT);

    return text ? strtoll(text, NULL, 10) : -1;
}

enum pod_restart pod_restart_policy(const struct json *pod)
{
    /* The server fills in the default, so a missing value is deliberate. */
    const char *policy = json_string(json_at(pod, "spec", "restartPolicy"), "Never");

    if (strcmp(policy, "Always") == 0)
        return POD_RESTART_ALWAYS;
    return strcmp(policy, "OnFailure") == 0 ? POD_RESTART_ON_FAILURE : POD_RESTART_NEVER;
}
