/*
 * pod_env.c - see pod_env.h.
 *
 * The environment, later entries winning: the image's variables or, without an image, a few of the
 * daemon's own (such as PATH and HOME), the machine's (host name, GPUs), envFrom, env. As in
 * Kubernetes $(VAR) refers only to envFrom and earlier env entries, so that a manifest means the
 * same there.
 */
#include "agent/pod_env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/pod_images.h"
#include "agent/pod_probes.h"
#include "agent/pod_token.h"
#include "agent/rights.h"
#include "agent/threads.h"
#include "agent/volume_content.h"
#include "agent/volumes.h"
#include "api/object.h"
#include "api/quantity.h"
#include "base/base64.h"
#include "core/expand.h"
#include "core/resources.h"
#include "runtime/image_root.h"

#define ENV_LIMIT 10000u
#define DEFAULT_GRACE_SECONDS 30
#define IMAGE_PATH                                                                                 \
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" /* if it has none */

/* Inherited from the daemon's environment; a trailing * makes a prefix. */
static const char *const inherited[] = {
    "PATH",         "HOME",
    "USER",         "LOGNAME",
    "SHELL",        "LANG",
    "LC_*",         "TZ",
    "TMPDIR",       "VIRTUAL_ENV",
    "CONDA_*",      "PYTHONPATH",
    "PYTHONHOME",   "LD_LIBRARY_PATH",
    "CUDA_HOME",    "CUDA_PATH",
    "XDG_*",        "SSL_CERT_FILE",
    "SSL_CERT_DIR", "http_proxy",
    "https_proxy",  "no_proxy",
    "HTTP_PROXY",   "HTTPS_PROXY",
    "NO_PROXY",     "MUSTER_JUPYTER",
};

/* Variables whose value may be a Service name that must be replaced by an address. */
static const char *const address_variables[] = {"MASTER_ADDR"};

struct variable {
    struct variable *next;
    const char *name, *value;
    bool own; /* from the pod: $(NAME) may refer to it */
};

struct builder {
    struct arena *arena;
    const struct json *pod;
    const struct pod_ref *refs;
    const struct pod_machine *machine;
    const struct json *container;
    const struct image *image; /* the container's, or NULL */
    struct variable *first, *last;
    size_t count;
    size_t gpus_taken; /* of the pod's list, by earlier containers */
    const char *gpus;  /* the container's, by index; "": none */
    struct identity who;
    const struct start_note **notes;
    bool said_threads;
};

static const char *hostname_of(const struct json *pod)
{
    const char *name = json_string(json_at(pod, "spec", "hostname"), "");

    return *name ? name : object_name(pod);
}

void start_note_add(struct arena *a, const struct start_note **list, const struct start_note *note)
{
    struct start_note *n = arena_alloc(a, sizeof(*n));

    if (!n)
        return;
    *n = *note;
    n->next = *list;
    *list = n;
}

/* --- references --- */

void pod_ref_add(struct arena *a, struct pod_ref **list, const struct kind *k, const char *name)
{
    struct pod_ref *r;

    if (!*name)
        return;
    for (r = *list; r; r = r->next)
        if (r->kind == k && strcmp(r->name, name) == 0)
            return;
    r = arena_alloc(a, sizeof(*r));
    if (!r)
        return;
    r->kind = k;
    r->name = name;
    r->next = *list;
    *list = r;
}

static void add_ref(struct arena *a, struct pod_ref **list, const struct kind *k,
                    const struct json *ref)
{
    pod_ref_add(a, list, k, json_get_string(ref, "name", ""));
}

static void container_refs(struct arena *a, const struct json *c, struct pod_ref **list)
{
    json_each (e, json_get(c, "envFrom")) {
        add_ref(a, list, &kind_config_map, json_get(e, "configMapRef"));
        add_ref(a, list, &kind_secret, json_get(e, "secretRef"));
    }
    json_each (e, json_get(c, "env")) {
        add_ref(a, list, &kind_config_map, json_at(e, "valueFrom", "configMapKeyRef"));
        add_ref(a, list, &kind_secret, json_at(e, "valueFrom", "secretKeyRef"));
    }
}

struct pod_ref *pod_refs(struct arena *a, const struct json *pod)
{
    struct pod_ref *list = NULL;

