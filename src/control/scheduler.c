/*
 * scheduler.c - see scheduler.h.
 *
 * Binding twice from an old picture is prevented twice over: after a plan the next look waits until
 * the cache has seen what was written (else a GPU might be given to two pods; after a failure,
 * which may have written all the same, the cache lists anew), and a binding is a patch of the very
 * version of the pod that was looked at, so that any other is refused.
 */
#include "control/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "client/queue.h"
#include "control/active_pods.h"
#include "core/schedule.h"

#define LOOK_KEY "schedule"
#define RECHECK_MS 5000
#define UNCLEAR_REST_MS 1000
#define SCHEDULE_LIMIT_BYTES (256u * 1024u * 1024u)

struct scheduler {
    struct clock *clock;
    struct applier *applier;
    struct cache *pods, *nodes;
    struct trouble *trouble;
    struct queue *queue;
    struct active_pods active;
    bool overcommit;
    int64_t rest_revision; /* of pods: the next look needs it; 0: not resting */
    int64_t last_revision; /* of pods, when last asked */
    int64_t rest_until_ms; /* after a failure that may have written more than we know */
    unsigned refresh;      /* the list that will tell what it has written; 0: not waiting */
};

/* A binding holds for the pod as it was looked at. */
static void pin_version(const struct scheduler *s, struct arena *a, struct plan_step *step)
{
    const struct json *pod = cache_get(s->pods, step->ns, step->name);
    struct json *patch = json_clone(a, step->object);

    if (pod)
        json_set_string(a, json_make_object(a, patch, "metadata"), "resourceVersion",
                        object_resource_version(pod));
    step->object = patch;
}

static void on_applied(void *arg, const struct apply_result *result)
{
    struct scheduler *s = arg;

    for (size_t i = 0; i < result->written_len; i++)
        if (result->written[i].kind == &kind_pod)
            s->rest_revision = result->written[i].revision;
    s->last_revision = cache_revision(s->pods);
    if (result->outcome == APPLY_FAILED) {
        s->rest_until_ms = clock_now_ms(s->clock) + UNCLEAR_REST_MS;
        s->refresh = cache_refresh(s->pods);
        log_warn("scheduling: %s", result->err->text);
    } else if (result->outcome == APPLY_AGAIN) {
        log_debug("scheduling: looking again: %s", result->err->text);
    }
    queue_done(s->queue, LOOK_KEY, result->outcome == APPLY_DONE ? QUEUE_OK : QUEUE_RETRY);
}

/* A revision that fell means another history (a restored server): waiting for ours would be
 * waiting for ever. */
static bool has_seen_writes(struct scheduler *s)
{
    int64_t revision = cache_revision(s->pods), before = s->last_revision;

    s->last_revision = revision;
    return revision >= s->rest_revision || revision < before;
}

static bool rests(struct scheduler *s)
{
    int64_t left = s->rest_until_ms - clock_now_ms(s->clock);

    if (left > 0 && left <= UNCLEAR_REST_MS) {
        queue_add_after(s->queue, LOOK_KEY, left);
        return true;
    }
    if ((s->refresh && !cache_has_listed(s->pods, s->refresh)) ||
        (s->rest_revision && !has_seen_writes(s))) {
        queue_add_after(s->queue, LOOK_KEY, RECHECK_MS);
        return true;
    }
    s->rest_until_ms = s->rest_revision = 0;
    s->refresh = 0;
    return false;
}

static enum queue_result carry_out(struct scheduler *s, struct plan *plan)
{
    if (arena_failed(plan->arena)) {
        log_error("scheduling: out of memory");
        return QUEUE_RETRY;
    }
    return apply_plan(s->applier, plan, on_applied, s) == 0 ? QUEUE_OK : QUEUE_RETRY;
}

static void look(struct scheduler *s)
{
    struct arena a = ARENA_INIT(SCHEDULE_LIMIT_BYTES);
    struct object_list pods = {.arena = &a}, nodes = {.arena = &a};
    int64_t now = clock_now_ms(s->clock);
    struct plan plan;

    active_pods_collect(&s->active, s->pods, &pods);
    cache_each(s->nodes, object_list_collect, &nodes);
    plan_init(&plan, &a);
    schedule(&(struct schedule_snapshot){.pods = pods.items,
                                         .pods_len = pods.len,
                                         .nodes = nodes.items,
                                         .nodes_len = nodes.len,
                                         .overcommit = s->overcommit,
                                         .now_ms = now},
             &plan);
    for (struct plan_step *step = plan.first; step; step = step->next)
        if (step->op == PLAN_BIND)
            pin_version(s, &a, step);
    if (plan.wake_at_ms)
        queue_add_after(s->queue, LOOK_KEY, max_i64(plan.wake_at_ms - now, 1));
    if (plan_is_empty(&plan) && !arena_failed(&a))
        queue_done(s->queue, LOOK_KEY, QUEUE_OK);
    else if (carry_out(s, &plan) != QUEUE_OK)
        queue_done(s->queue, LOOK_KEY, QUEUE_RETRY);
    arena_release(&a);
}

static void work(void *arg, const char *key)
{
    struct scheduler *s = arg;

    bool idle = s->active.waiting == 0 && !s->active.out_of_memory;

    if (!cache_is_synced(s->pods) || !cache_is_synced(s->nodes) || idle || rests(s))
        queue_done(s->queue, key, QUEUE_OK); /* comes again with the next change */
    else
        look(s);
}

void scheduler_on_pod(struct scheduler *s, enum cache_event event, const struct json *pod)
{
    active_pods_note(&s->active, event, pod);
    queue_add(s->queue, LOOK_KEY);
}

void scheduler_on_pods_synced(struct scheduler *s)
{
    queue_add(s->queue, LOOK_KEY);
}

static void on_node(void *arg, enum cache_event event, const struct json *node,
                    const struct json *old)
{
    struct scheduler *s = arg;

    (void)event;
    (void)node;
    (void)old;
    queue_add(s->queue, LOOK_KEY);
}

static void on_nodes_synced(void *arg)
{
    struct scheduler *s = arg;

    queue_add(s->queue, LOOK_KEY);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct scheduler *s = arg;

    trouble_say(s->trouble, &kind_node, err);
}

struct scheduler *scheduler_new(const struct scheduler_options *o)
{
    struct scheduler *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->clock = o->clock;
    s->applier = o->applier;
    s->pods = o->pods;
    s->trouble = o->trouble;
    s->overcommit = o->overcommit;
    s->queue = queue_new(o->clock, 1, work, s);
    if (s->queue)
        s->nodes = cache_new(&(struct cache_options){.transport = o->transport,
                                                     .clock = o->clock,
                                                     .kind = &kind_node,
                                                     .on_change = on_node,
                                                     .on_synced = on_nodes_synced,
                                                     .on_trouble = on_trouble,
                                                     .arg = s});
    if (s->nodes)
        return s;
    scheduler_free(s);
    return NULL;
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    cache_free(s->nodes);
    queue_free(s->queue);
    active_pods_release(&s->active);
    free(s);
}
