/*
 * bind.c - POST pods/NAME/binding: assigns a pod its node, once, if there is room. POST bindings is
 * the same with the pod's name in the body, as used by `kubectl create -f`.
 */
#include <string.h>

#include "server/internal.h"

int binding_route(struct server_request *r, const char *ns, struct err *err)
{
    const struct json *binding = object_parse(r->arena, &kind_binding, r->content_type, r->body,
                                              r->body_len, NULL, NULL, err);

    if (!binding)
        return -1;
    if (!*object_name(binding)) {
        err_set(err, ERR_INVALID,
                "Binding \"\" is invalid: metadata.name: Required value: the pod's");
        err_cause(err, "FieldValueRequired", "metadata.name", 0, "Required value: the pod's");
        return err_errno(ERR_INVALID);
    }
    r->route = (struct route){
        .kind = &kind_pod, .ns = ns, .name = object_name(binding), .subresource = "binding"};
    return 0;
}

static void copy_annotations(struct arena *a, struct json *pod, const struct json *binding)
{
    const struct json *given = json_at(binding, "metadata", "annotations");
    struct json *meta = json_make_object(a, pod, "metadata");

    json_each (m, given)
        json_set(a, json_make_object(a, meta, "annotations"), m->key, json_clone(a, m));
}

static int check_binding(struct server_request *r, const struct json *binding,
                         const struct json *pod, struct err *err)
{
    const struct json *target = json_get(binding, "target");
    const char *kind = json_get_string(target, "kind", "Node");
    const char *node = json_get_string(target, "name", "");
    const char *has = json_string(json_at(pod, "spec", "nodeName"), "");

    if (*object_name(binding) && strcmp(object_name(binding), r->route.name) != 0)
        return err_set(err, ERR_BAD_REQUEST, "name in URL does not match name in Binding object");
    if (!*node || strcmp(kind, "Node") != 0) {
        err_set(err, ERR_INVALID, "Binding \"%s\" is invalid: target.name: Required value: a Node",
                r->route.name);
        err_cause(err, "FieldValueRequired", "target.name", 0, "Required value: a Node");
        return err_errno(ERR_INVALID);
    }
    if (*object_uid(binding) && strcmp(object_uid(binding), object_uid(pod)) != 0)
        return err_set(err, ERR_CONFLICT,
                       "Operation cannot be fulfilled on pods/binding \"%s\": Precondition failed: "
                       "UID in precondition: %s, UID in object meta: %s",
                       r->route.name, object_uid(binding), object_uid(pod));
    if (*has)
        return err_set(err, ERR_CONFLICT,
                       "Operation cannot be fulfilled on pods/binding \"%s\": pod %s is already "
                       "assigned to node \"%s\"",
                       r->route.name, r->route.name, has);
    if (object_is_deleting(pod))
        return err_set(err, ERR_CONFLICT,
                       "Operation cannot be fulfilled on pods/binding \"%s\": pod %s is being "
                       "deleted, cannot be assigned to a host",
                       r->route.name, r->route.name);
    return 0;
}

int verb_bind(struct server_request *r, struct err *err)
{
    struct json *binding = object_parse(r->arena, &kind_binding, r->content_type, r->body,
                                        r->body_len, request_warn, r, err);
    struct json *old, *next, *spec;
    const struct store_item *item;
    const char *key;
    int rc;

    if (!binding)
        return -1;
    old = request_load(r, &key, &item, err);
    if (!old)
        return -1;
    rc = check_binding(r, binding, old, err);
    if (rc < 0)
        return rc;
    next = json_clone(r->arena, old);
    spec = json_make_object(r->arena, next, "spec");
    json_set_string(r->arena, spec, "nodeName",
                    json_string(json_at(binding, "target", "name"), ""));
    copy_annotations(r->arena, next, binding);
    return change_object(r, key, item, old, next, 201, success_status(r, NULL), err);
}
