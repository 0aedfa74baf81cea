/* probe_json.c - see probe_json.h. */
#include "runtime/probe_json.h"

#include <stddef.h>

static const char *const purpose_names[PROBE_PURPOSES] = {
    [PROBE_STARTUP] = "startupProbe",
    [PROBE_LIVENESS] = "livenessProbe",
    [PROBE_READINESS] = "readinessProbe",
};

static const char *const hook_names[HOOK_PURPOSES] = {
    [HOOK_POST_START] = "postStart",
    [HOOK_PRE_STOP] = "preStop",
};

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"port", offsetof(struct probe_start, port)},
    {"delay", offsetof(struct probe_start, delay_seconds)},
    {"period", offsetof(struct probe_start, period_seconds)},
    {"timeout", offsetof(struct probe_start, timeout_seconds)},
    {"successes", offsetof(struct probe_start, success_threshold)},
    {"failures", offsetof(struct probe_start, failure_threshold)},
    {"grace", offsetof(struct probe_start, grace_seconds)},
};

static int64_t *number_at(struct probe_start *p, size_t i)
{
    return (int64_t *)(void *)((char *)p + numbers[i].offset);
}

static void add(struct arena *a, struct json *v, struct probe_start p)
{
    json_set_int(a, v, "kind", p.kind);
    json_set_string(a, v, "host", p.host);
    json_set_string(a, v, "path", p.path);
    json_set_string(a, v, "headers", p.headers);
    for (size_t i = 0; i < ELEMS(numbers); i++)
        json_set_int(a, v, numbers[i].name, *number_at(&p, i));
    if (p.argv) {
        struct json *argv = json_make_array(a, v, "argv");

        for (const char *const *word = p.argv; *word; word++)
            json_append_string(a, argv, *word);
    }
}

void probe_json_add(struct arena *a, struct json *container, const struct container_start *c)
{
    for (size_t i = 0; i < PROBE_PURPOSES; i++)
        if (c->probes[i].kind != PROBE_NONE)
            add(a, json_make_object(a, container, purpose_names[i]), c->probes[i]);
    for (size_t i = 0; i < HOOK_PURPOSES; i++)
        if (c->hooks[i].kind != PROBE_NONE)
            add(a, json_make_object(a, container, hook_names[i]), c->hooks[i]);
    json_set_string(a, container, "messageFile", c->message_file);
    json_set_bool(a, container, "messageFromLog", c->message_from_log_on_error);
    json_set_string(a, container, "deniedNote", c->denied_note);
    json_set_string(a, container, "missingNote", c->missing_note);
}

static void read_probe(struct arena *a, const struct json *v, struct probe_start *p)
{
    p->kind = (enum probe_kind)json_get_int(v, "kind", PROBE_NONE);
    p->host = json_get_string(v, "host", "");
    p->path = json_get_string(v, "path", "/");
    p->headers = json_get_string(v, "headers", "");
    for (size_t i = 0; i < ELEMS(numbers); i++)
        *number_at(p, i) = json_get_int(v, numbers[i].name, 1);
    p->argv = json_strings(a, json_get(v, "argv"));
}

void probe_json_read(struct arena *a, const struct json *container, struct container_start *c)
{
    for (size_t i = 0; i < PROBE_PURPOSES; i++) {
        const struct json *v = json_get(container, purpose_names[i]);

        if (v)
            read_probe(a, v, &c->probes[i]);
    }
    for (size_t i = 0; i < HOOK_PURPOSES; i++) {
        const struct json *v = json_get(container, hook_names[i]);

        if (v)
            read_probe(a, v, &c->hooks[i]);
    }
    c->message_file = json_get_string(container, "messageFile", NULL);
    c->message_from_log_on_error = json_get_bool(container, "messageFromLog", false);
    c->denied_note = json_get_string(container, "deniedNote", NULL);
    c->missing_note = json_get_string(container, "missingNote", NULL);
}
