/* object.c - accessors for what every object has. They never fail: absent is "" or NULL. */
#include "api/object.h"

#include "base/timefmt.h"

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

const struct json *object_condition(const struct json *object, const char *type)
{
    return json_find(json_at(object, "status", "conditions"), "type", type);
}

bool object_condition_is(const struct json *object, const char *type)
{
    return json_string_is(json_get(object_condition(object, type), "status"), "True");
}