    pod_images_add_refs(a, pod, &list);
    json_each (c, json_at(pod, "spec", "initContainers"))
        container_refs(a, c, &list);
    json_each (c, json_at(pod, "spec", "containers"))
        container_refs(a, c, &list);
    volumes_add_refs(a, pod, &list);
    return list;
}

static const struct json *find_ref(const struct builder *b, const struct kind *k, const char *name)
{
    for (const struct pod_ref *r = b->refs; r; r = r->next)
        if (r->kind == k && strcmp(r->name, name) == 0)
            return r->object;
    return NULL;
}

/* --- variables --- */

static struct variable *find_variable(const struct builder *b, const char *name, size_t len)
{
    for (struct variable *v = b->first; v; v = v->next)
        if (strlen(v->name) == len && memcmp(v->name, name, len) == 0)
            return v;
    return NULL;
}

static void set_variable(struct builder *b, const char *name, const char *value, bool own)
{
    struct variable *v = find_variable(b, name, strlen(name));

    if (!name[0] || strchr(name, '=') || !value)
        return;
    if (!v) {
        if (b->count >= ENV_LIMIT)
            return;
        v = arena_alloc(b->arena, sizeof(*v));
        if (!v)
            return;
        v->name = name;
        if (b->last)
            b->last->next = v;
        else
            b->first = v;
        b->last = v;
        b->count++;
    }
    v->value = value;
    v->own = v->own || own;
}

static const char *lookup(void *arg, const char *name, size_t len)
{
    const struct variable *v = find_variable(arg, name, len);

    return v && v->own ? v->value : NULL;
}

static bool is_inherited(const char *name, size_t len)
{
    for (size_t i = 0; i < ELEMS(inherited); i++) {
        size_t n = strlen(inherited[i]);

        if (inherited[i][n - 1] == '*' ? len > n - 1 && memcmp(name, inherited[i], n - 1) == 0
                                       : len == n && memcmp(name, inherited[i], n) == 0)
            return true;
    }
    return false;
}

static void add_inherited(struct builder *b)
{
    for (char *const *e = b->machine->env; *e; e++) {
        const char *equals = strchr(*e, '=');

        if (equals && is_inherited(*e, (size_t)(equals - *e)))
            set_variable(b, arena_strndup(b->arena, *e, (size_t)(equals - *e)), equals + 1, false);
    }
}

/* "3,5" out of "2,3,5" for skip 1, take 2; truncated if there are fewer. */
static const char *cut_list(struct arena *a, const char *list, size_t skip, size_t take)
{
    const char *from = list, *to;

    for (; skip > 0 && *from; skip--) {
        from += strcspn(from, ",");
        from += *from == ',';
    }
    to = from;
    for (; take > 0 && *to; take--) {
        to += strcspn(to, ",");
        if (take > 1)
            to += *to == ',';
    }
    return arena_strndup(a, from, (size_t)(to - from));
}

/* A container sees the GPUs it asked for, the pod's shared one if it asked for a share and, on a
 * machine with GPUs, no others. */
static void add_gpus(struct builder *b, const struct json *c)
{
    const char *list = object_annotation(b->pod, ANNOTATION_GPUS);
    const struct json *limits = json_at(c, "resources", "limits");
    int64_t wanted = quantity_json_value(json_get(limits, resource_key(RESOURCE_GPU)), 0);
    bool shares = quantity_json_value(json_get(limits, resource_key(RESOURCE_GPU_SHARE)), 0) > 0;

    if ((wanted > 0 || shares) && list) {
        const char *mine = cut_list(b->arena, list, b->gpus_taken, (size_t)wanted);
        const char *last = strrchr(list, ',');

        b->gpus_taken += (size_t)wanted;
        last = last ? last + 1 : list;
        if (shares)
            mine = wanted > 0 ? arena_printf(b->arena, "%s,%s", mine, last) : last;
        b->gpus = mine;
        set_variable(b, "CUDA_DEVICE_ORDER", "PCI_BUS_ID", false); /* like leases */
        if (!b->image) /* in an image the others have no devices, and it counts its own */
            set_variable(b, "CUDA_VISIBLE_DEVICES", mine, false);
        set_variable(b, "NVIDIA_VISIBLE_DEVICES", mine, false);
    } else if (b->machine->has_gpus) {
        set_variable(b, "CUDA_VISIBLE_DEVICES", "", false);
        set_variable(b, "NVIDIA_VISIBLE_DEVICES", "void", false);
    }
}

