/*
 * tensorboard_pod.c - the pod of a TensorBoard.
 *
 * On a single machine the program is whatever is installed when the pod starts, so a shell looks
 * for it then. Its limit there exceeds what the scheduler reserves: a TensorBoard that reserves its
 * limit could keep the very job waiting whose curves it shows. On a cluster the manifest's
 * resources are used unchanged.
 */
#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "api/tensorboard_rules.h"
#include "core/tensorboard.h"

#define MOUNT_PREFIX "/pvc-"
#define GRACE_SECONDS 10
#define FOLDERS_VARIABLE "MUSTER_TENSORBOARD_FOLDERS"

/* Its exit codes distinguish a missing program and missing folders from a failure. A job that just
 * started creates its folder soon, so it waits a moment before reporting it missing. */
static const char find_and_run[] =
    "PATH=\"$PATH${VIRTUAL_ENV:+:$VIRTUAL_ENV/bin}${HOME:+:$HOME/.local/bin}\"; "
    "command -v tensorboard >/dev/null || "
    "{ echo 'tensorboard is not installed: pip install tensorboard' >&2; exit 127; }; "
    "set -f; IFS='\n'; n=0; "
    "while :; do for d in $" FOLDERS_VARIABLE "; do [ -d \"$d\" ] && break 2; done; "
    "n=$((n + 1)); [ $n -le 60 ] || { echo 'its folder does not exist' >&2; exit 72; }; "
    "sleep 1; done; " APP_CHECK_PORT("$" APP_PORT_VARIABLE,
                                     APP_EXIT_PORT_TAKEN) "exec tensorboard \"$@\"";

/* --- folders ---------------------------------------------------------------------------------- */

static bool is_mounted(const struct tensorboard_folder *folders, size_t before, const char *claim)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(folders[i].claim, claim) == 0)
            return true;
    return false;
}

static void add_claim(struct arena *a, struct json *spec, struct json *container, const char *claim)
{
    struct json *volumes = json_make_array(a, spec, "volumes");
    struct json *volume = json_append(volumes, json_new_object(a));
    struct json *mount = json_append(json_make_array(a, container, "volumeMounts"),
                                     json_new_object(a));
    struct json *source = json_make_object(a, volume, "persistentVolumeClaim");
    const char *name = arena_printf(a, "logs-%zu", json_len(volumes) - 1);

    json_set_string(a, volume, "name", name);
    json_set_string(a, source, "claimName", claim);
    json_set_bool(a, source, "readOnly", true);
    json_set_string(a, mount, "name", name);
    json_set_stringf(a, mount, "mountPath", MOUNT_PREFIX "%s", claim);
    json_set_bool(a, mount, "readOnly", true);
}

static const char *folder_path(struct arena *a, const struct tensorboard_folder *f)
{
    return arena_printf(a, MOUNT_PREFIX "%s%s%s", f->claim, *f->path ? "/" : "", f->path);
}

/* A single folder is the root of all runs; several are named, because runs are called after
 * them. */
static void add_folders(struct arena *a, struct json *args,
                        const struct tensorboard_folder *folders, size_t len)
{
    const char *list = "";

    json_append_string(a, args, len == 1 ? "--logdir" : "--logdir_spec");
    for (size_t i = 0; i < len; i++) {
        const char *path = folder_path(a, &folders[i]);

        if (len == 1)
            list = path;
        else
            list = arena_printf(a, "%s%s%s%s%s:%s", list ? list : "", i ? "," : "",
                                folders[i].claim, *folders[i].path ? "/" : "", folders[i].path,
                                path ? path : "");
    }
    json_append_string(a, args, list);
}

/* --- pod -------------------------------------------------------------------------------------- */

static void add_option(struct arena *a, struct json *args, const char *option, const char *value)
{
    json_append_string(a, args, option);
    json_append_string(a, args, value);
}

