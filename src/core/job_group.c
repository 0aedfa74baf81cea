/*
 * job_group.c - a job's PodGroup: what the scheduler has to know of it. It is there before the
 * job's pods and says how many of them are wanted now, so that the room of one that restarts is
 * kept; it goes when the job has ended and nothing of it runs.
 */
#include <inttypes.h>

#include "api/object.h"
#include "core/job_run.h"
#include "core/replica_pod.h"

const char *job_child_name(struct arena *a, const struct json *job)
{
    char hash5[HASH5_SIZE];

    replica_hash5(object_name(job), object_uid(job), hash5);
    return arena_printf(a, "%s-%s", object_name(job), hash5);
}

bool job_is_grouped(const struct job_view *v)
{
    return v->snapshot->shared_network || json_at(v->spec, "scheduler", "t9kScheduler");
}

/* Those whose part is not done. A failed replica that waits for its replacement is among them. */
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

int64_t job_min_member(const struct job_view *v)
{
    int64_t least = wanted_members(v);

    if (v->elastic)
        least = min_i64(least, json_int(json_at(v->spec, "elastic", "minReplicas"), least));
    return max_i64(least, 1);
}

static void set_deadline(const struct job_view *v, struct json *spec)
{
    const struct json *limit = json_at(v->spec, "runPolicy", "activeDeadlineSeconds");

    if (json_is(limit, JSON_INT))
        json_set_int(v->arena, spec, "activeDeadlineSeconds", json_int(limit, 0));
}

void job_group_describe(struct arena *a, struct json *group, const struct kind *k,
                        const struct json *job, int64_t least, int64_t members)
{
    const struct json *ours = json_at(job, "spec", "scheduler", "t9kScheduler");
    struct json *labels = json_make_object(a, json_make_object(a, group, "metadata"), "labels");
    struct json *spec = json_make_object(a, group, "spec");
    const char *queue = json_get_string(ours, "queue", "");

    json_set_string(a, labels, LABEL_OWNER_NAME, object_name(job));
    json_set_string(a, labels, LABEL_OWNER_KIND, k->name);
    json_set_string(a, json_make_object(a, json_get_mut(group, "metadata"), "annotations"),
                    ANNOTATION_SEQUENCE, object_resource_version(job));
    json_set_string(a, spec, "queue", *queue ? queue : DEFAULT_QUEUE);
    json_set_int(a, spec, "priority", json_get_int(ours, "priority", 0));
    json_set_int(a, spec, "minMember", least);
    json_set_int(a, spec, "members", members);
}

static struct json *group_new(const struct job_view *v)
{
    struct json *group = replica_child_new(v, &kind_pod_group, job_child_name(v->arena, v->job));

    job_group_describe(v->arena, group, v->kind, v->job, job_min_member(v), wanted_members(v));
    set_deadline(v, json_get_mut(group, "spec"));
    return group;
}

void job_group_make(const struct job_view *v, struct plan *plan)
{
    if (!job_is_grouped(v) || v->snapshot->group)
        return;
    plan_create(plan, &kind_pod_group, group_new(v));
    plan_next_stage(plan);
}

static bool is_ours(const struct job_view *v)
{
    const struct json *group = v->snapshot->group;

    return group && object_is_controlled_by(group, v->uid) && !object_is_deleting(group);
}

void job_group_keep(const struct job_view *v, struct plan *plan)
{
    const struct json *group = v->snapshot->group, *spec = json_get(group, "spec");
    int64_t wanted = wanted_members(v), least = job_min_member(v);
    struct json *patch, *change;

    if (!is_ours(v) || (json_get_int(spec, "members", -1) == wanted &&
                        json_get_int(spec, "minMember", -1) == least))
        return;
    patch = json_new_object(v->arena);
    change = json_make_object(v->arena, patch, "spec");
    json_set_int(v->arena, change, "members", wanted);
    json_set_int(v->arena, change, "minMember", least);
    plan_patch(plan, &kind_pod_group, group, patch);
}

void job_group_end(const struct job_view *v, struct plan *plan)
{
    if (is_ours(v))
        plan_delete(plan, &kind_pod_group, v->snapshot->group, -1);
}
