/* app_parts.c - the list of app kinds, and what their pods and Services have in common. See
 * app.h. */
#include <inttypes.h>
#include <string.h>

#include "api/notebook_rules.h"
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

const char *app_ssh_service_name(struct arena *a, const struct json *app)
{
    return arena_printf(a, NOTEBOOK_SSH_SERVICE_PREFIX "%s", object_name(app));
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
    if (port_wants_ssh(app))
        say(arg, app_ssh_service_name(a, app));
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

static const struct json *ports_of(const struct app_kind *k, const struct json *pod)
{
    return json_get(json_find(json_at(pod, "spec", "containers"), "name", k->container), "ports");
}

unsigned app_port(const struct app_kind *k, const struct json *pod)
{
    return (unsigned)json_get_int(json_first(ports_of(k, pod)), "containerPort", 0);
}

unsigned app_ssh_port(const struct app_kind *k, const struct json *pod)
{
    return (unsigned)json_get_int(json_find(ports_of(k, pod), "name", APP_SSH_PORT),
                                  "containerPort", 0);
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

struct json *app_service_new(const struct app_look *l, const char *name, const char *port_name,
                             int64_t port)
{
    struct arena *a = l->arena;
    struct json *service = app_child_new(a, l->kind, l->app, &kind_service);
    struct json *spec = json_make_object(a, service, "spec");
    struct json *open = json_append(json_make_array(a, spec, "ports"), json_new_object(a));

    json_set_string(a, json_make_object(a, service, "metadata"), "name", name);
    if (l->snapshot->shared_network) /* names resolve to the machine itself, without a Service */
        json_set_string(a, spec, "clusterIP", "None");
    set_identity(a, l->kind, l->app, json_make_object(a, spec, "selector"));
    json_set_string(a, open, "name", port_name);
    json_set_string(a, open, "protocol", "TCP");
    json_set_int(a, open, "port", l->snapshot->shared_network ? port : 80);
    json_set_int(a, open, "targetPort", port);
    return service;
}

void app_set_variable(struct arena *a, struct json *container, const char *name, const char *value)
{
    struct json *variable;

    json_each (other, json_get(container, "env"))
        if (json_string_is(json_get(other, "name"), name))
            return;
    variable = json_append(json_make_array(a, container, "env"), json_new_object(a));
    json_set_string(a, variable, "name", name);
    json_set_string(a, variable, "value", value);
}

void app_set_port_variable(struct arena *a, struct json *container, int64_t port)
{
    app_set_variable(a, container, APP_PORT_VARIABLE, arena_printf(a, "%" PRId64, port));
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
