/*
 * job_group.c - a job's PodGroup, which tells the scheduler about the job. It is created before the
 * pods and states how many of them are wanted now, so that a restarting replica keeps its room; it
 * is deleted when the job has ended and nothing of it runs.
 */
#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/app.h"
#include "core/child.h"
#include "core/job_run.h"
#include "core/pod_group.h"

const char *job_child_name(struct arena *a, const struct json *job)
{
    char hash5[HASH5_SIZE];

    replica_hash5(object_name(job), object_uid(job), hash5);
    return arena_printf(a, "%s-%s", object_name(job), hash5);
}

const struct kind *group_owner_kind(size_t i)
{
    for (size_t k = 0; job_kinds[k]; k++)
        if (i-- == 0)
            return job_kinds[k]->kind;
    for (size_t k = 0; batch_kinds[k]; k++)
        if (i-- == 0)
            return batch_kinds[k]->kind;
    for (size_t k = 0; app_kinds[k]; k++)
        if (i-- == 0)
            return app_kinds[k]->job->kind;
    return NULL;
}

bool group_is_jobs(const struct json *controller)
{
    const char *version = json_get_string(controller, "apiVersion", "");
    const struct kind *k;

    for (size_t i = 0; controller && (k = group_owner_kind(i)); i++)
        if (json_string_is(json_get(controller, "kind"), k->name) &&
            (!*version || strncmp(version, k->group, strlen(k->group)) == 0))
            return true;
    return false;
}

/* Of a batch Job the template says it. */
const char *group_queue(const struct json *job)
{
    const struct json *spec = json_get(job, "spec");
    const struct json *named = json_at(spec, "scheduler", "t9kScheduler", "queue");

    if (!json_get(spec, "scheduler"))
        named = json_at(spec, "template", "metadata", "labels", LABEL_QUEUE);
    return *json_string(named, "") ? json_string(named, "") : DEFAULT_QUEUE;
}

bool job_is_grouped(const struct job_view *v)
{
    return v->snapshot->shared_network || json_at(v->spec, "scheduler", "t9kScheduler");
}

/* Replicas that are not done, including a failed one waiting for its replacement. */
static int64_t wanted_members(const struct job_view *v)
{
    int64_t wanted = (int64_t)v->len - v->counts[REPLICA_SUCCEEDED] - v->counts[REPLICA_FAILED];

    if (job_is_over(v) || v->phase == JOB_PAUSED)
        return 0;
    for (size_t i = 0; i < v->len; i++)
        wanted += v->replicas[i].phase == REPLICA_FAILED &&
                  replica_is_superseded(v, &v->replicas[i]);
    return wanted;
}

/* A paused job starts with all of its replicas again. */
int64_t job_min_member(const struct job_view *v)
{
    int64_t least = v->phase == JOB_PAUSED ? (int64_t)v->len : wanted_members(v);

    if (v->elastic)
        least = min_i64(least, json_int(json_at(v->spec, "elastic", "minReplicas"), least));
    return max_i64(least, 1);
}

/* A batch Job with 0 seconds fails before it has started. */
static int64_t deadline_of(const struct group_wish *w)
{
    int64_t seconds = json_is(w->deadline, JSON_INT) ? json_int(w->deadline, 0) : 0;

    return seconds > 0 ? seconds : -1;
}

static struct json *group_new(const struct group_wish *w)
{
    struct arena *a = w->arena;
    struct json *group = child_new(a, &kind_pod_group, job_child_name(a, w->job), w->kind, w->job);
    struct json *metadata = json_make_object(a, group, "metadata");
    struct json *labels = json_make_object(a, metadata, "labels");
    struct json *annotations = json_make_object(a, metadata, "annotations");
    struct json *spec = json_make_object(a, group, "spec");
    char time[TIME_TEXT_SIZE];

