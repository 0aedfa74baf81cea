/* notebook_rules.c - see notebook_rules.h. */
#include "api/notebook_rules.h"

#include <string.h>

#include "api/kinds/pod_fields.h"
#include "api/object.h"

const struct json *notebook_container(const struct json *pod_spec)
{
    json_each (container, json_get(pod_spec, "containers"))
        if (json_string_is(json_get(container, "name"), NOTEBOOK_CONTAINER))
            return container;
    return NULL;
}

static void check_name(const struct json *notebook, struct err *err)
{
    const struct json *name = json_at(notebook, "metadata", "name");
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(NULL, "metadata"), "name");
    const char *text = json_string(name, ""), *problem;

    if (!*text || dns_name_problem(text))
        return; /* already reported */
    problem = dns_1035_label_problem(text);
    if (strlen(text) > NOTEBOOK_NAME_LIMIT)
        problem_invalid(
            err, at, name,
            "must be no more than %d characters: its Service is named " NOTEBOOK_SERVICE_PREFIX
            "NAME, which may have 63",
            NOTEBOOK_NAME_LIMIT);
    else if (problem)
        problem_invalid(err, at, name, "a service is named after it: %s", problem);
}

static void check_keys(const struct json *notebook, const struct field_path *spec, struct err *err)
{
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(spec, "ssh"), "authorized_keys");
    size_t n = 0;

    json_each (name, json_at(notebook, "spec", "ssh", "authorized_keys")) {
        const char *problem = dns_name_problem(json_string(name, ""));

        if (problem)
            problem_invalid(err, PATH_INDEX(at, n), name, "it names a Secret: %s", problem);
        n++;
    }
}

void notebook_validate(const struct json *notebook, const struct json *old, struct err *err)
{
    const struct json *pod = json_at(notebook, "spec", "template", "spec");
    const struct field_path spec = {.name = "spec"};
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(&spec, "template"), "spec");

    if (!old)
        check_name(notebook, err);
    pod_spec_validate(pod, NULL, at, err);
    check_keys(notebook, &spec, err);
    if (json_len(json_get(pod, "containers")) > 0 && !notebook_container(pod))
        problem_required(err, PATH_MEMBER(at, "containers"), json_get(pod, "containers")->line,
                         "a container named \"" NOTEBOOK_CONTAINER "\", which runs JupyterLab");
}

static bool has_claim(const struct json *pod)
{
    json_each (volume, json_get(pod, "volumes"))
        if (json_get(volume, "persistentVolumeClaim"))
            return true;
    return false;
}

void notebook_warn(const struct json *notebook, void (*say)(void *arg, const char *text), void *arg)
{
    if (!has_claim(json_at(notebook, "spec", "template", "spec")))
        say(arg, "spec.template.spec.volumes: no persistentVolumeClaim: files of this Notebook are "
                 "lost when it is paused or deleted");
    if (json_bool(json_at(notebook, "spec", "ssh", "enabled"), false) &&
        json_len(json_at(notebook, "spec", "ssh", "authorized_keys")) == 0)
        say(arg, "spec.ssh.authorized_keys: no Secret with a public key: nobody can log in");
}

/* --- Kubeflow's ------------------------------------------------------------------------------- */

static struct json *own_container_of(struct json *pod_spec, const char *notebook)
{
    struct json *first = json_first_mut(json_get_mut(pod_spec, "containers"));

    if (notebook_container(pod_spec))
        return NULL;
    for (struct json *c = first; c; c = c->next)
        if (json_string_is(json_get(c, "name"), notebook))
            return c;
    return first;
}

void notebook_unify_kubeflow(struct arena *a, struct json *notebook,
                             void (*say)(void *arg, const char *text), void *arg, struct err *err)
{
    struct json *template = json_get_mut(json_get_mut(notebook, "spec"), "template");
    struct json *container = own_container_of(json_get_mut(template, "spec"),
                                              object_name(notebook));

    (void)say, (void)arg, (void)err;
    if (json_is(container, JSON_OBJECT))
        json_set_string(a, container, "name", NOTEBOOK_CONTAINER);
}

void notebook_to_kubeflow(struct arena *a, const struct kind *k, struct json *notebook)
{
    bool stopped = json_bool(json_at(notebook, "spec", "suspend"), false);
    struct json *metadata = json_get_mut(notebook, "metadata");

    json_set_string(a, notebook, "apiVersion", kind_api_version(a, k));
    if (!stopped)
        json_remove(json_get_mut(metadata, "annotations"), NOTEBOOK_KUBEFLOW_STOPPED);
    else if (!object_annotation(notebook, NOTEBOOK_KUBEFLOW_STOPPED))
        json_set_string(a, json_make_object(a, metadata, "annotations"), NOTEBOOK_KUBEFLOW_STOPPED,
                        "true");
}

void notebook_from_kubeflow(struct arena *a, const struct kind *k, struct json *notebook)
{
    json_set_string(a, notebook, "apiVersion", kind_api_version(a, k->stored_as));
    json_set_bool(a, json_make_object(a, notebook, "spec"), "suspend",
                  object_annotation(notebook, NOTEBOOK_KUBEFLOW_STOPPED) != NULL);
}
