/*
 * notebook.c - Notebook as an app (app.h): JupyterLab in a pod. See docs/notebook.md.
 *
 * On a single machine the program is the machine's own jupyter, so a shell looks for it when the
 * pod starts. It listens on the loopback, where every user of the machine can reach it, and it
 * executes code: so it demands a token, which it generates itself and which is stored nowhere. The
 * proxy (console/app_proxy.c), which requires of its callers the right to exec into the pod, reads
 * it from the program's environment. To the API the pod is a service account of its own, which may
 * only work with jobs in that namespace.
 */
#include <inttypes.h>
#include <string.h>

#include "api/notebook_rules.h"
#include "api/object.h"
#include "core/notebook_ssh.h"

#define GRACE_SECONDS 10

/* jupyter-server reads the variable itself. It is known only to the program and to those that ask
 * through the node (NODE_TOKEN_VARIABLE, port/node.h). A command from the manifest gets it too. */
static const char find_and_run[] =
    "PATH=\"$PATH${VIRTUAL_ENV:+:$VIRTUAL_ENV/bin}${MUSTER_JUPYTER:+:$MUSTER_JUPYTER/bin}"
    "${MUSTER_EXE:+:${MUSTER_EXE%/*}}\"; " APP_CHECK_PORT("$" APP_PORT_VARIABLE,
                                                          APP_EXIT_PORT_TAKEN) NOTEBOOK_SSH_START
    "JUPYTER_TOKEN=\"${JUPYTER_TOKEN:-$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')}\"; "
    "export JUPYTER_TOKEN; [ \"$0\" = jupyter-lab ] || exec \"$@\"; "
    "command -v jupyter-lab >/dev/null || "
    "{ echo 'JupyterLab is not installed: muster notebook --setup' >&2; exit 127; }; "
    "if [ \"$(id -u)\" = 0 ]; then set -- \"$@\" --allow-root; fi; "
    "exec jupyter-lab \"$@\"";

/* --- pod -------------------------------------------------------------------------------------- */

static struct json *own_container(struct json *spec)
{
    const struct json *found = notebook_container(spec);

    for (struct json *c = json_first_mut(json_get_mut(spec, "containers")); c; c = c->next)
        if (c == found)
            return c;
    return NULL;
}

static bool is_mounted(const struct json *container, const char *member, const char *value)
{
    json_each (mount, json_get(container, "volumeMounts"))
        if (json_string_is(json_get(mount, member), value))
            return true;
    return false;
}

/* So that jobs started in it (python/muster/jupyter.py) find its files at the same paths. */
static void set_volume_variable(struct arena *a, const struct json *spec, struct json *container,
                                const struct json *mount)
{
    const struct json *volume = json_find(json_get(spec, "volumes"), "name",
                                          json_get_string(mount, "name", ""));
    const char *claim = json_string(json_at(volume, "persistentVolumeClaim", "claimName"), "");

    if (*claim && !json_get(mount, "subPath"))
        app_set_variable(a, container, "MUSTER_VOLUME",
                         arena_printf(a, "%s:%s", claim, json_get_string(mount, "mountPath", "")));
}

/* The first claim is the user's home, even if the manifest does not mount it. */
static void set_home(struct arena *a, const struct json *spec, struct json *container)
{
    const char *home = NOTEBOOK_HOME;

    json_each (volume, json_get(spec, "volumes")) {
        const char *name = json_get_string(volume, "name", "");
        struct json *mount;

        if (!json_get(volume, "persistentVolumeClaim") ||
            is_mounted(container, "mountPath", NOTEBOOK_HOME) ||
            is_mounted(container, "name", name))
            continue;
        mount = json_append(json_make_array(a, container, "volumeMounts"), json_new_object(a));
        json_set_string(a, mount, "name", name);
        json_set_string(a, mount, "mountPath", NOTEBOOK_HOME);
    }
    if (!is_mounted(container, "mountPath", home))
        home = NOTEBOOK_KUBEFLOW_HOME;
    if (!is_mounted(container, "mountPath", home))
        return;
    app_set_variable(a, container, "HOME", home);
    json_each (mount, json_get(container, "volumeMounts"))
        if (json_string_is(json_get(mount, "mountPath"), home))
            set_volume_variable(a, spec, container, mount);
    if (!json_get(container, "workingDir"))
        json_set_string(a, container, "workingDir", home);
}

static void set_command(struct arena *a, const struct json *notebook, struct json *container,
                        int64_t port)
{
    const struct json *own = json_clone(a, json_get(container, "command"));
    const struct json *more = json_clone(a, json_get(container, "args"));
    struct json *command = json_set(a, container, "command", json_new_array(a));
    struct json *args;

    json_append_string(a, command, "/bin/sh");
    json_append_string(a, command, "-c");
    json_append_string(a, command, find_and_run);
    json_append_string(a, command, own ? "sh" : "jupyter-lab");
    json_each (word, own)
        json_append(command, json_clone(a, word));
    if (own)
        return;
    args = json_set(a, container, "args", json_new_array(a));
    json_append_string(a, args, "--no-browser");
    json_append_string(a, args, "--ServerApp.ip=127.0.0.1");
    json_append_string(a, args, arena_printf(a, "--ServerApp.port=%" PRId64, port));
    json_append_string(a, args, "--ServerApp.port_retries=0");
    json_append_string(a, args, "--ServerApp.quit_button=False");
    json_append_string(
        a, args,
        arena_printf(a, "--ServerApp.base_url=%s", app_url(a, &app_kind_notebook, notebook)));
    json_each (arg, more)
        json_append(args, json_clone(a, arg));
}