    json_set_string(a, labels, LABEL_OWNER_NAME, object_name(w->job));
    json_set_string(a, labels, LABEL_OWNER_KIND, w->kind->name);
    json_set_string(a, annotations, ANNOTATION_SEQUENCE, object_resource_version(w->job));
    if (w->start_ms)
        json_set_string(a, annotations, ANNOTATION_STARTED, time_format(w->start_ms, time));
    json_set_string(a, spec, "queue", group_queue(w->job));
    json_set_int(a, spec, "priority", w->priority);
    json_set_int(a, spec, "minMember", w->least);
    json_set_int(a, spec, "members", w->members);
    if (deadline_of(w) >= 0)
        json_set_int(a, spec, "activeDeadlineSeconds", deadline_of(w));
    return group;
}

void group_make(const struct group_wish *w, struct plan *plan)
{
    if (w->group)
        return;
    plan_create(plan, &kind_pod_group, group_new(w));
    plan_next_stage(plan);
}

static bool is_ours(const struct group_wish *w)
{
    return w->group && object_is_controlled_by(w->group, object_uid(w->job)) &&
           !object_is_deleting(w->group);
}

void group_keep(const struct group_wish *w, struct plan *plan)
{
    const struct json *spec = json_get(w->group, "spec");
    struct json *patch, *change;

    if (!is_ours(w) || (json_get_int(spec, "members", -1) == w->members &&
                        json_get_int(spec, "minMember", -1) == w->least &&
                        json_get_int(spec, "activeDeadlineSeconds", -1) == deadline_of(w)))
        return;
    patch = json_new_object(w->arena);
    change = json_make_object(w->arena, patch, "spec");
    json_set_int(w->arena, change, "members", w->members);
    json_set_int(w->arena, change, "minMember", w->least);
    json_set(w->arena, change, "activeDeadlineSeconds",
             deadline_of(w) >= 0 ? json_new_int(w->arena, deadline_of(w))
                                 : json_new_null(w->arena));
    plan_patch(plan, &kind_pod_group, w->group, patch);
}

void group_end(const struct group_wish *w, struct plan *plan)
{
    if (is_ours(w))
        plan_delete(plan, &kind_pod_group, w->group, -1);
}

void group_note(const struct group_wish *w, struct json *annotations)
{
    json_remove(annotations, ANNOTATION_GANG_SIZE);
    json_remove(annotations, ANNOTATION_DEADLINE);
    if (!w->elastic)
        json_set_stringf(w->arena, annotations, ANNOTATION_GANG_SIZE, "%" PRId64, w->least);
    if (deadline_of(w) > 0)
        json_set_stringf(w->arena, annotations, ANNOTATION_DEADLINE, "%" PRId64, deadline_of(w));
}

static struct group_wish wish_of(const struct job_view *v)
{
    const struct json *ours = json_at(v->spec, "scheduler", "t9kScheduler");

    return (struct group_wish){
        .arena = v->arena,
        .kind = v->kind,
        .job = v->job,
        .group = v->snapshot->group,
        .priority = json_get_int(ours, "priority", 0),
        .least = job_min_member(v),
        .members = wanted_members(v),
        .elastic = v->elastic,
        .deadline = json_at(v->spec, "runPolicy", "activeDeadlineSeconds"),
        .start_ms = v->start_ms,
    };
}

void job_group_make(const struct job_view *v, struct plan *plan)
{
    const struct group_wish wish = wish_of(v);

    if (job_is_grouped(v))
        group_make(&wish, plan);
}

void job_group_keep(const struct job_view *v, struct plan *plan)
{
    const struct group_wish wish = wish_of(v);

    group_keep(&wish, plan);
}

void job_group_note(const struct job_view *v, struct json *pod_annotations)
{
    const struct group_wish wish = wish_of(v);

    if (job_is_grouped(v))
        group_note(&wish, pod_annotations);
}

void job_group_end(const struct job_view *v, struct plan *plan)
{
    const struct group_wish wish = wish_of(v);

    group_end(&wish, plan);
}