static void set_folders_variable(struct arena *a, struct json *container,
                                 const struct tensorboard_folder *folders, size_t len)
{
    struct json *variable = json_append(json_make_array(a, container, "env"), json_new_object(a));
    const char *list = "";

    for (size_t i = 0; i < len; i++)
        list = arena_printf(a, "%s%s%s", list ? list : "", i ? "\n" : "",
                            folder_path(a, &folders[i]));
    json_set_string(a, variable, "name", FOLDERS_VARIABLE);
    json_set_string(a, variable, "value", list ? list : "");
}

static void set_command(struct arena *a, const struct json *board, struct json *container,
                        int64_t port, bool shared_network)
{
    struct json *command = json_make_array(a, container, "command");
    struct json *args = json_make_array(a, container, "args");
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];
    size_t len = tensorboard_folders(a, json_get(board, "spec"), folders);

    if (shared_network) {
        add_option(a, command, "/bin/sh", "-c");
        json_append_string(a, command, find_and_run);
        set_folders_variable(a, container, folders, len);
        app_set_port_variable(a, container, port);
    }
    json_append_string(a, command, "tensorboard");
    add_folders(a, args, folders, len);
    add_option(a, args, "--host", shared_network ? "127.0.0.1" : "0.0.0.0");
    add_option(a, args, "--port", arena_printf(a, "%" PRId64, port));
    add_option(a, args, "--path_prefix",
               arena_printf(a, TENSORBOARD_PATH_PREFIX "/%s/%s", object_namespace(board),
                            object_name(board)));
}

static void set_if_absent(struct arena *a, struct json *object, const char *key, const char *text)
{
    if (!json_get(object, key))
        json_set_string(a, object, key, text);
}

static void set_resources(struct arena *a, const struct json *board, struct json *container,
                          bool shared_network)
{
    const struct json *wanted = json_at(board, "spec", "resources");
    struct json *resources, *requests;

    if (!json_is(wanted, JSON_OBJECT))
        return;
    resources = json_set(a, container, "resources", json_clone(a, wanted));
    if (!shared_network || json_len(json_get(wanted, "limits")) == 0)
        return;
    requests = json_make_object(a, resources, "requests");
    set_if_absent(a, requests, "cpu", "10m");
    set_if_absent(a, requests, "memory", "64Mi");
}

struct json *tensorboard_pod_new(const struct app_look *l)
{
    struct arena *a = l->arena;
    const struct json *board = l->app;
    bool shared_network = l->snapshot->shared_network;
    struct json *pod = app_child_new(a, &app_kind_tensorboard, board, &kind_pod);
    struct json *spec = json_make_object(a, pod, "spec");
    struct json *container = json_append(json_make_array(a, spec, "containers"),
                                         json_new_object(a));
    const char *image = json_string(json_at(board, "spec", "image"), "");
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];
    size_t len = tensorboard_folders(a, json_get(board, "spec"), folders);

    json_set_string(a, spec, "restartPolicy", "Never"); /* the controller counts and delays
                                                         * restarts */
    json_set_int(a, spec, "terminationGracePeriodSeconds", GRACE_SECONDS);
    json_set_bool(a, spec, "automountServiceAccountToken", false);
    json_set_string(a, container, "name", app_kind_tensorboard.container);
    json_set_string(a, container, "image", *image ? image : TENSORBOARD_IMAGE);
    set_command(a, board, container, l->port.port, shared_network);
    set_resources(a, board, container, shared_network);
    app_set_port(a, container, l->port.port);
    for (size_t i = 0; i < len; i++)
        if (!is_mounted(folders, i, folders[i].claim))
            add_claim(a, spec, container, folders[i].claim);
    return pod;
}

bool tensorboard_pod_fits(const struct json *pod, const struct json *wanted)
{
    const struct json *is = json_first(json_at(pod, "spec", "containers"));
    const struct json *ought = json_first(json_at(wanted, "spec", "containers"));

    return json_equal(json_get(is, "args"), json_get(ought, "args")) &&
           json_equal(json_get(is, "image"), json_get(ought, "image"));
}
