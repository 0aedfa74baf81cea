/* kind_event.c - Event (core/v1). */
#include <ctype.h>
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/metadata.h"
#include "api/object.h"
#include "api/problem.h"

static const char *const types[] = {"Normal", "Warning", NULL};

static const struct field source_fields[] = {
    F_STR("component", "Component that reported it.", P(1)),
    F_STR("host", "Node of that component.", P(2)),
    {0}};

static const struct field series_fields[] = {
    F_INT32("count", "Number of occurrences so far.", P(1)),
    F_TIME("lastObservedTime", "Time of the last occurrence.", P(2), .wire = FIELD_WIRE_MICRO),
    {0}};

static const struct field fields[] = {
    F_OBJ("involvedObject", object_reference_fields, "The object this event is about.", P(2),
          REQUIRED),
    F_STR("reason", "CamelCase reason.", P(3)),
    F_STR("message", "Message about what happened.", P(4)),
    F_STR("type", "Normal or Warning.", P(9), ONE_OF(types)),
    F_OBJ("source", source_fields, "Component that reported it.", P(5)),
    F_TIME("firstTimestamp", "When it first happened.", P(6)),
    F_TIME("lastTimestamp", "When it last happened.", P(7)),
    F_INT32("count", "How often it happened.", P(8)),
    F_TIME("eventTime", "When it happened, in microseconds.", P(10), .wire = FIELD_WIRE_MICRO),
    F_OBJ("series", series_fields, "Repetitions.", P(11)),
    F_STR("action", "Action taken.", P(12)),
    F_OBJ("related", object_reference_fields, "A related object.", P(13)),
    F_STR("reportingComponent", "Controller that reported it.", PZ(14)),
    F_STR("reportingInstance", "Instance of the controller.", PZ(15)),
    {0}};

static void validate(const struct json *event, const struct json *old, struct err *err)
{
    const struct json *about = json_get(event, "involvedObject");
    const struct json *ns = json_get(about, "namespace");
    const char *of_event = object_namespace(event);

    (void)old;
    if (*json_string(ns, "") && *of_event && !json_string_is(ns, of_event))
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(NULL, "involvedObject"), "namespace"), ns,
                        "does not match event.namespace");
}

static int64_t first_seen(const struct json *event)
{
    int64_t ms = object_time(event, "firstTimestamp");

    return ms ? ms : object_time(event, "eventTime");
}

static struct json *render_first_seen(struct arena *a, const struct json *event, int64_t now_ms)
{
    return column_since(a, first_seen(event), now_ms);
}

static struct json *render_last_seen(struct arena *a, const struct json *event, int64_t now_ms)
{
    int64_t ms = object_time(json_get(event, "series"), "lastObservedTime");

    if (!ms)
        ms = object_time(event, "lastTimestamp");
    return column_since(a, ms ? ms : first_seen(event), now_ms);
}

static struct json *render_object(struct arena *a, const struct json *event, int64_t now_ms)
{
    const struct json *about = json_get(event, "involvedObject");
    const char *name = json_get_string(about, "name", "");
    char *kind = arena_strdup(a, json_get_string(about, "kind", ""));

    (void)now_ms;
    for (char *p = kind; p && *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return kind ? json_new_stringf(a, "%s%s%s", kind, *name ? "/" : "", name) : NULL;
}

static struct json *render_subobject(struct arena *a, const struct json *event, int64_t now_ms)
{
    (void)now_ms;
    return json_new_string(a, json_string(json_at(event, "involvedObject", "fieldPath"), ""));
}

static struct json *render_source(struct arena *a, const struct json *event, int64_t now_ms)
{
    const struct json *source = json_get(event, "source");
    const char *component = json_get_string(source, "component", "");
    const char *host = json_get_string(source, "host", "");

    (void)now_ms;
    if (!*component)
        component = json_get_string(event, "reportingComponent", "");
    if (!*host)
        host = json_get_string(event, "reportingInstance", "");
    return json_new_stringf(a, "%s%s%s", component, *host ? ", " : "", host);
}

static struct json *render_message(struct arena *a, const struct json *event, int64_t now_ms)
{
    const char *text = json_get_string(event, "message", "");
    size_t n;

    (void)now_ms;
    text += strspn(text, " \t\r\n");
    n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return json_new_string_len(a, text, n);
}

static struct json *render_count(struct arena *a, const struct json *event, int64_t now_ms)
{
    const struct json *series = json_get(event, "series");
    int64_t count = json_get_int(series ? series : event, "count", 0);

    (void)now_ms;
    return json_new_int(a, count || series ? count : 1);
}

static const struct column columns[] = {
    COLUMN("Last Seen", "string", "Time of the last occurrence.", .render = render_last_seen),
    COLUMN("Type", "string", "Normal or Warning.", .path = ".type"),
    COLUMN("Reason", "string", "One word.", .path = ".reason"),
    COLUMN("Object", "string", "The object concerned.", .render = render_object),
    COLUMN("Subobject", "string", "Part of the object it is about.", .priority = 1,
           .render = render_subobject),
    COLUMN("Source", "string", "Component that reported it.", .priority = 1,
           .render = render_source),
    COLUMN("Message", "string", "A sentence.", .render = render_message),
    COLUMN("First Seen", "string", "When first.", .priority = 1, .render = render_first_seen),
    COLUMN("Count", "string", "How often.", .priority = 1, .render = render_count),
    COLUMN("Name", "string", "Name of the event.", .format = "name", .priority = 1,
           .path = ".metadata.name"),
    {0}};

const struct kind kind_event = {
    KIND_NAMES("", "v1", "Event", "events", "event"),
    .short_names = (const char *const[]){"ev", NULL},
    .namespaced = true,
    .doc = "Event is something that happened to an object.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .field_selectors = (const char *const[]){
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
        "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
        "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type", NULL}};
