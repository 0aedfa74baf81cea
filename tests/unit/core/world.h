/*
 * world.h - a tiny API server in memory for tests of core: carries out plans as control would,
 * keeps every past state (so that a test can show old ones), and lets pods live and die.
 */
#ifndef MUSTER_TESTS_CORE_WORLD_H
#define MUSTER_TESTS_CORE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/job.h"
#include "core/job_view.h"
#include "core/tensorboard.h"

#define WORLD_LIMIT_BYTES ((size_t)512 << 20)
#define WORLD_OBJECTS 2500
#define WORLD_START_MS INT64_C(1800000000000)

enum world_set {
    WORLD_JOBS,
    WORLD_PODS,
    WORLD_SERVICES,
    WORLD_LEASES,
    WORLD_GROUPS,
    WORLD_OTHERS, /* what no decision looks at */
    WORLD_SET_COUNT
};

struct world_state {
    const struct json **items;
    size_t len;
};

struct world {
    struct arena arena;
    struct world_state *past[WORLD_SET_COUNT]; /* every state, the last is now */
    size_t past_len[WORLD_SET_COUNT], past_cap[WORLD_SET_COUNT];
    int64_t now_ms, revision, uids;
    bool shared_network, apps_unseen;
    struct idle_times idle;
    int64_t watched_since_ms;
    const char
        *refusal; /* what the API said to the last pod it would not have; NULL: it took all */
    const struct kind *refuses;
    int64_t refused_until_ms;
    const struct json **events;
    size_t events_len;
    size_t created, deleted; /* pods */
    int64_t wake_at_ms;      /* of the last plan */
};

/* JSON with ' for ", to be readable in C. */
static inline struct json *parse(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    auto_err err = ERR_INIT;
    struct json *v;

    assert_non_null(copy);
    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    v = json_parse(a, copy, strlen(copy), &err);
    if (!v)
        fail_msg("%s in %s", err.text, copy);
    return v;
}

static inline void world_release(struct world *w)
{
    for (int i = 0; i < WORLD_SET_COUNT; i++)
        free(w->past[i]);
    free(w->events);
    arena_release(&w->arena);
}

static inline void world_push(struct world *w, enum world_set set, struct world_state state)
{
    if (w->past_len[set] == w->past_cap[set]) {
        w->past_cap[set] = w->past_cap[set] ? w->past_cap[set] * 2 : 16;
        w->past[set] = realloc(w->past[set], w->past_cap[set] * sizeof(struct world_state));
        assert_non_null(w->past[set]);
    }
    w->past[set][w->past_len[set]++] = state;
}

static inline void world_init(struct world *w)
{
    *w = (struct world){.now_ms = WORLD_START_MS, .shared_network = true, .refuses = &kind_pod};
    arena_init(&w->arena, WORLD_LIMIT_BYTES);
    w->events = calloc(WORLD_OBJECTS * 4, sizeof(*w->events));
    assert_non_null(w->events);
    for (int i = 0; i < WORLD_SET_COUNT; i++)
        world_push(w, (enum world_set)i, (struct world_state){0});
}

static inline struct world_state *world_now(struct world *w, enum world_set set)
{
    return &w->past[set][w->past_len[set] - 1];
}

static inline const struct json *world_get(struct world *w, enum world_set set, const char *name)
{
    struct world_state *s = world_now(w, set);

    for (size_t i = 0; i < s->len; i++)
        if (strcmp(object_name(s->items[i]), name) == 0)
            return s->items[i];
    return NULL;
}

/* Replaces, adds (old NULL) or removes (new NULL), as a new state. */
static inline void world_change(struct world *w, enum world_set set, const struct json *old,
                                struct json *new)
{
    struct world_state before = *world_now(w, set), after = {0};

    after.items = arena_alloc(&w->arena, (before.len + 1) * sizeof(*after.items));
    assert_non_null(after.items);
    for (size_t i = 0; i < before.len; i++)
        if (before.items[i] != old)
            after.items[after.len++] = before.items[i];
    if (new) {
        json_set_stringf(&w->arena, json_make_object(&w->arena, new, "metadata"), "resourceVersion",
                         "%" PRId64, ++w->revision);
        after.items[after.len++] = new;
    }
    world_push(w, set, after);
}

