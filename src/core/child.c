/* child.c - see child.h. */
#include "core/child.h"

#include "api/object.h"

struct json *child_new(struct arena *a, const struct kind *kind, const char *name,
                       const struct kind *owner_kind, const struct json *owner)
{
    struct json *child = json_new_object(a), *metadata, *ref;

    json_set_string(a, child, "apiVersion", kind_api_version(a, kind));
    json_set_string(a, child, "kind", kind->name);
    metadata = json_make_object(a, child, "metadata");
    json_set_string(a, metadata, "name", name);
    json_set_string(a, metadata, "namespace", object_namespace(owner));
    ref = json_append(json_make_array(a, metadata, "ownerReferences"), json_new_object(a));
    json_set_string(a, ref, "apiVersion", kind_api_version(a, owner_kind));
    json_set_string(a, ref, "kind", owner_kind->name);
    json_set_string(a, ref, "name", object_name(owner));
    json_set_string(a, ref, "uid", object_uid(owner));
    json_set_bool(a, ref, "controller", true);
    json_set_bool(a, ref, "blockOwnerDeletion", true);
    return child;
}
