/* run_line.c - see run_line.h. */
#include "cli/run_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/program_path.h"

/* Leaves room for what pod names add. */
#define NAME_LIMIT 40

struct line {
    struct arena *arena;
    const struct run_line_options *options;
    const char *const *command;
    size_t len;
    bool here;
};

const char *run_line_given(const struct run_line_options *o)
{
    return o->workers        ? "--workers"
           : o->nproc        ? "--nproc"
           : o->gpus         ? "--gpus"
           : o->cpus         ? "--cpus"
           : o->memory       ? "--memory"
           : o->max_restarts ? "--max-restarts"
           : o->env.len      ? "--env"
           : o->volumes.len  ? "--volume"
           : o->labels.len   ? "--label"
           : o->queue        ? "--queue"
           : o->image        ? "--image"
           : o->mpi          ? "--mpi"
                             : NULL;
}

/* --- its name --- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* python, python3, /usr/bin/python3.11 */
static bool is_python(const char *word)
{
    const char *name = base_of(word);

    return strncmp(name, "python", 6) == 0 && strspn(name + 6, "0123456789.") == strlen(name + 6);
}

/* What an interpreter runs is more telling than the interpreter. */
static const char *telling_word(const char *const *command, size_t len, bool *ret_is_module)
{
    bool runs_others = is_python(command[0]) || strcmp(base_of(command[0]), "sh") == 0 ||
                       strcmp(base_of(command[0]), "bash") == 0;

    *ret_is_module = false;
    for (size_t i = 1; runs_others && i < len; i++) {
        if (strcmp(command[i], "-c") == 0)
            break;
        if (strcmp(command[i], "-m") == 0)
            *ret_is_module = true;
        else if (command[i][0] != '-')
            return command[i];
    }
    *ret_is_module = false;
    return command[0];
}

const char *run_line_name(struct arena *a, const char *const *command, size_t len)
{
    bool is_module;
    const char *word = base_of(telling_word(command, len, &is_module));
    const char *dot = strrchr(word, '.');
    const char *start = is_module && dot ? dot + 1 : word;
    const char *end = !is_module && dot > word ? dot : word + strlen(word);
    char name[NAME_LIMIT + 1];
    size_t n = 0;

    for (const char *p = start; p < end && n < NAME_LIMIT; p++) {
        if (isalnum((unsigned char)*p))
            name[n++] = (char)tolower((unsigned char)*p);
        else if (n > 0 && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    name[n] = '\0';
    if (n == 0)
        return "job";
    return isdigit((unsigned char)name[0]) ? arena_printf(a, "job-%s", name)
                                           : arena_strndup(a, name, n);
}

/* --- the container --- */

/* Taken literally: in a manifest "$(" starts a reference, and "$$" is a "$". */
static const char *literal(struct arena *a, const char *value)
{
    struct buf out = BUF_INIT(1024 * 1024);
    const char *text;

    for (; *value; value++) {
        if (value[0] == '$' && (value[1] == '(' || value[1] == '$'))
            buf_addc(&out, '$');
        buf_addc(&out, *value);
    }
    text = arena_strndup(a, out.data ? out.data : "", out.len);
    buf_release(&out);
    return text;
}

static void append_words(struct line *l, struct json *object, const char *key, size_t from)
{
    struct json *words = json_make_array(l->arena, object, key);

    for (size_t i = from; i < l->len; i++)
        json_append_string(l->arena, words,
                           l->options->mpi ? l->command[i] : literal(l->arena, l->command[i]));
}

static void append_variable(struct line *l, struct json *list, const char *name, const char *value)
{
    struct json *variable = json_append(list, json_new_object(l->arena));

    json_set_string(l->arena, variable, "name", name);
    json_set_string(l->arena, variable, "value", value);
}

static bool is_set(const struct run_line_options *o, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < o->env.len; i++)
        if (strncmp(o->env.items[i], name, len) == 0 && strchr("=", o->env.items[i][len]))
            return true;
    return false;
}

/* JSON has no other text, and would contain U+FFFD instead. */
static int check_text(const char *what, const char *text, struct err *err)
{
    size_t left = strlen(text), n;

    for (; left > 0; text += n, left -= n) {
        n = utf8_sequence(text, left);
        if (n > 0)
            continue;
        err_set(err, ERR_BAD_REQUEST, "%s is not UTF-8 at byte 0x%02x", what, (unsigned char)*text);
        err_hint(err, "pass it in a file");
        return -EINVAL;
    }
    return 0;
}

static int check_words(struct line *l, struct err *err)
{
    const struct option_list *volumes = &l->options->volumes;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->len; i++)
        rc = check_text(i ? arena_printf(l->arena, "argument %zu of the command", i)
                          : "the command's name",
                        l->command[i], err);
    for (size_t i = 0; rc == 0 && i < volumes->len; i++)
        rc = check_text("--volume", volumes->items[i], err);
    return rc;
}