static inline enum world_set world_set_of(const struct kind *k)
{
    return k == &kind_pod           ? WORLD_PODS
           : k == &kind_service     ? WORLD_SERVICES
           : k == &kind_lease       ? WORLD_LEASES
           : k == &kind_pod_group   ? WORLD_GROUPS
           : k == &kind_tensorboard ? WORLD_OTHERS /* a job's */
           : k->has_status          ? WORLD_JOBS
                                    : WORLD_OTHERS;
}

static inline const struct json *world_add(struct world *w, enum world_set set,
                                           const struct json *object)
{
    struct json *o = json_clone(&w->arena, object);
    struct json *metadata = json_make_object(&w->arena, o, "metadata");
    char time[TIME_TEXT_SIZE];

    if (!json_get(metadata, "uid"))
        json_set_stringf(&w->arena, metadata, "uid", "uid-%" PRId64, ++w->uids);
    if (!json_get(metadata, "creationTimestamp"))
        json_set_string(&w->arena, metadata, "creationTimestamp", time_format(w->now_ms, time));
    if (set == WORLD_PODS && !json_get(o, "status"))
        json_set_string(&w->arena, json_make_object(&w->arena, o, "status"), "phase", "Pending");
    world_change(w, set, NULL, o);
    return o;
}

/* A copy of the object to be changed and given to world_change(). */
static inline struct json *world_edit(struct world *w, const struct json *object)
{
    assert_non_null(object);
    return json_clone(&w->arena, object);
}

static inline void world_remove(struct world *w, enum world_set set, const char *name)
{
    const struct json *o = world_get(w, set, name);

    assert_non_null(o);
    world_change(w, set, o, NULL);
}

/* As API server and agent together: a running pod is asked to stop and disappears later. */
static inline void world_delete(struct world *w, enum world_set set, const struct json *object)
{
    char time[TIME_TEXT_SIZE];
    struct json *o;

    w->deleted += set == WORLD_PODS;
    o = world_edit(w, object);
    if (set == WORLD_PODS && pod_is_finished(object) &&
        json_len(json_at(object, "metadata", "finalizers")))
        json_set_int(&w->arena, json_make_object(&w->arena, o, "metadata"),
                     "deletionGracePeriodSeconds", 0);
    else if (set != WORLD_PODS || pod_is_finished(object)) {
        world_change(w, set, object, NULL);
        return;
    }
    if (!pod_is_finished(object))
        json_set_int(&w->arena, json_make_object(&w->arena, o, "metadata"),
                     "deletionGracePeriodSeconds", 30);
    json_set_string(&w->arena, json_make_object(&w->arena, o, "metadata"), "deletionTimestamp",
                    time_format(w->now_ms, time));
    world_change(w, set, object, o);
}

static inline void world_patch_spec(struct world *w, enum world_set set, const struct json *object,
                                    const struct json *members)
{
    struct json *o = world_edit(w, object);
    struct json *spec = json_make_object(&w->arena, o, "spec");

    json_each (m, members)
        if (json_is_null(m))
            json_remove(spec, m->key);
        else
            json_set(&w->arena, spec, m->key, json_clone(&w->arena, m));
    world_change(w, set, object, o);
}

/* Every pod that was told to stop is gone. */
static inline void world_stop_deleted(struct world *w)
{
    for (;;) {
        struct world_state *s = world_now(w, WORLD_PODS);
        const struct json *found = NULL;

        for (size_t i = 0; i < s->len && !found; i++)
            if (object_is_deleting(s->items[i]))
                found = s->items[i];
        if (!found)
            return;
        world_change(w, WORLD_PODS, found, NULL);
    }
}

static inline struct json *world_pod_status(struct world *w, struct json *pod, const char *phase)
{
    struct arena *a = &w->arena;
    struct json *status = json_make_object(a, pod, "status");
    struct json *list = json_set(a, status, "containerStatuses", json_new_array(a));
    struct json *item = json_append(list, json_new_object(a));
    const struct json *first = json_first(json_at(pod, "spec", "containers"));

    json_set_string(a, status, "phase", phase);
    json_set_string(a, item, "name", json_get_string(first, "name", "pytorch"));
    return json_make_object(a, item, "state");
}

