/* object.c - accessors for what every object has. They never fail: absent is "" or NULL. */
#include "api/object.h"

#include "base/timefmt.h"

static const struct json_part head_name[] = {{"name", NULL}, {NULL, NULL}};
static const struct json_part head_exit[] = {{"exitCode", NULL}, {NULL, NULL}};
static const struct json_part head_state[] = {{"terminated", head_exit}, {NULL, NULL}};
static const struct json_part head_container_status[] = {{"state", head_state}, {NULL, NULL}};
static const struct json_part head_metadata[] = {
    {"name", NULL},
    {"namespace", NULL},
    {"uid", NULL},
    {"resourceVersion", NULL},
    {"ownerReferences", NULL},
    {"finalizers", NULL},
    {"deletionTimestamp", NULL},
    {NULL, NULL},
};
static const struct json_part head_spec[] = {{"containers", head_name}, {NULL, NULL}};
static const struct json_part head_status[] = {
    {"phase", NULL}, {"containerStatuses", head_container_status}, {NULL, NULL}};

const struct json_part object_head[] = {
    {"metadata", head_metadata}, {"spec", head_spec}, {"status", head_status}, {NULL, NULL}};

static const char *meta_string(const struct json *object, const char *key)
{
    return json_get_string(json_get(object, "metadata"), key, "");
}

const char *object_name(const struct json *object)
{
    return meta_string(object, "name");
}

const char *object_namespace(const struct json *object)
{
    return meta_string(object, "namespace");
}

const char *object_uid(const struct json *object)
{
    return meta_string(object, "uid");
}

const char *object_resource_version(const struct json *object)
{
    return meta_string(object, "resourceVersion");
}

const struct json *object_labels(const struct json *object)
{
    return json_at(object, "metadata", "labels");
}

const char *object_label(const struct json *object, const char *key)
{
    return json_string(json_get(object_labels(object), key), NULL);
}

const char *object_annotation(const struct json *object, const char *key)
{
    return json_string(json_at(object, "metadata", "annotations", key), NULL);
}

bool object_is_deleting(const struct json *object)
{
    return !json_is_null(json_at(object, "metadata", "deletionTimestamp"));
}

int64_t object_time(const struct json *v, const char *key)
{
    const char *text = json_get_string(v, key, NULL);
    int64_t ms;

    return text && time_parse(text, &ms) == 0 ? ms : 0;
}

int64_t object_created_ms(const struct json *object)
{
    return object_time(json_get(object, "metadata"), "creationTimestamp");
}

const struct json *object_controller(const struct json *object)
{
    json_each (owner, json_at(object, "metadata", "ownerReferences"))
        if (json_get_bool(owner, "controller", false))
            return owner;
    return NULL;
}

bool object_is_controlled_by(const struct json *object, const char *uid)
{
    return json_string_is(json_get(object_controller(object), "uid"), uid);
}

bool object_has_ended(const struct json *object)
{
    const struct json *phase = json_at(object, "status", "phase");

    return json_string_is(phase, "Succeeded") || json_string_is(phase, "Failed");
}

bool object_rests(const struct json *head)
{
    return object_has_ended(head) && !object_is_deleting(head) &&
           json_len(json_at(head, "metadata", "finalizers")) == 0;
}

const struct json *object_condition(const struct json *object, const char *type)
{
    return json_find(json_at(object, "status", "conditions"), "type", type);
}

bool object_condition_is(const struct json *object, const char *type)
{
    return json_string_is(json_get(object_condition(object, type), "status"), "True");
}
