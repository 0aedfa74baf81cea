/* world.h - controllers on an API in memory, with a node and jobs to give them. */
#ifndef MUSTER_TESTS_CONTROL_WORLD_H
#define MUSTER_TESTS_CONTROL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/log.h"
#include "control/control.h"
#include "control/fake_api.h"

#define JOBS_PATH "/apis/batch.tensorstack.dev/v1beta1/namespaces/d/pytorchtrainingjobs"

struct world {
    struct fake_clock clock;
    struct fake_api api;
    struct control *control;
    struct arena arena; /* of what the test reads */
    char refused[64];   /* "METHOD part-of-path" of calls that fail with refusal */
    int refusal;
    unsigned pod_posts, binds;
};

static inline int world_watch_calls(void *arg, const char *method, const char *path)
{
    struct world *w = arg;
    size_t len = strcspn(w->refused, " ");

    if (strcmp(method, "POST") == 0 && strstr(path, "/binding"))
        w->binds++;
    else if (strcmp(method, "POST") == 0 && strstr(path, "/pods"))
        w->pod_posts++;
    if (*w->refused && strncmp(method, w->refused, len) == 0 && strstr(path, w->refused + len + 1))
        return w->refusal;
    return 0;
}

static inline int world_set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    log_set_level(LOG_LEVEL_ERROR);
    fake_clock_init(&w->clock);
    fake_api_init(&w->api, &w->clock);
    w->api.refuse = world_watch_calls;
    w->api.refuse_arg = w;
    arena_init(&w->arena, FAKE_LIMIT);
    *state = w;
    return 0;
}

static inline int world_tear_down(void **state)
{
    struct world *w = *state;

    control_free(w->control);
    transport_free(&w->api.transport);
    assert_null(w->clock.timers);
    arena_release(&w->arena);
    free(w);
    return 0;
}

static inline void world_start_on(struct world *w, unsigned parts, bool cluster)
{
    w->control = control_new(&(struct control_options){.transport = &w->api.transport,
                                                       .clock = &w->clock.clock,
                                                       .parts = parts,
                                                       .shared_network = !cluster,
                                                       .beside_default = cluster},
                             NULL);
    assert_non_null(w->control);
    fake_clock_settle(&w->clock);
}

static inline void world_start(struct world *w, unsigned parts)
{
    world_start_on(w, parts, false);
}

/* Kills the controllers between two turns and starts them anew. */
static inline void world_restart(struct world *w, unsigned parts)
{
    control_free(w->control);
    world_start(w, parts);
}

static inline void world_add_job(struct world *w, const char *name, int replicas,
                                 const char *restart_policy)
{
    const char *body = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\","
        "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"replicaSpecs\":[{\"type\":\"worker\","
        "\"replicas\":%d,\"restartPolicy\":\"%s\",\"template\":{\"spec\":{\"containers\":["
        "{\"name\":\"python\",\"image\":\"x\",\"command\":[\"true\"],"
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
        name, replicas, restart_policy);

    assert_int_equal(fake_api_do(&w->api, "POST", JOBS_PATH, body), 201);
}

static inline void world_add_node(struct world *w, const char *name, int cpus)
{
    const char *body = arena_printf(
        &w->arena,
        "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":{\"cpu\":\"%d\","
        "\"memory\":\"8Gi\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        name, cpus);

    assert_int_equal(fake_api_do(&w->api, "POST", "/api/v1/nodes", body), 201);
}

static inline const struct json *world_job(struct world *w, const char *name)
{
    return fake_api_get(&w->api, &w->arena, &kind_pytorch_training_job, "d", name);
}

static inline const char *world_phase(struct world *w, const char *name)
{
    return json_string(json_at(world_job(w, name), "status", "phase"), "");
}

/* The n-th pod in order of names. */
static inline const struct json *world_pod(struct world *w, size_t n)
{
    map_for_each (node, &w->api.objects) {
        if (strncmp(node->key, "pods.|", 6) == 0 && n-- == 0)
            return json_parse(&w->arena, node->value, strlen(node->value), NULL);
    }
    fail_msg("there are not so many pods");
    return NULL;
}

static inline void world_pod_phase(struct world *w, size_t n, const char *phase, int exit_code)
{
    fake_api_pod_phase(&w->api, "d", object_name(world_pod(w, n)), phase, exit_code);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

#endif
