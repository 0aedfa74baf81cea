/* app_parts.c - the list of apps, and what their pods and services have in common. See app.h. */
#include "api/object.h"
#include "core/app.h"

#define PROBE_SECONDS 2

const struct app_kind *const app_kinds[] = {&app_kind_tensorboard, NULL};

bool app_is_kind(const struct kind *k)
{
    for (size_t i = 0; app_kinds[i]; i++)
        if (app_kinds[i]->job->kind == k)
            return true;
    return false;
}

const char *app_child_name(struct arena *a, const struct app_kind *k, const struct json *app)
{
    return arena_printf(a, "%s%s", object_name(app), k->suffix);
}

const char *app_url(struct arena *a, const struct app_kind *k, const struct json *app)
{
    return arena_printf(a, "%s/%s/%s/", k->path, object_namespace(app), object_name(app));
}

void app_wanted_names(const struct app_kind *k, struct arena *a, const struct json *app,
                      void (*say)(void *arg, const char *name), void *arg)
{
    const char *name = app_child_name(a, k, app);

    if (name)
        say(arg, name);
}

static void set_identity(struct arena *a, const struct app_kind *k, const struct json *app,
                         struct json *labels)
{
    json_set_string(a, labels, LABEL_OWNER_NAME, object_name(app));
    json_set_string(a, labels, LABEL_OWNER_KIND, k->job->kind->name);
}

struct json *app_child_new(struct arena *a, const struct app_kind *k, const struct json *app,
                           const struct kind *kind)
{
    const struct kind *own = k->job->kind;
    struct json *child = json_new_object(a), *metadata, *owner;

    json_set_string(a, child, "apiVersion", kind_api_version(a, kind));
    json_set_string(a, child, "kind", kind->name);
    metadata = json_make_object(a, child, "metadata");
    json_set_string(a, metadata, "name", app_child_name(a, k, app));
    json_set_string(a, metadata, "namespace", object_namespace(app));
    set_identity(a, k, app, json_make_object(a, metadata, "labels"));
    owner = json_append(json_make_array(a, metadata, "ownerReferences"), json_new_object(a));
    json_set_string(a, owner, "apiVersion", kind_api_version(a, own));
    json_set_string(a, owner, "kind", own->name);
    json_set_string(a, owner, "name", object_name(app));
    json_set_string(a, owner, "uid", object_uid(app));
    json_set_bool(a, owner, "controller", true);
    json_set_bool(a, owner, "blockOwnerDeletion", true);
    return child;
}

void app_set_port(struct arena *a, struct json *container, int64_t port)
{
    struct json *probe = json_make_object(a, container, "readinessProbe");
    struct json *ports = json_make_array(a, container, "ports");
    struct json *open = json_append(ports, json_new_object(a));

    json_set_string(a, open, "name", "http");
    json_set_int(a, open, "containerPort", port);
    json_set_int(a, json_make_object(a, probe, "tcpSocket"), "port", port);
    json_set_int(a, probe, "periodSeconds", PROBE_SECONDS);
}

struct json *app_service_new(struct arena *a, const struct app_kind *k, const struct json *app,
                             int64_t port, bool shared_network)
{
    struct json *service = app_child_new(a, k, app, &kind_service);
    struct json *spec = json_make_object(a, service, "spec");
    struct json *open = json_append(json_make_array(a, spec, "ports"), json_new_object(a));

    if (shared_network) /* nobody stands between a name and the machine's port */
        json_set_string(a, spec, "clusterIP", "None");
    set_identity(a, k, app, json_make_object(a, spec, "selector"));
    json_set_string(a, open, "name", "http");
    json_set_string(a, open, "protocol", "TCP");
    json_set_int(a, open, "port", shared_network ? port : 80);
    json_set_int(a, open, "targetPort", port);
    return service;
}