/* `python` means the caller's, which the daemon's PATH may not have. */
static int append_own_environment(struct line *l, struct json *list, struct err *err)
{
    static const char *const names[] = {"PATH",       "VIRTUAL_ENV", "CONDA_PREFIX",
                                        "PYTHONPATH", "PYTHONHOME",  "LD_LIBRARY_PATH",
                                        "LD_PRELOAD"};

    int rc = 0;

    for (size_t i = 0; l->here && rc == 0 && i < ELEMS(names); i++) {
        const char *value = getenv(names[i]);

        if (!value || !*value || is_set(l->options, names[i]))
            continue;
        rc = check_text(arena_printf(l->arena, "the variable %s", names[i]), value, err);
        append_variable(l, list, names[i], literal(l->arena, value));
    }
    return rc;
}

static int add_environment(struct line *l, struct json *container, struct err *err)
{
    const struct option_list *env = &l->options->env;
    struct json *list = json_new_array(l->arena);
    int rc = append_own_environment(l, list, err);

    for (size_t i = 0; rc == 0 && i < env->len; i++) {
        const char *item = env->items[i], *equals = strchr(item, '=');
        const char *name = arena_strndup(l->arena, item,
                                         equals ? (size_t)(equals - item) : strlen(item));
        const char *value = equals ? equals + 1 : getenv(item);

        if (!name || !*name)
            return err_set(err, ERR_BAD_REQUEST, "--env takes KEY=VALUE, not '%s'", item);
        if (!value)
            return err_set(err, ERR_BAD_REQUEST, "--env %s: there is no such variable here to copy",
                           name);
        rc = check_text(arena_printf(l->arena, "--env %s", name), value, err);
        append_variable(l, list, name, literal(l->arena, value));
    }
    if (json_len(list))
        json_set(l->arena, container, "env", list);
    return rc;
}

static void add_resources(struct line *l, struct json *container)
{
    const struct run_line_options *o = l->options;
    struct json *resources = json_new_object(l->arena);

    if (o->cpus)
        json_set_string(l->arena, json_make_object(l->arena, resources, "requests"), "cpu",
                        o->cpus);
    if (o->memory)
        json_set_string(l->arena, json_make_object(l->arena, resources, "requests"), "memory",
                        o->memory);
    if (o->gpus)
        json_set_stringf(l->arena, json_make_object(l->arena, resources, "limits"),
                         "nvidia.com/gpu", "%lld", (long long)o->gpus);
    if (json_len(resources))
        json_set(l->arena, container, "resources", resources);
}

/* NAME:PATH or /DIR:PATH, with :ro appended for read-only */
static int add_volume(struct line *l, struct json *pod, struct json *container, size_t i,
                      struct err *err)
{
    const char *item = l->options->volumes.items[i], *colon = strchr(item, ':');
    const char *path = colon ? colon + 1 : "", *mode = strchr(path, ':');
    bool read_only = mode && strcmp(mode, ":ro") == 0;
    struct json *volume, *mount;
    const char *source;

