/* app_parts.c - the list of app kinds, and what their pods and Services have in common. See
 * app.h. */
#include <string.h>

#include "api/object.h"
#include "core/app.h"
#include "core/child.h"

#define PROBE_SECONDS 2

const struct app_kind *const app_kinds[] = {&app_kind_tensorboard, &app_kind_notebook, NULL};

bool app_is_kind(const struct kind *k)
{
    for (size_t i = 0; app_kinds[i]; i++)
        if (app_kinds[i]->job->kind == k)
            return true;
    return false;
}

const struct app_kind *app_kind_at(const char *path)
{
    for (size_t i = 0; app_kinds[i]; i++) {
        size_t len = strlen(app_kinds[i]->path);

        if (strncmp(path, app_kinds[i]->path, len) == 0 && path[len] == '/')
            return app_kinds[i];
    }
    return NULL;
}

const char *app_child_name(struct arena *a, const struct app_kind *k, const struct json *app)
{
    return arena_printf(a, "%s%s", object_name(app), k->suffix);
}

const char *app_service_name(struct arena *a, const struct app_kind *k, const struct json *app)
{
    return k->service_prefix ? arena_printf(a, "%s%s", k->service_prefix, object_name(app))
                             : app_child_name(a, k, app);
}

const char *app_url(struct arena *a, const struct app_kind *k, const struct json *app)
{
    return arena_printf(a, "%s/%s/%s/", k->path, object_namespace(app), object_name(app));
}

void app_wanted_names(const struct app_kind *k, struct arena *a, const struct json *app,
                      void (*say)(void *arg, const char *name), void *arg)
{
    const char *name = app_child_name(a, k, app), *service = app_service_name(a, k, app);

    if (name)
        say(arg, name);
    if (service && k->service_prefix)
        say(arg, service);
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
    struct json *child = child_new(a, kind, app_child_name(a, k, app), k->job->kind, app);

    set_identity(a, k, app, json_make_object(a, json_make_object(a, child, "metadata"), "labels"));
    return child;
}

unsigned app_port(const struct app_kind *k, const struct json *pod)
{
    json_each (container, json_at(pod, "spec", "containers"))
        if (json_string_is(json_get(container, "name"), k->container))
            return (unsigned)json_get_int(json_first(json_get(container, "ports")), "containerPort",
                                          0);
    return 0;
}

void app_set_port(struct arena *a, struct json *container, int64_t port)
{
    const struct json *others = json_clone(a, json_get(container, "ports"));
    struct json *ports = json_set(a, container, "ports", json_new_array(a));
    struct json *open = json_append(ports, json_new_object(a)), *probe;

    json_set_string(a, open, "name", "app-http");
    json_set_int(a, open, "containerPort", port);
    json_each (other, others)
        json_append(ports, json_clone(a, other));
    if (json_get(container, "readinessProbe"))
        return;
    probe = json_make_object(a, container, "readinessProbe");
    json_set_int(a, json_make_object(a, probe, "tcpSocket"), "port", port);
    json_set_int(a, probe, "periodSeconds", PROBE_SECONDS);
}

struct json *app_service_new(struct arena *a, const struct app_kind *k, const struct json *app,
                             int64_t port, bool shared_network)
{
    struct json *service = app_child_new(a, k, app, &kind_service);
    struct json *spec = json_make_object(a, service, "spec");
    struct json *open = json_append(json_make_array(a, spec, "ports"), json_new_object(a));

    json_set_string(a, json_make_object(a, service, "metadata"), "name",
                    app_service_name(a, k, app));
    if (shared_network) /* names resolve to the machine itself, without a Service */
        json_set_string(a, spec, "clusterIP", "None");
    set_identity(a, k, app, json_make_object(a, spec, "selector"));
    json_set_string(a, open, "name", "http");
    json_set_string(a, open, "protocol", "TCP");
    json_set_int(a, open, "port", shared_network ? port : 80);
    json_set_int(a, open, "targetPort", port);
    return service;
}

bool app_is_grouped(const struct json *app)
{
    return json_at(app, "spec", "scheduler", "t9kScheduler");
}

void app_set_group(struct arena *a, const struct json *app, struct json *pod)
{
    struct json *labels = json_make_object(a, json_make_object(a, pod, "metadata"), "labels");
    struct json *spec = json_make_object(a, pod, "spec");

    json_set_string(a, labels, LABEL_GROUP_NAME, job_child_name(a, app));
    if (!json_get(spec, "schedulerName"))
        json_set_string(a, spec, "schedulerName", "t9k-scheduler");
    if (*json_get_string(spec, "nodeName", ""))
        job_ask_for_node(a, spec);
}
