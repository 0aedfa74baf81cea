/* job_view.c - assembles a job's replicas, pods, Services and status. See job_view.h. */
#include "core/job_view.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "core/name_index.h"

static const char *const phase_names[] = {
    [JOB_NEW] = "",          [JOB_PENDING] = "Pending",   [JOB_RUNNING] = "Running",
    [JOB_PAUSED] = "Paused", [JOB_RESUMING] = "Resuming", [JOB_SUCCEEDED] = "Succeeded",
    [JOB_FAILED] = "Failed", [JOB_UNKNOWN] = "Unknown",
};

static const char *const replica_phase_names[] = {
    [REPLICA_CREATING] = "Creating",   [REPLICA_PENDING] = "Pending", [REPLICA_RUNNING] = "Running",
    [REPLICA_SUCCEEDED] = "Succeeded", [REPLICA_FAILED] = "Failed",   [REPLICA_UNKNOWN] = "Unknown",
    [REPLICA_DELETED] = "Deleted",
};

const char *job_phase_name(enum job_phase phase)
{
    return phase_names[phase];
}

const char *replica_phase_name(enum replica_phase phase)
{
    return replica_phase_names[phase];
}

static enum job_phase phase_of(const struct json *status)
{
    const char *word = json_get_string(status, "phase", "");

    for (size_t i = 0; i < ELEMS(phase_names); i++)
        if (strcmp(phase_names[i], word) == 0)
            return (enum job_phase)i;
    return JOB_UNKNOWN;
}

const struct json *main_container(const struct job_rules *rules, const struct json *pod_spec)
{
    const struct json *containers = json_get(pod_spec, "containers");

    for (const char *const *name = rules->main_containers; *name; name++)
        json_each (c, containers)
            if (json_string_is(json_get(c, "name"), *name))
                return c;
    return json_first(containers);
}

static void add_replica(struct job_view *v, const struct role *role, int64_t index)
{
    v->replicas[v->len] = (struct replica){
        .role = role,
        .type = role->type,
        .name = role->single ? arena_printf(v->arena, "%s-%s-%s", v->name, v->hash5, role->type)
                             : replica_name(v->arena, v->name, v->hash5, role->type, index),
        .index = index,
        .rank = (int64_t)v->len,
    };
    v->len++;
}

static void add_replicas(struct job_view *v)
{
    size_t total = 0;

    v->rules->assign_roles(v);
    for (size_t i = 0; i < v->roles_len; i++)
        total += (size_t)v->roles[i].count;
    v->replicas = arena_alloc(v->arena, (total + 1) * sizeof(*v->replicas));
    if (!v->replicas)
        return;
    for (size_t i = 0; i < v->roles_len; i++)
        for (int64_t index = 0; index < v->roles[i].count; index++)
            add_replica(v, &v->roles[i], index);
}

static void take_pod(struct job_view *v, struct replica *r, const struct json *pod)
{
    const char *attempt = object_annotation(pod, ANNOTATION_ATTEMPT);
    const struct json *works = main_container(v->rules, json_get(pod, "spec"));

    if (!object_is_controlled_by(pod, v->uid)) {
        r->taken_by = "pod";
        return;
    }
    r->pod = pod;
    r->pod_attempt = attempt ? strtoll(attempt, NULL, 10) : 0;
    r->state = pod_state_of(pod, json_get_string(works, "name", NULL));
}

static void take_pods(struct job_view *v, const struct name_index *by_name)
{
    const struct job_snapshot *s = v->snapshot;

    v->surplus = arena_alloc(v->arena, (s->pods_len + 1) * sizeof(const struct json *));
    if (!v->surplus)
        return;
    for (size_t i = 0; i < s->pods_len; i++) {
        struct replica *r = name_index_get(by_name, object_name(s->pods[i]));

        if (r)
            take_pod(v, r, s->pods[i]);
        else if (object_is_controlled_by(s->pods[i], v->uid))
            v->surplus[v->surplus_len++] = s->pods[i];
    }
}

static void take_services(struct job_view *v, const struct name_index *by_name)
{
    for (size_t i = 0; i < v->snapshot->services_len; i++) {
        const struct json *service = v->snapshot->services[i];
        struct replica *r = name_index_get(by_name, object_name(service));

        if (!r)
            continue;
        if (object_is_controlled_by(service, v->uid))
            r->service = service;
        else
            r->taken_by = r->taken_by ? r->taken_by : "service";
    }
}

/* kubectl delete looks up the object's UID, then lists, and waits for the end of what it finds:
 * forever, if that is already the successor. On a busy machine the two requests can be most of a
 * second apart. */
#define NAME_RESTS_MS 2000

/* A superseded pod is recorded as its replica's last while it still exists, so nothing waits for
 * its end (job_status.c). */