static const char *secret_text(struct builder *b, const struct json *v)
{
    size_t len;

    return json_is(v, JSON_STRING) ? base64_decode(b->arena, v->u.text, v->len, &len) : NULL;
}

static int add_all_from(struct builder *b, const struct json *source, const char *member,
                        const struct kind *k, struct err *err)
{
    const struct json *ref = json_get(source, member);
    const char *name = json_get_string(ref, "name", "");
    const char *prefix = json_get_string(source, "prefix", "");
    const struct json *object;

    if (!ref)
        return 0;
    object = find_ref(b, k, name);
    if (!object)
        return json_get_bool(ref, "optional", false)
                   ? 0
                   : err_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", k->singular, name);
    json_each (d, json_get(object, "data"))
        set_variable(b, arena_printf(b->arena, "%s%s", prefix, d->key),
                     k == &kind_secret ? secret_text(b, d) : json_string(d, NULL), true);
    return 0;
}

/* --- valueFrom --- */

static int key_value(struct builder *b, const struct json *ref, const struct kind *k,
                     const char **ret, struct err *err)
{
    const char *name = json_get_string(ref, "name", ""), *key = json_get_string(ref, "key", "");
    const struct json *object = find_ref(b, k, name);
    const struct json *v = json_get(json_get(object, "data"), key);

    *ret = k == &kind_secret ? secret_text(b, v) : json_string(v, NULL);
    if (*ret || json_get_bool(ref, "optional", false))
        return 0;
    if (!object)
        return err_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", k->singular, name);
    return err_set(err, ERR_NOT_FOUND, "key \"%s\" not found in %s \"%s\"", key, k->singular, name);
}

/* metadata.labels['key'] */
static const char *map_entry(struct builder *b, const char *path, const char *prefix,
                             const struct json *map)
{
    size_t n = strlen(prefix), len = strlen(path);

    if (strncmp(path, prefix, n) != 0 || len < n + 4 || strncmp(path + n, "['", 2) != 0 ||
        strcmp(path + len - 2, "']") != 0)
        return NULL;
    return json_get_string(map, arena_strndup(b->arena, path + n + 2, len - n - 4), "");
}

static const char *field_value(struct builder *b, const char *path)
{
    const struct json *pod = b->pod;
    const struct {
        const char *path, *value;
    } fields[] = {
        {"metadata.name", object_name(pod)},
        {"metadata.namespace", object_namespace(pod)},
        {"metadata.uid", object_uid(pod)},
        {"spec.nodeName", json_string(json_at(pod, "spec", "nodeName"), "")},
        {"spec.serviceAccountName", json_string(json_at(pod, "spec", "serviceAccountName"), "")},
        {"status.podIP", b->machine->address},
        {"status.podIPs", b->machine->address},
        {"status.hostIP", b->machine->address},
        {"status.hostIPs", b->machine->address},
    };
    const char *v;

    for (size_t i = 0; i < ELEMS(fields); i++)
        if (strcmp(path, fields[i].path) == 0)
            return fields[i].value;
    v = map_entry(b, path, "metadata.labels", json_at(pod, "metadata", "labels"));
    if (!v)
        v = map_entry(b, path, "metadata.annotations", json_at(pod, "metadata", "annotations"));
    return v;
}

static int value_from(struct builder *b, const struct json *from, const char **ret, struct err *err)
{
    const struct json *ref;
    const char *path;

    if ((ref = json_get(from, "configMapKeyRef")) != NULL)
        return key_value(b, ref, &kind_config_map, ret, err);
    if ((ref = json_get(from, "secretKeyRef")) != NULL)
        return key_value(b, ref, &kind_secret, ret, err);
    if ((ref = json_get(from, "fieldRef")) != NULL) {
        path = json_get_string(ref, "fieldPath", "");
        *ret = field_value(b, path);
        return *ret ? 0 : err_set(err, ERR_INVALID, "fieldRef \"%s\" is not supported", path);
    }
    if ((ref = json_get(from, "resourceFieldRef")) != NULL)
        return pod_resource_value(b->arena, b->pod, b->container, ref, &b->machine->allocatable,
                                  ret, err);
    return err_set(err, ERR_INVALID, "this kind of valueFrom is not supported yet");
}