    if (!colon || colon == item || *path != '/' || (mode && !read_only)) {
        err_set(err, ERR_BAD_REQUEST, "--volume takes NAME:PATH or /DIR:PATH, not '%s'", item);
        err_hint(err, "like --volume data:/data, or --volume $PWD/data:/data:ro");
        return -1;
    }
    source = arena_strndup(l->arena, item, (size_t)(colon - item));
    volume = json_append(json_make_array(l->arena, pod, "volumes"), json_new_object(l->arena));
    json_set_stringf(l->arena, volume, "name", "volume-%zu", i + 1);
    if (*item == '/')
        json_set_string(l->arena, json_make_object(l->arena, volume, "hostPath"), "path", source);
    else
        json_set_string(l->arena, json_make_object(l->arena, volume, "persistentVolumeClaim"),
                        "claimName", source);
    mount = json_append(json_make_array(l->arena, container, "volumeMounts"),
                        json_new_object(l->arena));
    json_set_stringf(l->arena, mount, "name", "volume-%zu", i + 1);
    json_set(l->arena, mount, "mountPath",
             json_new_string_len(l->arena, path, mode ? (size_t)(mode - path) : strlen(path)));
    if (read_only)
        json_set_bool(l->arena, mount, "readOnly", true);
    return 0;
}

/* The container of a new replica spec, which is added to the list. */
static struct json *add_replicas(struct line *l, struct json *list, const char *container_name,
                                 const char *restart_policy, struct json **ret_pod)
{
    struct json *spec = json_append(list, json_new_object(l->arena));
    struct json *pod, *container;

    json_set_string(l->arena, spec, "type", "worker");
    json_set_int(l->arena, spec, "replicas", l->options->workers ? l->options->workers : 1);
    if (restart_policy)
        json_set_string(l->arena, spec, "restartPolicy", restart_policy);
    pod = json_make_object(l->arena, json_make_object(l->arena, spec, "template"), "spec");
    container = json_append(json_make_array(l->arena, pod, "containers"),
                            json_new_object(l->arena));
    json_set_string(l->arena, container, "name", container_name);
    if (l->options->image)
        json_set_string(l->arena, container, "image", l->options->image);
    *ret_pod = pod;
    return container;
}

/* --- the kinds --- */

/* torchrun starts Python itself; for anything it cannot pass on, it starts the whole command. */
static void set_torchrun(struct line *l, struct json *spec, struct json *container)
{
    struct json *config = json_make_object(l->arena, spec, "torchrunConfig");
    bool script = l->len > 1 && is_python(l->command[0]);
    size_t from = script && strcmp(l->command[1], "-u") == 0 && l->len > 2 ? 2 : 1;

    script = script && (l->command[from][0] != '-' || strcmp(l->command[from], "-m") == 0);
    json_set_bool(l->arena, config, "enabled", true);
    json_set_stringf(l->arena, config, "procPerNode", "%lld", (long long)l->options->nproc);
    if (!script)
        json_append_string(l->arena, json_make_array(l->arena, config, "extraOptions"),
                           "--no_python");
    append_words(l, container, "args", script ? from : 0);
}

static struct json *fill_pytorch(struct line *l, struct json *job, struct json **ret_pod)
{
    const struct run_line_options *o = l->options;
    struct json *spec = json_make_object(l->arena, job, "spec"), *container;

    container = add_replicas(l, json_make_array(l->arena, spec, "replicaSpecs"), "pytorch",
                             o->max_restarts ? "OnFailure" : NULL, ret_pod);
    if (o->nproc)
        set_torchrun(l, spec, container);
    else
        append_words(l, container, "command", 0);
    if (o->max_restarts) {
        struct json *policy = json_make_object(l->arena, spec, "runPolicy");

        json_set_int(l->arena, policy, "backoffLimit", o->max_restarts);
        json_set_string(l->arena, policy, "restartScope", "Job");
    }
    return container;
}

