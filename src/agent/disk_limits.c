/*
 * disk_limits.c - see disk_limits.h. One timer, and at most one measurement under way, on a pool
 * thread. Walking large trees takes long, so the pause before the next one grows with it.
 */
#include "agent/disk_limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_internal.h"
#include "agent/scratch.h"
#include "agent/start_folder.h"
#include "agent/volume_files.h"
#include "api/object.h"
#include "api/quantity.h"
#include "runtime/podfolder.h"

#define STEP_MS 2000
#define STEP_SHARE 20 /* times the duration of the last measurement */
#define STEP_LIMIT_MS 300000
#define TARGETS_LIMIT 10000u /* per measurement */

struct target {
    char *key; /* of the pod's work */
    char *path, *message;
    int64_t limit_bytes;
    bool over;
};

struct disk_limits {
    struct agent *agent;
    struct loop *loop;
    struct clock_timer *timer;
    int64_t begun_ms;
    bool busy, closing;
    bool limited; /* the pod being looked at has a limit */
    /* For the measurement under way; the pool thread's while busy. */
    struct target *targets;
    size_t len, cap;
};

/* --- on the pool thread --- */

static void look(void *arg)
{
    struct disk_limits *d = arg;

    for (size_t i = 0; i < d->len; i++) {
        struct target *t = &d->targets[i];

        t->over = volume_tree_bytes(t->path, t->limit_bytes) > t->limit_bytes;
    }
}

/* --- selecting volumes --- */

static void target_release(struct target *t)
{
    free(t->key);
    free(t->path);
    free(t->message);
}

static void drop_targets(struct disk_limits *d)
{
    for (size_t i = 0; i < d->len; i++)
        target_release(&d->targets[i]);
    d->len = 0;
}

static bool grow(struct disk_limits *d)
{
    size_t cap = d->cap ? d->cap * 2 : 16;
    struct target *more;

    if (d->len < d->cap)
        return true;
    more = cap <= TARGETS_LIMIT * 2 ? reallocarray(d->targets, cap, sizeof(*more)) : NULL;
    if (!more)
        return false;
    d->targets = more;
    d->cap = cap;
    return true;
}

/* folder: below the pod's own. Takes message, which may be NULL: out of memory. */
static void add_target(struct disk_limits *d, const struct pod_run *run, const char *folder,
                       int64_t limit_bytes, char *message)
{
    struct target t = {.limit_bytes = limit_bytes, .message = message};

    d->limited = true;
    if (asprintf(&t.key, "%s/%s/%s", run->ns, run->name, run->uid) < 0)
        t.key = NULL;
    if (asprintf(&t.path, "%s/%s/%s", scratch_root(d->agent->scratch), run->uid, folder) < 0)
        t.path = NULL;
    if (t.key && t.path && t.message && grow(d))
        d->targets[d->len++] = t;
    else
        target_release(&t);
}

/* The messages here and below are the kubelet's. */
static void add_volume(struct disk_limits *d, const struct pod_run *run, const struct json *volume)
{
    const struct json *source = json_get(volume, "emptyDir"), *size = json_get(source, "sizeLimit");
    const char *name = json_get_string(volume, "name", "");
    int64_t limit_bytes = quantity_json_value(size, 0);
    char *message = NULL;

    if (limit_bytes <= 0 || json_string_is(json_get(source, "medium"), "Memory") ||
        !pod_name_is_safe(name))
        return;
    if (asprintf(&message, "Usage of EmptyDir volume \"%s\" exceeds the limit \"%s\"", name,
                 json_string(size, "")) < 0)
        message = NULL;
    add_target(d, run, name, limit_bytes, message);
}

static const struct json *storage_limit(const struct json *container)
{
    return json_get(json_at(container, "resources", "limits"), "ephemeral-storage");
}

/* What a container writes into its start folder is its own; everything deleted with the pod counts
 * for all containers together. */