static const char *address_for(const struct builder *b, const char *name, const char *value)
{
    struct arena *a = b->arena;

    for (size_t i = 0; b->machine->host_address && i < ELEMS(address_variables); i++)
        if (strcmp(name, address_variables[i]) == 0 && *value && strcmp(value, "localhost") != 0 &&
            !dns_label_problem(arena_strndup(a, value, strcspn(value, "."))) &&
            (value[0] < '0' || value[0] > '9'))
            return b->machine->host_address;
    return value;
}

static int add_env(struct builder *b, const struct json *e, struct err *err)
{
    const char *name = json_get_string(e, "name", "");
    const struct json *from = json_get(e, "valueFrom");
    const char *value = NULL;
    int rc;

    if (json_is(from, JSON_OBJECT)) {
        rc = value_from(b, from, &value, err);
        if (rc != 0) {
            err_context(err, "env %s", name);
            return rc;
        }
    } else {
        value = expand_vars(b->arena, json_get_string(e, "value", ""), lookup, b);
        value = value ? address_for(b, name, value) : NULL;
    }
    set_variable(b, name, value, true);
    return 0;
}

/* Where Kubernetes' libraries look for the server that the pod's token is for. */
static void add_api_address(struct builder *b, const char *server)
{
    static const char scheme[] = "https://";
    const char *host = server + strlen(scheme), *end, *port;

    if (strncmp(server, scheme, strlen(scheme)) != 0)
        return;
    end = host + strcspn(host, "/");
    if (*host == '[') {
        const char *close = memchr(host, ']', (size_t)(end - host));

        port = close && close[1] == ':' ? close + 1 : NULL;
        end = close ? close : end;
        host++;
    } else {
        port = memchr(host, ':', (size_t)(end - host));
        end = port ? port : end;
    }
    set_variable(b, "KUBERNETES_SERVICE_HOST", arena_strndup(b->arena, host, (size_t)(end - host)),
                 false);
    set_variable(b, "KUBERNETES_SERVICE_PORT",
                 port ? arena_strndup(b->arena, port + 1, strcspn(port + 1, "/")) : "443", false);
}

/* For muster's own programs; commands may use $(MUSTER_EXE). */
static void add_own(struct builder *b)
{
    set_variable(b, "MUSTER_EXE", b->machine->exe, true);
    set_variable(b, "MUSTER_NAMESPACE", object_namespace(b->pod), true);
    if (b->machine->token) {
        set_variable(b, "MUSTER_SERVER", b->machine->server, true);
        set_variable(b, "MUSTER_TOKEN", b->machine->token, true);
        if (!b->machine->users.obstacle)
            set_variable(b, "MUSTER_TOKEN_FILE", ACCOUNT_FOLDER "/" ACCOUNT_TOKEN, true);
        if (b->machine->ca_pem)
            set_variable(b, "MUSTER_CA", b->machine->ca_pem, true);
    }
    if (b->machine->server && pod_token_account(b->pod))
        add_api_address(b, b->machine->server);
}

/* --- images --- */

/* HOME is the user's, unless the image says otherwise. */
static int add_image_identity(struct builder *b, struct err *err)
{
    const char *path = arena_printf(b->arena, "%s/" IMAGE_ROOT_FOLDER, b->image->folder);
    int root = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, rc;

    if (root < 0)
        return err_set(err, ERR_INTERNAL, "image %s: %s", b->image->name, strerror(errno));
    rc = identity_of_image(b->arena, b->pod, b->container, &b->machine->users,
                           json_get_string(b->image->config, "User", ""), root, &b->who, err);
    (void)close(root);
    return rc;
}

static void add_image_env(struct builder *b)
{
    set_variable(b, "PATH", IMAGE_PATH, false);
    set_variable(b, "HOME", b->who.home, false);
    json_each (v, json_get(b->image->config, "Env")) {
        const char *text = json_string(v, ""), *equals = strchr(text, '=');

        if (equals)
            set_variable(b, arena_strndup(b->arena, text, (size_t)(equals - text)), equals + 1,
                         false);
    }
}

