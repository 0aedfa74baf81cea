/*
 * plan.c - builds plans; control/ carries them out.
 *
 * A plan whose arena failed must not be used; the builders then omit steps, and the caller checks
 * arena_failed() once.
 */
#include "core/plan.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/object.h"
#include "core/pod_state.h"

#define EVENT_TEXT_LIMIT 1024 /* Kubernetes' limit for event messages */

void plan_init(struct plan *p, struct arena *a)
{
    *p = (struct plan){.arena = a};
}

void plan_next_stage(struct plan *p)
{
    if (p->last && p->last->stage == p->stage)
        p->stage++;
}

void plan_wake_at(struct plan *p, int64_t at_ms)
{
    if (at_ms > 0 && (p->wake_at_ms == 0 || at_ms < p->wake_at_ms))
        p->wake_at_ms = at_ms;
}

bool plan_is_empty(const struct plan *p)
{
    return !p->first;
}

bool plan_only_tells(const struct plan *p)
{
    for (const struct plan_step *s = p->first; s; s = s->next)
        if (s->op != PLAN_UPDATE_STATUS && s->op != PLAN_EVENT)
            return false;
    return true;
}

static struct plan_step *add_step(struct plan *p, enum plan_op op, const struct kind *k,
                                  const struct json *about)
{
    struct plan_step *step = arena_alloc(p->arena, sizeof(*step));

    if (!step)
        return NULL;
    step->op = op;
    step->stage = p->stage;
    step->whom = p->whom;
    step->kind = k;
    step->ns = object_namespace(about);
    step->name = object_name(about);
    step->grace_seconds = -1;
    if (p->last)
        p->last->next = step;
    else
        p->first = step;
    p->last = step;
    return step;
}

void plan_create(struct plan *p, const struct kind *k, const struct json *object)
{
    struct plan_step *step = add_step(p, PLAN_CREATE, k, object);

    if (step)
        step->object = object;
}

void plan_create_own(struct plan *p, const struct kind *k, const struct json *object)
{
    plan_create(p, k, object);
    if (p->last)
        p->last->own = true;
}

void plan_delete(struct plan *p, const struct kind *k, const struct json *object,
                 int64_t grace_seconds)
{
    struct plan_step *step = add_step(p, PLAN_DELETE, k, object);

    if (!step)
        return;
    step->uid = object_uid(object);
    step->grace_seconds = grace_seconds;
}

void plan_delete_as_seen(struct plan *p, const struct kind *k, const struct json *object,
                         int64_t grace_seconds)
{
    plan_delete(p, k, object, grace_seconds);
    if (p->last)
        p->last->version = object_resource_version(object);
}

/* Other finalizers of the pod are kept. */
static struct json *tracking_patch(struct arena *a, const struct json *pod, bool tracked)
{
    struct json *patch = json_new_object(a), *list = json_new_array(a);
    struct json *metadata = json_make_object(a, patch, "metadata");

    json_each (f, json_at(pod, "metadata", "finalizers"))
        if (!finalizer_is_tracking(f))
            json_append(list, json_clone(a, f));
    if (tracked)
        json_append_string(a, list, FINALIZER_TRACKING);
    json_set(a, metadata, "finalizers", json_len(list) ? list : json_new_null(a));
    json_set_string(a, metadata, "resourceVersion", object_resource_version(pod));
    return patch;
}

/* Without a grace period the pod would be gone before its node reported how it ended. */
void plan_evict(struct plan *p, const struct json *pod)
{
    struct plan_step *step = add_step(p, PLAN_EVICT, &kind_pod, pod);

    if (!step)
        return;
    step->uid = object_uid(pod);
    step->object = tracking_patch(p->arena, pod, true);
    if (json_int(json_at(pod, "spec", "terminationGracePeriodSeconds"), -1) == 0)
        step->grace_seconds = 1;
}

void plan_release(struct plan *p, const struct json *pod)
{
    plan_patch(p, &kind_pod, pod, tracking_patch(p->arena, pod, false));
}

void plan_update_status(struct plan *p, const struct kind *k, const struct json *object)
{
    struct plan_step *step = add_step(p, PLAN_UPDATE_STATUS, k, object);

    if (step)
        step->object = object;
}

void plan_check(struct plan *p, const struct kind *k, const struct json *object)
{
    struct plan_step *step = add_step(p, PLAN_CHECK, k, object);

    if (step)
        step->version = object_resource_version(object);
}

void plan_patch(struct plan *p, const struct kind *k, const struct json *target,
                const struct json *patch)
{
    struct plan_step *step = add_step(p, PLAN_PATCH, k, target);

    if (!step)
        return;
    step->uid = object_uid(target);
    step->object = patch;
    step->subresource = json_get(patch, "status") ? "status" : NULL;
}

void plan_bind(struct plan *p, const struct json *pod, const struct json *binding)
{
    struct plan_step *step = add_step(p, PLAN_BIND, &kind_pod, pod);

    if (!step)
        return;
    step->uid = object_uid(pod);
    step->object = binding;
}

static struct json *reference_to(struct arena *a, const struct kind *k, const struct json *about)
{
    struct json *ref = json_new_object(a);

    json_set_string(a, ref, "apiVersion", kind_api_version(a, k));
    json_set_string(a, ref, "kind", k->name);
    if (k->namespaced)
        json_set_string(a, ref, "namespace", object_namespace(about));
    json_set_string(a, ref, "name", object_name(about));
    json_set_string(a, ref, "uid", object_uid(about));
    json_set_string(a, ref, "resourceVersion", object_resource_version(about));
    return ref;
}

void plan_event(struct plan *p, const struct kind *k, const struct json *about, const char *type,
                const char *reason, const char *fmt, ...)
{
    struct arena *a = p->arena;
    struct json *event = json_new_object(a);
    struct json *metadata = json_make_object(a, event, "metadata");
    char text[EVENT_TEXT_LIMIT];
    struct plan_step *step;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    json_set_string(a, event, "apiVersion", "v1");
    json_set_string(a, event, "kind", kind_event.name);
    /* As in Kubernetes, events about cluster objects are in "default". */
    json_set_string(a, metadata, "namespace", k->namespaced ? object_namespace(about) : "default");
    json_set(a, event, "involvedObject", reference_to(a, k, about));
    json_set_string(a, event, "type", type);
    json_set_string(a, event, "reason", reason);
    json_set_string(a, event, "message", text);
    step = add_step(p, PLAN_EVENT, &kind_event, event);
    if (step)
        step->object = event;
}