static inline void world_pod_runs(struct world *w, const char *name)
{
    const struct json *old = world_get(w, WORLD_PODS, name);
    struct json *pod = world_edit(w, old);
    char time[TIME_TEXT_SIZE];

    json_set_string(&w->arena,
                    json_make_object(&w->arena, world_pod_status(w, pod, "Running"), "running"),
                    "startedAt", time_format(w->now_ms, time));
    world_change(w, WORLD_PODS, old, pod);
}

static inline void world_pod_exits_after(struct world *w, const char *name, int code,
                                         int64_t ran_ms)
{
    const struct json *old = world_get(w, WORLD_PODS, name);
    struct json *pod = world_edit(w, old), *end;
    char time[TIME_TEXT_SIZE];

    end = json_make_object(&w->arena, world_pod_status(w, pod, code ? "Failed" : "Succeeded"),
                           "terminated");
    json_set_int(&w->arena, end, "exitCode", code);
    json_set_string(&w->arena, end, "startedAt", time_format(w->now_ms - ran_ms, time));
    json_set_string(&w->arena, end, "finishedAt", time_format(w->now_ms, time));
    world_change(w, WORLD_PODS, old, pod);
}

/* As the agent reports it: with what the program said last. */
static inline void world_pod_fails_saying(struct world *w, const char *name, int code,
                                          const char *words)
{
    const struct json *old = world_get(w, WORLD_PODS, name);
    struct json *pod = world_edit(w, old), *end;
    char time[TIME_TEXT_SIZE];

    end = json_make_object(&w->arena, world_pod_status(w, pod, "Failed"), "terminated");
    json_set_int(&w->arena, end, "exitCode", code);
    json_set_string(&w->arena, end, "reason", "Error");
    json_set_string(&w->arena, end, "message", words);
    json_set_string(&w->arena, end, "finishedAt", time_format(w->now_ms, time));
    world_change(w, WORLD_PODS, old, pod);
}

static inline void world_pod_exits(struct world *w, const char *name, int code)
{
    world_pod_exits_after(w, name, code, 1000);
}

static inline void world_all_run(struct world *w)
{
    struct world_state s = *world_now(w, WORLD_PODS);

    for (size_t i = 0; i < s.len; i++)
        if (json_string_is(json_at(s.items[i], "status", "phase"), "Pending") &&
            !object_is_deleting(s.items[i]))
            world_pod_runs(w, object_name(s.items[i]));
}

/* --- carrying out plans ----------------------------------------------------------------------- */

static inline bool world_update_status(struct world *w, const struct plan_step *step)
{
    const struct json *old = world_get(w, WORLD_JOBS, step->name);
    struct json *job;

    if (!old || strcmp(object_resource_version(old), object_resource_version(step->object)) != 0)
        return false;
    if (json_equal(json_get(old, "status"), json_get(step->object, "status")))
        return true;
    job = world_edit(w, old);
    json_set(&w->arena, job, "status", json_clone(&w->arena, json_get(step->object, "status")));
    world_change(w, WORLD_JOBS, old, job);
    return true;
}

/* It loses its finalizer, and goes if it was held by nothing else. */
static inline bool world_release_pod(struct world *w, const struct json *pod,
                                     const struct json *patch)
{
    struct json *o;

    assert_true(json_is_null(json_at(patch, "metadata", "finalizers")));
    if (!pod || !json_equal(json_at(patch, "metadata", "resourceVersion"),
                            json_at(pod, "metadata", "resourceVersion")))
        return false;
    o = world_edit(w, pod);
    json_remove(json_get_mut(o, "metadata"), "finalizers");
    world_change(w, WORLD_PODS, pod, pod_is_held(pod) ? NULL : o);
    return true;
}