static int64_t gone_since(const struct job_view *v, const struct replica *r)
{
    const char *uid = json_get_string(r->recorded, "uid", NULL);

    if (uid && !json_string_is(json_get(r->recorded, "lastUID"), uid))
        return v->now_ms;
    return object_time(r->recorded, "goneTime");
}

static void take_records(struct job_view *v, const struct name_index *by_name)
{
    json_each (task, json_get(v->status, "tasks")) {
        json_each (entry, json_get(task, "replicas")) {
            struct replica *r = name_index_get(by_name, json_get_string(entry, "name", ""));

            if (!r)
                continue;
            r->recorded = entry;
            r->restarts = json_get_int(entry, "restartCount", 0);
            r->restart_ms = object_time(entry, "restartTime");
            r->restart_delay_s = json_get_int(entry, "restartDelaySeconds", 0);
            r->gone_ms = r->pod ? 0 : gone_since(v, r);
        }
    }
}

/* A replica that an elastic job gave up and takes back may still have an old pod the status no
 * longer knows. No pod was restarted more often than the job was charged, so attempts from there on
 * are new. */
static void number_newcomers(struct job_view *v)
{
    for (size_t i = 0; i < v->len; i++)
        if (!v->replicas[i].recorded)
            v->replicas[i].restarts = v->backoff_count;
}

static bool recorded_as(const struct replica *r, enum replica_phase phase)
{
    return json_string_is(json_get(r->recorded, "phase"), replica_phase_names[phase]);
}

static bool recorded_uid_is(const struct replica *r, const struct json *pod)
{
    return strcmp(json_get_string(r->recorded, "uid", ""), object_uid(pod)) == 0;
}

/* For a pod that succeeded and was gone before we saw it: its replica has no other, and nothing was
 * decided about it. */
static void take_ends(struct job_view *v, const struct name_index *by_name)
{
    for (size_t i = 0; i < v->snapshot->ends_len; i++) {
        const struct json *pod = v->snapshot->ends[i];
        struct replica *r = name_index_get(by_name, object_name(pod));

        if (!r || r->pod || r->taken_by || !recorded_uid_is(r, pod))
            continue;
        take_pod(v, r, pod);
        if (replica_is_superseded(v, r))
            r->pod = NULL;
        else
            r->gone_ms = 0;
    }
}

/* Whether its pod was being stopped, or is gone without having succeeded. */
static bool was_told(const struct job_view *v, const struct replica *r)
{
    if (!r->pod)
        return !recorded_as(r, REPLICA_SUCCEEDED);
    return r->state.deleting && !r->state.by_itself && !r->state.ended_first &&
           !replica_is_superseded(v, r);
}

/* A failure just before the program was asked to end may be caused by another replica that had
 * already been asked; if there is none, it is the job's own. */
static void judge_failures(struct job_view *v)
{
    size_t own = 0, told = 0, open = 0;

    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];

        own += r->pod && r->state.by_itself;
        if (was_told(v, r))
            *(!r->pod || r->state.over ? &told : &open) += 1;
    }
    v->undecided = own && open && !told;
    for (size_t i = 0; i < v->len && !told && !open; i++)
        v->replicas[i].state.ended_first |= v->replicas[i].state.by_itself;
}

/* A cache may lag behind the status: the pod it shows was recorded as finished, or its successor as
 * succeeded. The record wins. */
static bool is_outdated(const struct replica *r)
{
    if (!r->pod || !r->recorded)
        return false;
    if (recorded_as(r, REPLICA_SUCCEEDED))
        return !recorded_uid_is(r, r->pod) || r->state.phase != POD_SUCCEEDED;
    return recorded_as(r, REPLICA_FAILED) && recorded_uid_is(r, r->pod) && !pod_is_finished(r->pod);
}

static enum restart_scope scope_of(const struct json *word, enum restart_scope otherwise)
{
    if (json_string_is(word, "Job"))
        return SCOPE_JOB;
    return json_string_is(word, "Replica") ? SCOPE_REPLICA : otherwise;
}

static void read_spec(struct job_view *v)
{
    const struct json *policy = json_get(v->spec, "runPolicy");

    v->scope = scope_of(json_get(policy, "restartScope"), v->rules->scope);
    v->backoff_limit = json_get_int(policy, "backoffLimit",
                                    v->rules->budget ? v->rules->budget(v) : BACKOFF_LIMIT_DEFAULT);
    v->pause_wanted = switched_on(json_at(v->spec, "runMode", "pause"));
    v->elastic = switched_on(json_get(v->spec, "elastic")) &&
                 switched_on(json_get(v->spec, "torchrunConfig"));
}