static struct json *fill_mpi(struct line *l, struct json *job, struct json **ret_pod)
{
    const struct run_line_options *o = l->options;
    struct json *spec = json_make_object(l->arena, job, "spec");
    struct json *config = json_make_object(l->arena, spec, "mpiConfig");
    struct json *policy = json_make_object(l->arena, spec, "runPolicy");
    struct json *list = json_make_array(l->arena, spec, "replicaSpecs");
    struct json *launcher = json_append(list, json_new_object(l->arena));

    append_words(l, config, "script", 0);
    if (o->nproc) {
        struct json *extra = json_make_array(l->arena, config, "extraArgs");

        json_append_string(l->arena, extra, "-N");
        (void)json_append(extra, json_new_stringf(l->arena, "%lld", (long long)o->nproc));
    }
    json_set_bool(l->arena, policy, "cleanUpWorkers", true);
    if (o->max_restarts)
        json_set_int(l->arena, policy, "backoffLimit", o->max_restarts);
    json_set_string(l->arena, launcher, "type", "launcher");
    json_set(l->arena, launcher, "template", json_new_object(l->arena));
    return add_replicas(l, list, "worker", NULL, ret_pod);
}

static int add_labels(struct line *l, struct json *metadata, struct err *err)
{
    const struct option_list *labels = &l->options->labels;

    for (size_t i = 0; i < labels->len; i++) {
        const char *equals = strchr(labels->items[i], '=');

        if (!equals || equals == labels->items[i])
            return err_set(err, ERR_BAD_REQUEST, "--label takes KEY=VALUE, not '%s'",
                           labels->items[i]);
        json_set_string(
            l->arena, json_make_object(l->arena, metadata, "labels"),
            arena_strndup(l->arena, labels->items[i], (size_t)(equals - labels->items[i])),
            equals + 1);
    }
    return 0;
}

bool run_line_uses_python3(struct arena *a, const struct run_line_options *o,
                           const char *const *command, bool here)
{
    return here && strcmp(command[0], "python") == 0 && !is_set(o, "PATH") &&
           !program_find(a, "python") && program_find(a, "python3");
}

static const char *const *with_python3(struct arena *a, const char *const *command, size_t len)
{
    const char **copy = arena_alloc(a, (len + 1) * sizeof(*copy));

    if (!copy)
        return command;
    memcpy(copy, command, len * sizeof(*copy));
    copy[0] = "python3";
    return copy;
}

struct json *run_line_job(struct arena *a, const struct run_line_options *o, const char *name,
                          const char *const *command, size_t len, bool here, struct err *err)
{
    bool python3 = run_line_uses_python3(a, o, command, here);
    struct line l = {.arena = a,
                     .options = o,
                     .command = python3 ? with_python3(a, command, len) : command,
                     .len = len,
                     .here = here};
    struct json *job = json_new_object(a), *metadata, *pod, *container;
    int r;

    json_set_string(a, job, "apiVersion", "batch.tensorstack.dev/v1beta1");
    json_set_string(a, job, "kind", o->mpi ? "MPIJob" : "PyTorchTrainingJob");
    metadata = json_make_object(a, job, "metadata");
    json_set_string(a, metadata, "name", name);
    r = check_words(&l, err);
    if (r == 0)
        r = add_labels(&l, metadata, err);
    container = o->mpi ? fill_mpi(&l, job, &pod) : fill_pytorch(&l, job, &pod);
    if (r == 0)
        r = add_environment(&l, container, err);
    add_resources(&l, container);
    for (size_t i = 0; r == 0 && i < o->volumes.len; i++)
        r = add_volume(&l, pod, container, i, err);
    if (o->queue)
        json_set_string(
            a,
            json_make_object(a, json_make_object(a, json_get_mut(job, "spec"), "scheduler"),
                             "t9kScheduler"),
            "queue", o->queue);
    if (r == 0 && arena_failed(a))
        r = err_set(err, ERR_INTERNAL, "out of memory");
    return r ? NULL : job;
}