static void add_containers(struct disk_limits *d, const struct pod_run *run,
                           const struct json *containers)
{
    int64_t all_bytes = 0;
    char *message = NULL;

    json_each (c, containers) {
        const struct json *size = storage_limit(c);
        const char *name = json_get_string(c, "name", "");
        int64_t limit_bytes = quantity_json_value(size, 0);
        char *folder = NULL;

        if (limit_bytes <= 0 || !pod_name_is_safe(name))
            continue;
        all_bytes = limit_bytes > INT64_MAX - all_bytes ? INT64_MAX : all_bytes + limit_bytes;
        if (asprintf(&message, "Container %s exceeded its local ephemeral storage limit \"%s\"",
                     name, json_string(size, "")) < 0)
            message = NULL;
        if (asprintf(&folder, START_FOLDER_PREFIX "%s", name) < 0)
            folder = NULL;
        add_target(d, run, folder ? folder : "", limit_bytes, message);
        free(folder);
    }
    if (all_bytes == 0)
        return;
    if (asprintf(&message,
                 "Pod ephemeral local storage usage exceeds the total limit of containers %" PRId64,
                 all_bytes) < 0)
        message = NULL;
    add_target(d, run, "", all_bytes, message);
}

static void add_run(void *arg, const struct pod_run *run)
{
    struct disk_limits *d = arg;
    struct pod_work *w = run->alive ? agent_find_work(d->agent, run) : NULL;
    const struct json *pod = run->alive && !(w && w->no_disk_limits)
                                 ? cache_get(d->agent->pods, run->ns, run->name)
                                 : NULL;

    if (!pod || strcmp(object_uid(pod), run->uid) != 0 || pod_is_evicted(pod))
        return;
    d->limited = false;
    json_each (v, json_at(pod, "spec", "volumes"))
        add_volume(d, run, v);
    add_containers(d, run, json_at(pod, "spec", "containers"));
    if (w) /* asking for the pod again would keep it parsed */
        w->no_disk_limits = !d->limited;
}

/* --- on the loop --- */

static void destroy(struct disk_limits *d)
{
    drop_targets(d);
    free(d->targets);
    free(d);
}

static void tell(struct disk_limits *d, struct target *t)
{
    struct pod_work *w = t->over ? map_gets(&d->agent->works, t->key) : NULL;

    if (!w || w->over_limit)
        return;
    w->over_limit = t->message;
    t->message = NULL;
    queue_add(d->agent->queue, w->key);
}

static void begin(void *arg);

static void again(struct disk_limits *d, int64_t took_ms)
{
    d->timer = clock_start(
        d->agent->clock, min_i64(max_i64(STEP_MS, took_ms * STEP_SHARE), STEP_LIMIT_MS), begin, d);
}

static void on_done(void *arg)
{
    struct disk_limits *d = arg;

    d->busy = false;
    if (d->closing) {
        destroy(d);
        return;
    }
    for (size_t i = 0; i < d->len; i++)
        tell(d, &d->targets[i]);
    drop_targets(d);
    again(d, clock_now_ms(d->agent->clock) - d->begun_ms);
}

static void begin(void *arg)
{
    struct disk_limits *d = arg;

    d->timer = NULL;
    d->begun_ms = clock_now_ms(d->agent->clock);
    d->agent->runtime->ops->each(d->agent->runtime, add_run, d);
    d->busy = d->len > 0 && loop_work(d->loop, look, on_done, d) == 0;
    if (!d->busy) {
        drop_targets(d);
        again(d, 0);
    }
}

struct disk_limits *disk_limits_new(struct agent *a)
{
    struct disk_limits *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->agent = a;
    d->loop = a->loop;
    again(d, 0);
    return d;
}

void disk_limits_free(struct disk_limits *d)
{
    if (!d)
        return;
    clock_stop(d->agent->clock, d->timer);
    d->closing = true;
    if (!d->busy)
        destroy(d);
}
