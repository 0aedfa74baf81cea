/*
 * torchrun.c - builds the torchrun command line. The container's own command is ignored; its args
 * are the script and the script's arguments. Options that are not set are not passed.
 *
 * The master's address stays $(MASTER_ADDR):$(MASTER_PORT): it is expanded when the container
 * starts, against its environment, so that a user's value or a node's substitute for the name
 * counts too.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/quantity.h"
#include "core/replica_pod.h"

#define GPU_RESOURCE "nvidia.com/gpu"
#define RDZV_BACKEND_DEFAULT "c10d"

static void add_option(struct arena *a, struct json *args, const char *option, const char *value)
{
    json_append_string(a, args, option);
    json_append_string(a, args, value);
}

static const char *node_range(const struct job_view *v, const struct json *config)
{
    const struct json *elastic = json_get(v->spec, "elastic");
    int64_t most = (int64_t)v->len, least = json_get_int(config, "minNodes", most);

    if (v->elastic) {
        least = json_get_int(elastic, "minReplicas", least);
        most = json_get_int(elastic, "maxReplicas", most);
    }
    if (least >= most)
        return arena_printf(v->arena, "%" PRId64, most);
    return arena_printf(v->arena, "%" PRId64 ":%" PRId64, least, most);
}

/* "gpu" is the number of the replica's GPUs; if it asks for none, torchrun counts what it sees. */
static const char *processes(const struct job_view *v, const struct json *config,
                             const struct json *container)
{
    const struct json *wanted = json_get(config, "procPerNode");
    const struct json *limits = json_at(container, "resources", "limits");
    int64_t gpus = quantity_json_value(json_get(limits, GPU_RESOURCE), 0);

    if (json_is(wanted, JSON_INT))
        return arena_printf(v->arena, "%" PRId64, wanted->u.integer);
    if (json_string_is(wanted, "gpu") && gpus > 0)
        return arena_printf(v->arena, "%" PRId64, gpus);
    return json_string(wanted, "");
}

/* The user's own option, which comes after ours; 0: none. */
static int64_t processes_of_options(const struct json *options)
{
    static const char *const names[] = {"--nproc_per_node", "--nproc-per-node"};
    int64_t found = 0;

    json_each (option, options)
        for (size_t i = 0; i < ELEMS(names); i++) {
            const char *text = json_string(option, "");
            size_t n = strlen(names[i]);

            if (strncmp(text, names[i], n) != 0)
                continue;
            if (text[n] == '=')
                found = strtoll(text + n + 1, NULL, 10);
            else if (!text[n])
                found = strtoll(json_string(option->next, ""), NULL, 10);
        }
    return found;
}

int64_t torchrun_processes(const struct job_view *v, const struct replica *r)
{
    const struct json *config = json_get(v->spec, "torchrunConfig");
    const struct json *container = main_container(v->rules,
                                                  json_at(r->role->spec, "template", "spec"));
    int64_t n;

    if (!switched_on(config))
        return 1;
    n = processes_of_options(json_get(config, "extraOptions"));
    return n > 0 ? n : max_i64(strtoll(processes(v, config, container), NULL, 10), 1);
}

void torchrun_wrap(const struct job_view *v, const struct replica *r, struct json *container)
{
    const struct json *config = json_get(v->spec, "torchrunConfig");
    const char *per_node = processes(v, config, container);
    struct arena *a = v->arena;
    struct json *command = json_new_array(a), *args = json_new_array(a);

    add_option(a, args, "--nnodes", node_range(v, config));
    if (per_node[0])
        add_option(a, args, "--nproc_per_node", per_node);
    add_option(a, args, "--rdzv_id", arena_printf(a, "%s-%s", v->name, v->hash5));
    add_option(a, args, "--rdzv_backend",
               json_get_string(config, "rdzvBackend", RDZV_BACKEND_DEFAULT));
    add_option(a, args, "--rdzv_endpoint", "$(MASTER_ADDR):$(MASTER_PORT)");
    if (json_get(config, "maxRestarts"))
        add_option(a, args, "--max_restarts",
                   arena_printf(a, "%" PRId64, json_get_int(config, "maxRestarts", 0)));
    add_option(a, args, "--role", r->type);
    json_each (option, json_get(config, "extraOptions"))
        json_append(args, json_clone(a, option));
    json_each (arg, json_get(container, "args"))
        json_append(args, json_clone(a, arg));
    json_append_string(a, command, "torchrun");
    json_set(a, container, "command", command);
    json_set(a, container, "args", args);
}