/* Another user has another home. */
static int add_identity(struct builder *b, struct err *err)
{
    int rc = identity_of(b->arena, b->pod, b->container, &b->machine->users, &b->who, err);

    if (rc == 0 && b->who.home) {
        set_variable(b, "HOME", b->who.home, false);
        set_variable(b, "USER", b->who.name, false);
        set_variable(b, "LOGNAME", b->who.name, false);
    }
    return rc;
}

/* After the pod's own variables. */
static void add_threads(struct builder *b, const struct json *c)
{
    const char *why;
    int64_t n;

    if (find_variable(b, THREADS_VARIABLE, strlen(THREADS_VARIABLE)))
        return;
    n = threads_of(b->arena, b->pod, c, b->machine, &why);
    set_variable(b, THREADS_VARIABLE, arena_printf(b->arena, "%" PRId64, n), false);
    if (b->said_threads)
        return;
    b->said_threads = true;
    start_note_add(b->arena, b->notes,
                   &(struct start_note){.reason = "ThreadsSet",
                                        .of_job = true,
                                        .subject = "threads",
                                        .message = arena_printf(
                                            b->arena,
                                            THREADS_VARIABLE " is %" PRId64
                                                             " in container %s, from %s: set it in "
                                                             "env to change it",
                                            n, json_get_string(c, "name", ""), why)});
}

static int build_env(struct builder *b, const struct json *c, struct err *err)
{
    int rc;

    b->container = c;
    b->first = b->last = NULL;
    b->count = 0;
    b->gpus = "";
    if (!b->image)
        add_inherited(b);
    rc = b->image ? add_image_identity(b, err) : add_identity(b, err);
    if (rc != 0)
        return rc;
    if (b->image)
        add_image_env(b);
    set_variable(b, "HOSTNAME", hostname_of(b->pod), false);
    add_own(b);
    add_gpus(b, c);
    if (json_get_bool(c, "tty", false))
        set_variable(b, "TERM", "xterm", false);
    json_each (e, json_get(c, "envFrom")) {
        rc = add_all_from(b, e, "configMapRef", &kind_config_map, err);
        if (rc == 0)
            rc = add_all_from(b, e, "secretRef", &kind_secret, err);
        if (rc != 0)
            return rc;
    }
    json_each (e, json_get(c, "env")) {
        rc = add_env(b, e, err);
        if (rc != 0)
            return rc;
    }
    add_threads(b, c);
    return 0;
}

/* --- containers --- */

static const char *const *env_list(struct builder *b)
{
    const char **list = arena_alloc(b->arena, (b->count + 1) * sizeof(*list));
    size_t n = 0;

    for (const struct variable *v = b->first; list && v; v = v->next)
        list[n++] = arena_printf(b->arena, "%s=%s", v->name, v->value);
    return list;
}

/* As in Kubernetes: command takes the place of Entrypoint, args of Cmd, and without Entrypoint
 * there is no Cmd. $(VAR) is not for the image's own words. */
static const char *const *arguments(struct builder *b, const struct json *c)
{
    const struct json *config = b->image ? b->image->config : NULL;
    const struct json *command = json_get(c, "command"), *args = json_get(c, "args");
    bool own_command = json_len(command) == 0, own_args = own_command && json_len(args) == 0;
    const struct {
        const struct json *words;
        bool expands;
    } parts[] = {{own_command ? json_get(config, "Entrypoint") : command, !own_command},
                 {own_args ? json_get(config, "Cmd") : args, !own_args}};
    const char **list = arena_alloc(
        b->arena, (json_len(parts[0].words) + json_len(parts[1].words) + 1) * sizeof(*list));
    size_t n = 0;

    for (size_t i = 0; list && i < ELEMS(parts); i++)
        json_each (word, parts[i].words)
            list[n++] = parts[i].expands ? expand_vars(b->arena, json_string(word, ""), lookup, b)
                                         : json_string(word, "");
    return list;
}

static int add_rights(struct builder *b, const struct json *c, struct container_rights *ret,
                      struct err *err)
{
    const char *note = NULL;
    int rc = rights_of(b->arena, b->pod, c, &b->machine->users, ret, &note, err);