/* False: the rest is to be dropped. */
static inline bool world_step(struct world *w, const struct plan_step *step)
{
    enum world_set set = world_set_of(step->kind);
    const struct json *there = step->name ? world_get(w, set, step->name) : NULL;

    if (set == WORLD_OTHERS && there && kind_of_object(there) != step->kind)
        there = NULL; /* several kinds, one name */
    switch (step->op) {
    case PLAN_CREATE:
        if (there)
            return true;
        if (w->refusal && step->kind == w->refuses)
            return false;
        w->created += set == WORLD_PODS;
        world_add(w, set, step->object);
        return true;
    case PLAN_DELETE:
        if (there && strcmp(object_uid(there), step->uid) == 0 && !object_is_deleting(there))
            world_delete(w, set, there);
        return true;
    case PLAN_UPDATE_STATUS:
        return world_update_status(w, step);
    case PLAN_CHECK:
        return there && strcmp(object_resource_version(there), step->version) == 0;
    case PLAN_EVENT:
        if (w->events_len < (size_t)WORLD_OBJECTS * 4)
            w->events[w->events_len++] = json_clone(&w->arena, step->object);
        return true;
    case PLAN_PATCH:
        if (set == WORLD_PODS)
            return world_release_pod(w, there, step->object);
        assert_ptr_equal(step->kind, &kind_pod_group);
        if (there)
            world_patch_spec(w, set, there, json_get(step->object, "spec"));
        return there;
    case PLAN_EVICT:
    case PLAN_BIND:
        break;
    }
    fail_msg("a job's plan does not bind or evict");
    return false;
}