static struct json *pod_new(const struct app_look *l)
{
    struct arena *a = l->arena;
    const struct json *notebook = l->app;
    struct json *pod = app_child_new(a, &app_kind_notebook, notebook, &kind_pod);
    struct json *spec = json_clone(a, json_at(notebook, "spec", "template", "spec"));
    struct json *container = own_container(spec);

    json_set(a, pod, "spec", spec);
    if (!container)
        return pod;
    json_set_string(a, spec, "restartPolicy", "Never"); /* the controller counts and delays
                                                         * restarts */
    if (!json_get(spec, "terminationGracePeriodSeconds"))
        json_set_int(a, spec, "terminationGracePeriodSeconds", GRACE_SECONDS);
    app_set_variable(a, container, "NB_PREFIX",
                     arena_printf(a, NOTEBOOK_PATH_PREFIX "/%s/%s", object_namespace(notebook),
                                  object_name(notebook)));
    set_home(a, spec, container);
    app_set_port(a, container, l->port.port);
    if (!l->snapshot->shared_network)
        return pod;
    app_set_port_variable(a, container, l->port.port);
    if (!json_get(spec, "serviceAccountName") && !json_get(spec, "serviceAccount"))
        json_set_string(a, spec, "serviceAccountName",
                        app_child_name(a, &app_kind_notebook, notebook));
    set_command(a, notebook, container, l->port.port);
    notebook_ssh_set(l, pod, container);
    return pod;
}

/* The template does not change; the port is in the arguments. */
static bool pod_fits(const struct json *pod, const struct json *wanted)
{
    return json_equal(notebook_ssh_mark(pod), notebook_ssh_mark(wanted)) &&
           json_equal(json_get(notebook_container(json_get(pod, "spec")), "args"),
                      json_get(notebook_container(json_get(wanted, "spec")), "args"));
}

/* --- its pod's rights ------------------------------------------------------------------------- */

/* By an existing ClusterRole: creating a Role requires having everything it grants (server/roles.c,
 * cli/manifests.yaml). */
static struct json *binding_new(struct arena *a, const struct json *notebook)
{
    struct json *binding = app_child_new(a, &app_kind_notebook, notebook, &kind_role_binding);
    struct json *ref = json_make_object(a, binding, "roleRef"), *subject;

    json_set_string(a, ref, "apiGroup", kind_cluster_role.group);
    json_set_string(a, ref, "kind", kind_cluster_role.name);
    json_set_string(a, ref, "name", NOTEBOOK_CLUSTER_ROLE);
    subject = json_append(json_make_array(a, binding, "subjects"), json_new_object(a));
    json_set_string(a, subject, "kind", kind_service_account.name);
    json_set_string(a, subject, "name", app_child_name(a, &app_kind_notebook, notebook));
    json_set_string(a, subject, "namespace", object_namespace(notebook));
    return binding;
}

/* Existing objects stay if they are this Notebook's: a foreign Role would grant whatever its author
 * chose. */
static void plan_before(const struct app_look *l, struct plan *plan)
{
    struct arena *a = l->arena;

    if (!l->snapshot->shared_network)
        return;
    plan_create_own(plan, &kind_service_account,
                    app_child_new(a, l->kind, l->app, &kind_service_account));
    plan_create_own(plan, &kind_role_binding, binding_new(a, l->app));
    if (l->ssh)
        plan_create_own(plan, &kind_secret, notebook_ssh_secret(l));
}

/* --- its life --------------------------------------------------------------------------------- */

static bool explain_end(struct app_look *l)
{
    if (!l->snapshot->shared_network || l->state.exit_code != APP_EXIT_NOT_FOUND)
        return false;
    l->reason = APP_NOT_INSTALLED;
    l->message =
        "JupyterLab is not installed on this machine: muster notebook --setup gets it from "
        "PyPI, or pip install jupyterlab, so that jupyter-lab is in the PATH or the "
        "virtual environment of muster up. It is looked for again every few minutes; "
        "pausing and resuming looks at once.";
    return true;
}

static const char *const activity_paths[] = {"api/kernels?no_track_activity=1",
                                             "api/terminals?no_track_activity=1", NULL};

/* A list of kernels or terminals. A busy kernel has been active since its last message. */
static int64_t active_ms(const struct json *answer, int64_t now_ms)
{
    int64_t last_ms = 0;

    json_each (one, answer)
        last_ms = max_i64(last_ms, json_string_is(json_get(one, "execution_state"), "busy")
                                       ? now_ms
                                       : object_time(one, "last_activity"));
    return last_ms;
}

static void reconcile(const struct job_snapshot *s, struct plan *plan)
{
    app_reconcile(&app_kind_notebook, s, plan);
}

static void wanted_names(struct arena *a, const struct json *notebook,
                         void (*say)(void *arg, const char *name), void *arg)
{
    app_wanted_names(&app_kind_notebook, a, notebook, say, arg);
}

static const struct job_kind job = {
    .kind = &kind_notebook, .reconcile = reconcile, .wanted_names = wanted_names};

const struct app_kind app_kind_notebook = {.job = &job,
                                           .path = NOTEBOOK_PATH_PREFIX,
                                           .suffix = NOTEBOOK_SUFFIX,
                                           .service_prefix = NOTEBOOK_SERVICE_PREFIX,
                                           .container = NOTEBOOK_CONTAINER,
                                           .program = "JupyterLab",
                                           .port_on_cluster = 8888,
                                           .runs_code = true,
                                           .activity_paths = activity_paths,
                                           .active_ms = active_ms,
                                           .pod_new = pod_new,
                                           .pod_fits = pod_fits,
                                           .add_status = notebook_ssh_status,
                                           .plan_before = plan_before,
                                           .explain_end = explain_end};