    if (note)
        start_note_add(
            b->arena, b->notes,
            &(struct start_note){.reason = "RightsLimited", .warning = true, .message = note});
    return rc;
}

static int build_container(struct builder *b, const struct json *c, bool init,
                           struct container_start *ret, struct err *err)
{
    struct container_rights rights = {.bounded = false};
    int rc = build_env(b, c, err);

    if (rc == 0)
        rc = add_rights(b, c, &rights, err);
    if (rc != 0) {
        err_context(err, "container %s", json_get_string(c, "name", ""));
        return rc;
    }
    *ret = (struct container_start){.name = json_get_string(c, "name", ""),
                                    .init = init,
                                    .stdin_open = json_get_bool(c, "stdin", false),
                                    .stdin_once = json_get_bool(c, "stdinOnce", false),
                                    .tty = json_get_bool(c, "tty", false),
                                    .identity = b->who.id,
                                    .rights = rights,
                                    .hidden = b->machine->hidden,
                                    .argv = arguments(b, c),
                                    .env = env_list(b),
                                    .cwd = json_get_string(c, "workingDir", ""),
                                    .open_files = (int64_t)b->machine->open_files,
                                    .limits = pod_container_limits(c)};
    if (!*ret->cwd)
        ret->cwd = object_annotation(b->pod, ANNOTATION_FOLDER);
    if (ret->cwd && !*ret->cwd)
        ret->cwd = NULL;
    if (b->image) {
        const char *folder = json_get_string(b->image->config, "WorkingDir", "");

        ret->image = b->image->folder;
        ret->gpus = b->gpus;
        ret->cwd = ret->cwd ? ret->cwd : *folder ? folder : "/";
        if (!ret->argv || !ret->argv[0])
            return err_set(err, ERR_INVALID,
                           "container %s: no command specified, and the image has none", ret->name);
        if (ret->cwd[0] != '/')
            return err_set(err, ERR_INVALID,
                           "container %s: the image's working directory \"%s\" "
                           "is not an absolute path",
                           ret->name, ret->cwd);
    }
    pod_probes_build(b->arena, c, ret);
    return 0;
}

int pod_start_build(struct arena *a, const struct json *pod, const struct pod_ref *refs,
                    const struct pod_machine *machine, struct pod_start *ret,
                    const struct start_note **notes, struct err *err)
{
    const struct json *init = json_at(pod, "spec", "initContainers");
    const struct json *main = json_at(pod, "spec", "containers");
    struct builder b = {.arena = a,
                        .pod = pod,
                        .refs = refs,
                        .machine = machine,
                        .notes = notes,
                        .said_threads = true}; /* not reported for init containers */
    size_t n = 0, total = json_len(init) + json_len(main);
    struct container_start *list = arena_alloc(a, max_size(total, 1) * sizeof(*list));
    int rc = 0;

    if (!list)
        return err_set(err, ERR_INTERNAL, "out of memory");
    json_each (c, init) {
        b.gpus_taken = 0; /* init containers run before the others, with the same GPUs */
        b.image = machine->images ? &machine->images[n] : NULL;
        rc = build_container(&b, c, true, &list[n++], err);
        if (rc != 0)
            return rc;
    }
    b.gpus_taken = 0;
    b.said_threads = false;
    json_each (c, main) {
        b.image = machine->images ? &machine->images[n] : NULL;
        rc = build_container(&b, c, false, &list[n++], err);
        if (rc != 0)
            return rc;
    }
    if (arena_failed(a))
        return err_set(err, ERR_INTERNAL, "out of memory");
    *ret = (struct pod_start){
        .ns = object_namespace(pod),
        .name = object_name(pod),
        .uid = object_uid(pod),
        .revision = strtoll(json_string(json_at(pod, "metadata", "resourceVersion"), "0"), NULL,
                            10),
        .containers = list,
        .containers_len = n,
        .grace_seconds = json_int(json_at(pod, "spec", "terminationGracePeriodSeconds"),
                                  DEFAULT_GRACE_SECONDS),
        .hostname = hostname_of(pod),
        .restart = pod_restart_policy(pod),
        .owner = json_get_string(object_controller(pod), "uid", NULL),
        .attempt = pod_attempt(pod),
    };
    return 0;
}