/* Carries out the first steps of a plan, all of them when limit is -1. */
static inline void world_apply(struct world *w, const struct plan *plan, int limit)
{
    for (const struct plan_step *s = plan->first; s && limit != 0; s = s->next, limit--)
        if (!world_step(w, s))
            return;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* The TensorBoard that has the name the job's would have. */
static inline const struct json *world_board(struct world *w, const struct json *job, size_t at)
{
    const struct world_state *others = &w->past[WORLD_OTHERS][at];
    const char *name = job_child_name(&w->arena, job);

    for (size_t i = 0; i < others->len; i++)
        if (kind_of_object(others->items[i]) == &kind_tensorboard &&
            strcmp(object_name(others->items[i]), name) == 0)
            return others->items[i];
    return NULL;
}

static inline void world_snapshot(struct world *w, const size_t at[WORLD_SET_COUNT],
                                  struct job_snapshot *s)
{
    const struct world_state *pods = &w->past[WORLD_PODS][at[WORLD_PODS]];
    const struct world_state *services = &w->past[WORLD_SERVICES][at[WORLD_SERVICES]];
    const struct world_state *leases = &w->past[WORLD_LEASES][at[WORLD_LEASES]];

    *s = (struct job_snapshot){
        .job = w->past[WORLD_JOBS][at[WORLD_JOBS]].items[0],
        .pods = pods->items,
        .pods_len = pods->len,
        .services = services->items,
        .services_len = services->len,
        .leases = leases->items,
        .leases_len = leases->len,
        .tensorboard = world_board(w, w->past[WORLD_JOBS][at[WORLD_JOBS]].items[0],
                                   at[WORLD_OTHERS]),
        .group = w->past[WORLD_GROUPS][at[WORLD_GROUPS]].len
                     ? w->past[WORLD_GROUPS][at[WORLD_GROUPS]].items[0]
                     : NULL,
        .refused = w->refusal ? w->refuses : NULL,
        .refusal = w->refusal,
        .refused_until_ms = w->refused_until_ms,
        .idle = w->idle,
        .watched_since_ms = w->watched_since_ms,
        .shared_network = w->shared_network,
        .apps_unseen = w->apps_unseen,
        .now_ms = w->now_ms,
    };
}

/* The first, of a job that does not say what it is. */
static inline const struct job_kind *world_kind(const struct json *job)
{
    for (size_t i = 0; job_kinds[i]; i++)
        if (kind_of_object(job) == job_kinds[i]->kind)
            return job_kinds[i];
    for (size_t i = 0; app_kinds[i]; i++)
        if (kind_of_object(job) == app_kinds[i]->job->kind)
            return app_kinds[i]->job;
    for (size_t i = 0; batch_kinds[i]; i++)
        if (kind_of_object(job) == batch_kinds[i]->kind)
            return batch_kinds[i];
    return job_kinds[0];
}

/* Plans over what is there now. */
static inline void world_plan(struct world *w, struct plan *plan)
{
    size_t at[WORLD_SET_COUNT];
    struct job_snapshot s;

    for (int i = 0; i < WORLD_SET_COUNT; i++)
        at[i] = w->past_len[i] - 1;
    world_snapshot(w, at, &s);
    plan_init(plan, &w->arena);
    job_look(world_kind(s.job), &s, plan);
    assert_false(arena_failed(&w->arena));
    w->wake_at_ms = plan->wake_at_ms;
}

#define WORLD_LOOKS_LIMIT 50

/* Looks and carries out until there is nothing to do. */
static inline void world_settle(struct world *w)
{
    for (int i = 0; i < WORLD_LOOKS_LIMIT; i++) {
        struct plan plan;

        world_plan(w, &plan);
        if (plan_is_empty(&plan))
            return;
        world_apply(w, &plan, -1);
        if (world_now(w, WORLD_JOBS)->len == 0)
            return;
    }
    fail_msg("does not come to rest");
}

/* --- asking ----------------------------------------------------------------------------------- */

static inline const struct json *world_job(struct world *w)
{
    return world_now(w, WORLD_JOBS)->items[0];
}

static inline const struct json *world_status(struct world *w)
{
    return json_get(world_job(w), "status");
}

static inline const char *world_phase(struct world *w)
{
    return json_get_string(world_status(w), "phase", "");
}

static inline int64_t world_backoff(struct world *w)
{
    return json_get_int(world_status(w), "backoffCount", -1);
}

/* The pod's name of type and index; lives as long as the world. */
static inline const char *world_name(struct world *w, const char *type, int index)
{
    const struct json *job = world_job(w);
    char hash5[HASH5_SIZE];

    replica_hash5(object_name(job), object_uid(job), hash5);
    return replica_name(&w->arena, object_name(job), hash5, type, index);
}

static inline const struct json *world_pod(struct world *w, const char *type, int index)
{
    return world_get(w, WORLD_PODS, world_name(w, type, index));
}

static inline size_t world_pods(struct world *w)
{
    return world_now(w, WORLD_PODS)->len;
}

static inline const char *world_condition(struct world *w, const char *type, const char *member)
{
    return json_get_string(object_condition(world_job(w), type), member, "absent");
}

static inline size_t world_events(const struct world *w, const char *reason)
{
    size_t n = 0;

    for (size_t i = 0; i < w->events_len; i++)
        n += json_string_is(json_get(w->events[i], "reason"), reason);
    return n;
}

static inline const char *world_event_text(const struct world *w, const char *reason)
{
    for (size_t i = w->events_len; i-- > 0;)
        if (json_string_is(json_get(w->events[i], "reason"), reason))
            return json_get_string(w->events[i], "message", "");
    return "";
}

/* The object is being deleted; a finalizer, for example, keeps it for now. */
static inline void world_mark_deleted(struct world *w, const char *type, int index)
{
    const struct json *old = world_pod(w, type, index);
    struct json *pod = world_edit(w, old);
    char time[TIME_TEXT_SIZE];

    json_set_string(&w->arena, json_make_object(&w->arena, pod, "metadata"), "deletionTimestamp",
                    time_format(w->now_ms, time));
    world_change(w, WORLD_PODS, old, pod);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* A job of any kind. */
static inline void world_submit_text(struct world *w, const char *text)
{
    world_add(w, WORLD_JOBS, parse(&w->arena, text));
}

/* One type "worker" with a plain template; more is members to add to spec, or "". */
static inline void world_submit(struct world *w, int replicas, const char *policy, const char *more)
{
    char *text = arena_printf(
        &w->arena,
        "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'PyTorchTrainingJob',"
        "'metadata':{'name':'mnist','namespace':'ns','generation':1,"
        "'uid':'cffea855-5ce2-496a-8956-f6e76fe2f565'},"
        "'spec':{'replicaSpecs':[{'type':'worker','replicas':%d,'restartPolicy':'%s',"
        "'template':{'spec':{'containers':[{'name':'pytorch','command':['python'],"
        "'args':['train.py']}]}}}]%s%s}}",
        replicas, policy, *more ? "," : "", more);

    assert_non_null(text);
    world_add(w, WORLD_JOBS, parse(&w->arena, text));
}

static inline void world_edit_spec(struct world *w, const char *merge_member, const char *json)
{
    const struct json *old = world_job(w);
    struct json *job = world_edit(w, old);

    json_set(&w->arena, json_make_object(&w->arena, job, "spec"), merge_member,
             parse(&w->arena, json));
    world_change(w, WORLD_JOBS, old, job);
}

#endif
