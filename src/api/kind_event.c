/* kind_event.c - Event (core/v1). */
#include <ctype.h>
#include <string.h>

#include "api/columns.h"
#include "api/object.h"
#include "api/problem.h"

static const char *const types[] = {"Normal", "Warning", NULL};

static const struct field reference_fields[] = {
    {.name = "kind", .type = FIELD_STRING, .doc = "Kind of the object."},
    {.name = "namespace", .type = FIELD_STRING, .doc = "Its namespace."},
    {.name = "name", .type = FIELD_STRING, .doc = "Its name."},
    {.name = "uid", .type = FIELD_STRING, .doc = "Its UID."},
    {.name = "apiVersion", .type = FIELD_STRING, .doc = "Its API version."},
    {.name = "resourceVersion", .type = FIELD_STRING, .doc = "Its version at the time."},
    {.name = "fieldPath", .type = FIELD_STRING, .doc = "The part of it the event is about."},
    {0}};

static const struct field source_fields[] = {
    {.name = "component", .type = FIELD_STRING, .doc = "Who says it."},
    {.name = "host", .type = FIELD_STRING, .doc = "On which node."},
    {0}};

static const struct field series_fields[] = {
    {.name = "count", .type = FIELD_INT32, .doc = "How often, so far."},
    {.name = "lastObservedTime", .type = FIELD_TIME, .doc = "When last."},
    {0}};

static const struct field fields[] = {
    {.name = "involvedObject",
     .type = FIELD_OBJECT,
     .flags = FIELD_REQUIRED,
     .fields = reference_fields,
     .doc = "The object this event is about."},
    {.name = "reason", .type = FIELD_STRING, .doc = "One word: what happened."},
    {.name = "message", .type = FIELD_STRING, .doc = "A sentence: what happened."},
    {.name = "type", .type = FIELD_STRING, .values = types, .doc = "Normal or Warning."},
    {.name = "source", .type = FIELD_OBJECT, .fields = source_fields, .doc = "Who says it."},
    {.name = "firstTimestamp", .type = FIELD_TIME, .doc = "When it happened first."},
    {.name = "lastTimestamp", .type = FIELD_TIME, .doc = "When it happened last."},
    {.name = "count", .type = FIELD_INT32, .doc = "How often it happened."},
    {.name = "eventTime", .type = FIELD_TIME, .doc = "When it happened, in microseconds."},
    {.name = "series", .type = FIELD_OBJECT, .fields = series_fields, .doc = "Repetitions."},
    {.name = "action", .type = FIELD_STRING, .doc = "What was done."},
    {.name = "related",
     .type = FIELD_OBJECT,
     .fields = reference_fields,
     .doc = "Another object that has to do with it."},
    {.name = "reportingComponent", .type = FIELD_STRING, .doc = "Controller that says it."},
    {.name = "reportingInstance", .type = FIELD_STRING, .doc = "Instance of the controller."},
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
    {.name = "Last Seen", .type = "string", .doc = "When last.", .render = render_last_seen},
    {.name = "Type", .type = "string", .doc = "Normal or Warning.", .path = ".type"},
    {.name = "Reason", .type = "string", .doc = "One word.", .path = ".reason"},
    {.name = "Object", .type = "string", .doc = "What it is about.", .render = render_object},
    {.name = "Subobject",
     .type = "string",
     .priority = 1,
     .doc = "The part it is about.",
     .render = render_subobject},
    {.name = "Source",
     .type = "string",
     .priority = 1,
     .doc = "Who says it.",
     .render = render_source},
    {.name = "Message", .type = "string", .doc = "A sentence.", .render = render_message},
    {.name = "First Seen",
     .type = "string",
     .priority = 1,
     .doc = "When first.",
     .render = render_first_seen},
    {.name = "Count", .type = "string", .priority = 1, .doc = "How often.", .render = render_count},
    {.name = "Name",
     .type = "string",
     .format = "name",
     .priority = 1,
     .doc = "Name of the event.",
     .path = ".metadata.name"},
    {0}};

const struct kind kind_event = {
    .group = "",
    .version = "v1",
    .name = "Event",
    .plural = "events",
    .singular = "event",
    .short_names = (const char *const[]){"ev", NULL},
    .namespaced = true,
    .doc = "Event is something that happened to an object.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .field_selectors = (const char *const[]){
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
        "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
        "involvedObject.fieldPath", "reason", "reportingComponent", "type", NULL}};
