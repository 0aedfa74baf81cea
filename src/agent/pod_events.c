/* pod_events.c - see pod_events.h. */
#include "agent/pod_events.h"

#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/utf8.h"
#include "client/client.h"
#include "loop/random.h"

#define EVENT_ARENA_LIMIT_BYTES (256u * 1024u)

static struct json *involved(struct arena *a, const struct json *pod)
{
    struct json *v = json_new_object(a);

    json_set_string(a, v, "kind", "Pod");
    json_set_string(a, v, "apiVersion", "v1");
    json_set_string(a, v, "namespace", object_namespace(pod));
    json_set_string(a, v, "name", object_name(pod));
    json_set_string(a, v, "uid", object_uid(pod));
    json_set_string(a, v, "resourceVersion", object_resource_version(pod));
    return v;
}

static const char *new_name(struct arena *a, const struct json *pod)
{
    uint64_t number;

    random_bytes(&number, sizeof(number));
    return arena_printf(a, "%s.%016" PRIx64, object_name(pod), number);
}

static struct json *make_event(struct arena *a, const struct pod_event *e)
{
    struct json *v = json_new_object(a), *meta, *source;
    const char *message;
    char now[TIME_TEXT_SIZE];

    (void)time_format(e->now_ms, now);
    json_set_string(a, v, "apiVersion", "v1");
    json_set_string(a, v, "kind", "Event");
    meta = json_make_object(a, v, "metadata");
    json_set_string(a, meta, "name", e->name ? e->name : new_name(a, e->about));
    json_set_string(a, meta, "namespace", object_namespace(e->about));
    (void)json_set(a, v, "involvedObject", involved(a, e->about));
    json_set_string(a, v, "type", e->type);
    json_set_string(a, v, "reason", e->reason);
    message = e->message ? utf8_without_controls(a, e->message, strlen(e->message)) : NULL;
    json_set_string(a, v, "message", message ? message : "");
    source = json_make_object(a, v, "source");
    json_set_string(a, source, "component", e->component);
    json_set_string(a, source, "host", e->host);
    json_set_string(a, v, "firstTimestamp", now);
    json_set_string(a, v, "lastTimestamp", now);
    json_set_int(a, v, "count", 1);
    json_set_string(a, v, "reportingComponent", e->component);
    json_set_string(a, v, "reportingInstance", e->host);
    return v;
}

static void on_sent(void *arg, const struct json *object, const struct err *err)
{
    (void)arg;
    (void)object;
    if (err && err->reason != ERR_ALREADY_EXISTS)
        log_debug("event: %s", err->text);
}

void pod_event_send(struct transport *t, const struct pod_event *e, void *owner)
{
    struct arena a = ARENA_INIT(EVENT_ARENA_LIMIT_BYTES);

    client_create(t, &kind_event, make_event(&a, e), on_sent, owner);
    arena_release(&a);
}
