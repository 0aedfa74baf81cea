/*
 * kind_event_v1.c - Event of events.k8s.io/v1: a view of the core events with other field names.
 * Nothing is stored in this form; it has no short names, so that `kubectl get ev` stays
 * unambiguous.
 */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kind.h"
#include "api/metadata.h"

static const char *const types[] = {"Normal", "Warning", NULL};

static const struct field source_fields[] = {
    F_STR("component", "Component that reported it.", P(1)),
    F_STR("host", "Node of that component.", P(2)),
    {0}};

static const struct field series_fields[] = {
    F_INT32("count", "Number of occurrences so far.", PZ(1), REQUIRED),
    F_TIME("lastObservedTime", "Time of the last occurrence.", P(2), .wire = FIELD_WIRE_MICRO,
           REQUIRED),
    {0}};

static const struct field fields[] = {
    F_TIME("eventTime", "When it first happened, in microseconds.", P(2), .wire = FIELD_WIRE_MICRO),
    F_OBJ("series", series_fields, "Repetitions.", P(3)),
    F_STR("reportingController", "Controller that reported it.", P(4)),
    F_STR("reportingInstance", "Instance of the controller.", P(5)),
    F_STR("action", "Action taken.", P(6)),
    F_STR("reason", "CamelCase reason.", P(7)),
    F_OBJ("regarding", object_reference_fields, "The object this event is about.", P(8)),
    F_OBJ("related", object_reference_fields, "A related object.", P(9)),
    F_STR("note", "Message about what happened.", P(10)),
    F_STR("type", "Normal or Warning.", P(11), ONE_OF(types)),
    F_OBJ("deprecatedSource", source_fields, "Component that reported it, in core events.", P(12)),
    F_TIME("deprecatedFirstTimestamp", "When it first happened, in core events.", P(13)),
    F_TIME("deprecatedLastTimestamp", "When it last happened, in core events.", P(14)),
    F_INT32("deprecatedCount", "How often it happened, in core events.", P(15)),
    {0}};

/* Members with different names. */
static const struct {
    const char *core, *here;
} names[] = {{"involvedObject", "regarding"},
             {"message", "note"},
             {"reportingComponent", "reportingController"},
             {"source", "deprecatedSource"},
             {"firstTimestamp", "deprecatedFirstTimestamp"},
             {"lastTimestamp", "deprecatedLastTimestamp"},
             {"count", "deprecatedCount"}};

static void rename_member(struct json *object, const char *from, const char *to)
{
    struct json *m = json_get_mut(object, from);

    if (!m)
        return;
    m->key = to;
    m->key_len = (uint32_t)strlen(to);
}

static void from_stored(struct arena *a, const struct kind *k, struct json *event)
{
    for (size_t i = 0; i < ELEMS(names); i++)
        rename_member(event, names[i].core, names[i].here);
    json_set_string(a, event, "apiVersion", kind_api_version(a, k));
}

static void to_stored(struct arena *a, const struct kind *k, struct json *event)
{
    for (size_t i = 0; i < ELEMS(names); i++)
        rename_member(event, names[i].here, names[i].core);
    json_set_string(a, event, "apiVersion", kind_api_version(a, k->stored_as));
    (void)json_make_object(a, event, "involvedObject");
}

/* Rendered from the core form, so that both look alike. */
static struct json *render(struct arena *a, const struct json *event, int64_t now_ms, size_t column)
{
    struct json *core = json_clone(a, event);

    if (!core)
        return NULL;
    for (size_t i = 0; i < ELEMS(names); i++)
        rename_member(core, names[i].here, names[i].core);
    return kind_event.columns[column].render(a, core, now_ms);
}

#define RENDER_AS(name, column)                                                                    \
    static struct json *name(struct arena *a, const struct json *event, int64_t now_ms)            \
    {                                                                                              \
        return render(a, event, now_ms, column);                                                   \
    }
RENDER_AS(render_last_seen, 0)
RENDER_AS(render_object, 3)
RENDER_AS(render_message, 6)

static const struct column columns[] = {
    COLUMN("Last Seen", "string", "Time of the last occurrence.", .render = render_last_seen),
    COLUMN("Type", "string", "Normal or Warning.", .path = ".type"),
    COLUMN("Reason", "string", "One word.", .path = ".reason"),
    COLUMN("Object", "string", "The object concerned.", .render = render_object),
    COLUMN("Message", "string", "A sentence.", .render = render_message),
    COLUMN("Name", "string", "Name of the event.", .format = "name", .priority = 1,
           .path = ".metadata.name"),
    {0}};

const struct kind kind_event_v1 = {KIND_NAMES("events.k8s.io", "v1", "Event", "events", "event"),
                                   .namespaced = true,
                                   .doc = "Event is something that happened to an object.",
                                   .fields = fields,
                                   .columns = columns,
                                   .stored_as = &kind_event,
                                   .from_stored = from_stored,
                                   .to_stored = to_stored,
                                   .field_selectors = (const char *const[]){
                                       "regarding.kind", "regarding.namespace", "regarding.name",
                                       "regarding.uid", "regarding.apiVersion", "reason",
                                       "reportingController", "type", NULL}};
