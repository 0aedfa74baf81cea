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
        return; /* said already */
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

void notebook_validate(const struct json *notebook, const struct json *old, struct err *err)
{
    const struct json *pod = json_at(notebook, "spec", "template", "spec");
    const struct field_path spec = {.name = "spec"};
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(&spec, "template"), "spec");

    if (!old)
        check_name(notebook, err);
    pod_spec_validate(pod, at, err);
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
}
