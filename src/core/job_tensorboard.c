/*
 * job_tensorboard.c - a job's TensorBoard: created once, with the job, and owned by it; from then
 * on tensorboard.c is in charge. It outlives the job's end but is deleted with the job. If the user
 * deletes it, it is not created again.
 */
#include "api/object.h"
#include "api/tensorboard_rules.h"
#include "core/job_run.h"
#include "core/job_status.h"
#include "core/replica_pod.h"

static const struct json *recorded(const struct job_view *v)
{
    return json_at(v->status, "tensorboard", "dependent", "uid");
}

static bool has_folders(const struct job_view *v)
{
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];

    return tensorboard_folders(v->arena, json_get(v->spec, "tensorboardSpec"), folders) > 0;
}

void job_tensorboard_plan(const struct job_view *v, struct plan *plan)
{
    const struct json *spec = json_get(v->spec, "tensorboardSpec");
    struct arena *a = v->arena;
    struct json *board, *labels;

    if (!json_is(spec, JSON_OBJECT) || v->snapshot->tensorboard || recorded(v) ||
        job_phase_is_final(v->was) || !has_folders(v))
        return;
    if (v->snapshot->refused && v->snapshot->refused_until_ms > v->now_ms) {
        plan_wake_at(plan, v->snapshot->refused_until_ms);
        return;
    }
    board = replica_child_new(v, &kind_tensorboard, job_child_name(a, v->job));
    labels = json_make_object(a, json_make_object(a, board, "metadata"), "labels");
    json_set_string(a, labels, LABEL_OWNER_NAME, v->name);
    json_set_string(a, labels, LABEL_OWNER_KIND, v->kind->name);
    json_set(a, board, "spec", json_clone(a, spec));
    plan_next_stage(plan); /* last: whatever is wrong with it must not stop the job */
    plan_create(plan, &kind_tensorboard, board);
}

/* --- status ----------------------------------------------------------------------------------- */

struct verdict {
    bool ready;
    const char *type, *reason, *note;
};

static struct verdict verdict_of(const struct job_view *v, const char *name)
{
    const struct json *board = v->snapshot->tensorboard;
    const struct json *phase = json_at(board, "status", "phase");
    const char *message = json_string(json_at(board, "status", "message"), "");
    struct arena *a = v->arena;

    if (!board && recorded(v))
        return (struct verdict){false, "Normal", "DependentDeleted",
                                arena_printf(a, "TensorBoard [%s] was deleted", name)};
    if (!board && !has_folders(v))
        return (struct verdict){false, "Warning", "NoLogFolder",
                                "spec.tensorboardSpec names no log folder: set logDir.pvc or "
                                "trainingLogFilesets"};
    if (!board)
        return (struct verdict){false, "Normal", "DependentNotReady",
                                arena_printf(a, "TensorBoard [%s] is being created", name)};
    if (!object_is_controlled_by(board, v->uid))
        return (struct verdict){
            false, "Warning", "NameTaken",
            arena_printf(a, "TensorBoard [%s] already exists and does not belong to this job",
                         name)};
    if (json_string_is(phase, "Running"))
        return (struct verdict){true, "Normal", "DependentReady",
                                arena_printf(a, "TensorBoard [%s] is ready", name)};
    return (struct verdict){
        false, json_string_is(phase, "Failed") ? "Warning" : "Normal", "DependentNotReady",
        arena_printf(a, "TensorBoard [%s] is not ready%s%s", name, *message ? ": " : "", message)};
}

static void set_dependent(const struct job_view *v, const char *name, struct json *entry)
{
    const struct json *board = v->snapshot->tensorboard;
    struct arena *a = v->arena;
    struct json *dependent;

    if (!board || !object_is_controlled_by(board, v->uid))
        return;
    dependent = json_set(a, entry, "dependent", json_new_object(a));
    json_set_string(a, dependent, "apiVersion", kind_api_version(a, &kind_tensorboard));
    json_set_string(a, dependent, "kind", kind_tensorboard.name);
    json_set_string(a, dependent, "name", name);
    json_set_string(a, dependent, "namespace", v->ns);
    json_set_string(a, dependent, "uid", object_uid(board));
}

void job_tensorboard_status(const struct job_view *v, struct json *status)
{
    const struct json *old = json_get(v->status, "tensorboard");
    struct arena *a = v->arena;
    const char *name = job_child_name(a, v->job);
    struct verdict verdict;
    struct json *entry;

    if (!json_is(json_get(v->spec, "tensorboardSpec"), JSON_OBJECT))
        return;
    if (!v->snapshot->tensorboard && !recorded(v) && job_phase_is_final(v->was))
        return; /* ended before it had one */
    verdict = verdict_of(v, name);
    entry = json_is(old, JSON_OBJECT) ? json_clone(a, old) : json_new_object(a);
    json_set_string(a, entry, "name", name);
    json_set_string(a, entry, "action", "NOP");
    json_set_bool(a, entry, "ready", verdict.ready);
    json_set_string(a, entry, "type", verdict.type);
    json_set_string(a, entry, "reason", verdict.reason);
    json_set_string(a, entry, "note", verdict.note);
    set_dependent(v, name, entry);
    json_set(a, status, "tensorboard", entry);
}