static void read_status(struct job_view *v)
{
    v->was = phase_of(v->status);
    v->backoff_count = json_get_int(v->status, "backoffCount", 0);
    v->pause_count = json_get_int(v->status, "pauseCount", 0);
    v->start_ms = object_time(v->status, "startTime");
    v->resumed = v->pause_count > 0 && !v->pause_wanted;
    v->port = (struct port_claim){.port = PORT_ON_CLUSTER, .held = true};
    if (v->rules->rendezvous && v->snapshot->shared_network && !job_phase_is_final(v->was))
        v->port = port_claim_for(v->arena, v->snapshot->leases, v->snapshot->leases_len, v->uid,
                                 json_get_int(v->status, "masterPort", 0));
}

void job_view_init(struct job_view *v, const struct job_rules *rules, const struct job_snapshot *s,
                   struct arena *a)
{
    struct name_index by_name;

    *v = (struct job_view){
        .snapshot = s,
        .arena = a,
        .rules = rules,
        .kind = rules->kind,
        .job = s->job,
        .spec = rules->unify ? rules->unify(a, json_get(s->job, "spec")) : json_get(s->job, "spec"),
        .status = json_get(s->job, "status"),
        .ns = object_namespace(s->job),
        .name = object_name(s->job),
        .uid = object_uid(s->job),
        .now_ms = s->now_ms,
        .why_reason = "",
        .why_message = "",
    };
    replica_hash5(v->name, v->uid, v->hash5);
    read_spec(v);
    read_status(v);
    add_replicas(v);
    name_index_init(&by_name, a, v->len);
    for (size_t i = 0; i < v->len; i++)
        name_index_put(&by_name, v->replicas[i].name, &v->replicas[i]);
    take_pods(v, &by_name);
    take_services(v, &by_name);
    take_records(v, &by_name);
    number_newcomers(v);
    take_ends(v, &by_name);
    judge_failures(v);
    for (size_t i = v->len; i-- > 0;) {
        v->replicas[i].outdated = is_outdated(&v->replicas[i]);
        if (v->replicas[i].taken_by)
            v->clash = &v->replicas[i];
    }
}

bool replica_has_ended(const struct job_view *v, const struct replica *r)
{
    return r->pod && !r->outdated && (!r->state.deleting || r->state.ended_first) &&
           !r->state.lost && !replica_is_superseded(v, r) && pod_is_finished(r->pod);
}

/* A clock set back must not make us wait for it to catch up. */
static int64_t due_after(const struct job_view *v, int64_t since_ms, int64_t wait_ms)
{
    return since_ms + wait_ms > v->now_ms && since_ms <= v->now_ms ? since_ms + wait_ms : 0;
}

int64_t replica_due_ms(const struct job_view *v, const struct replica *r)
{
    return max_i64(due_after(v, r->restart_ms, r->restart_delay_s * 1000),
                   due_after(v, r->gone_ms, NAME_RESTS_MS));
}

/* Nothing is created for an ended or paused job: a missing pod is gone, not coming. */
static enum replica_phase phase_without_pod(const struct job_view *v, const struct replica *r)
{
    if (v->phase == JOB_PAUSED)
        return REPLICA_DELETED;
    if (recorded_as(r, REPLICA_SUCCEEDED) && !r->renewed)
        return REPLICA_SUCCEEDED;
    if (!job_is_over(v))
        return REPLICA_CREATING;
    return recorded_as(r, REPLICA_FAILED) ? REPLICA_FAILED : REPLICA_DELETED;
}

static enum replica_phase phase_with_pod(const struct job_view *v, const struct replica *r)
{
    static const enum replica_phase by_pod[] = {
        [POD_PENDING] = REPLICA_PENDING,     [POD_RUNNING] = REPLICA_RUNNING,
        [POD_SUCCEEDED] = REPLICA_SUCCEEDED, [POD_FAILED] = REPLICA_FAILED,
        [POD_UNKNOWN] = REPLICA_UNKNOWN,
    };

    if (replica_is_superseded(v, r)) /* a failed one is shown until its replacement is due */
        return r->state.phase == POD_FAILED && !r->state.deleting ? REPLICA_FAILED
                                                                  : REPLICA_DELETED;
    if (r->outdated)
        return recorded_as(r, REPLICA_FAILED) ? REPLICA_FAILED : REPLICA_SUCCEEDED;
    if (r->state.deleting && !(r->state.ended_first && r->state.phase == POD_SUCCEEDED))
        return phase_without_pod(v, r) == REPLICA_CREATING ? REPLICA_DELETED
                                                           : phase_without_pod(v, r);
    return r->state.lost ? REPLICA_UNKNOWN : by_pod[r->state.phase];
}

void job_view_settle(struct job_view *v)
{
    memset(v->counts, 0, sizeof(v->counts));
    for (size_t i = 0; i < v->len; i++) {
        struct replica *r = &v->replicas[i];

        r->phase = r->pod ? phase_with_pod(v, r) : phase_without_pod(v, r);
        v->counts[r->phase]++;
    }
}
