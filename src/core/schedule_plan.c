/*
 * schedule_plan.c - turns decisions into writes. A group's places are written to its PodGroup's
 * status before any of its pods is bound, and removed from it before any of its pods is evicted:
 * one object's write decides for all members, and a crashed scheduler's successor continues from
 * it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/app.h"
#include "core/decision.h"
#include "core/job.h"

#define UNSEEN_MS 2000       /* a queue of a new group may be there, and not seen yet */
#define VACANT_MS 60000      /* the creator of a group's pods may be restarting */
#define PAUSE_LIMIT_MS 30000 /* after which the pods of a paused job are deleted */

static const char *const phase_members[] = {"pending", "running", "succeeded", "failed", "unknown"};

/* --- conditions ------------------------------------------------------------------------------- */

static struct json *condition(struct decision *d, const struct json *object, const char *type,
                              bool is, const char *reason, const char *message)
{
    const struct json *old = object_condition(object, type);
    bool same = json_string_is(json_get(old, "status"), is ? "True" : "False");
    const char *count = json_get_string(old, "transitionID", "0");
    struct arena *a = d->arena;
    struct json *c = json_new_object(a);
    char now[TIME_TEXT_SIZE];

    json_set_string(a, c, "type", type);
    json_set_string(a, c, "status", is ? "True" : "False");
    json_set_string(a, c, "reason", reason);
    json_set_string(a, c, "message", message);
    json_set_string(a, c, "lastTransitionTime",
                    same ? json_get_string(old, "lastTransitionTime", "")
                         : time_format(d->now_ms, now));
    json_set_string(a, c, "transitionID",
                    same ? count : arena_printf(a, "%lld", strtoll(count, NULL, 10) + 1));
    return c;
}

/* --- the status of a group -------------------------------------------------------------------- */

static bool has_no_record(const struct group *g)
{
    return g->taker || g->preempted || g->lapsed;
}

/* A stopping pod without a record was evicted: its place is not its successor's. */
static bool is_kept(const struct member *m)
{
    return m->node && !m->evicted && !has_no_record(m->group) && (!m->deleting || m->recorded);
}

static struct json *placement_for(struct decision *d, struct json *list, const struct member *m)
{
    struct json *last = list ? list->u.list.last : NULL, *p;

    if (last && json_string_is(json_get(last, "node"), m->node->name)) {
        struct resources asks = placement_requests(last);

        if (memcmp(&asks, &m->asks, sizeof(asks)) == 0)
            return last;
    }
    p = json_append(list, json_new_object(d->arena));
    if (!p)
        return NULL;
    json_set_string(d->arena, p, "node", m->node->name);
    json_set(d->arena, p, "requests", resources_map(d->arena, &m->asks));
    return p;
}

static struct json *placements(struct decision *d, const struct group *g)
{
    struct arena *a = d->arena;
    struct json *list = json_new_array(a);

    map_for_each (node, &g->by_name) {
        const struct member *m = node->value;
        struct json *p = is_kept(m) ? placement_for(d, list, m) : NULL;

        if (!p)
            continue;
        json_append_string(a, json_make_array(a, p, "members"), m->name);
        if (m->gpus.whole || m->gpus.shared)
            json_append_string(a, json_make_array(a, p, "gpus"), gpu_lease_text(a, m->gpus));
    }
    return list;
}

static bool is_scheduled(const struct group *g)
{
    return g->holding > 0 && !has_no_record(g);
}

static const char *const group_phases[] = {
    [GROUP_UNTOLD] = "",       [GROUP_PENDING] = "Pending",   [GROUP_RUNNING] = "Running",
    [GROUP_PAUSED] = "Paused", [GROUP_FINISHED] = "Finished", [GROUP_EMPTY] = "Empty"};

/* A group's state, and what is said about its past. */
struct standing {
    enum group_phase phase;
    struct json *preempted; /* conditions; NULL: not set */
    struct json *overdue;
    const char *lacks; /* the pods that a raised minMember asks of what runs, or NULL */
};

static enum group_phase phase_of(const struct group *g)
{
    int64_t ended = g->pods[POD_SUCCEEDED] + g->pods[POD_FAILED], pods = 0;

    if (is_scheduled(g))
        return GROUP_RUNNING;
    if (g->line_key || g->holding > 0 || (g->wanted > 0 && !g->deleting))
        return GROUP_PENDING;
    for (int i = 0; i <= POD_UNKNOWN; i++)
        pods += g->pods[i];
    if (pods > 0 && pods == ended)
        return GROUP_FINISHED;
    if (g->wanted == 0)
        return GROUP_PAUSED;
    return pods > 0 && !g->deleting ? GROUP_PENDING : GROUP_EMPTY;
}

static const char *preempted_words(struct decision *d, const struct group *g)
{
    if (g->taker == g && g->reason == WAIT_NEVER_FITS)
        return "it was stopped: it lacks members, and no node can take them";
    if (g->taker == g)
        return arena_printf(d->arena,
                            "it was stopped: it lacks members, and the quota of queue \"%s\" no "
                            "longer holds all it needs",
                            g->queue->name);
    if (g->taker->started)
        return arena_printf(d->arena,
                            "it was stopped: it lacks members, as does %s \"%s\" of queue \"%s\", "
                            "which goes on in its place",
                            g->taker->word, g->taker->owner, g->taker->queue->name);
    return arena_printf(d->arena, "its room was taken by %s \"%s\" of queue \"%s\" (priority %d)",
                        g->taker->word, g->taker->owner, g->taker->queue->name,
                        g->taker->queue->priority);
}

static const struct json *queue_object(struct decision *d, const struct queue_entry *q)
{
    return q->exists ? d->ledger->find(d->ledger->arg, &kind_queue, QUEUE_NAMESPACE, q->name)
                     : NULL;
}

/* When the group will have reached its queue's maximum duration, or its own deadline, which only a
 * job keeps itself; 0: never, or it is already stopping. */
static int64_t stop_ms(const struct group *g)
{
    int64_t limit = g->of_job ? group_max_duration_ms(g) : group_duration_ms(g);
    bool stops = g->wanted == 0 && g->bound <= g->leaving;

    return g->holding > 0 && !g->lapsed && !stops ? group_stop_ms(g, limit) : 0;
}

static bool is_overdue(const struct decision *d, const struct group *g)
{
    int64_t stop = stop_ms(g);

    return stop && stop <= d->now_ms;
}

/* Its own, before its queue's limit. */
static bool meets_deadline(const struct group *g)
{
    return !g->of_job && g->deadline_ms && group_duration_ms(g) == g->deadline_ms;
}

static const char *overdue_reason(const struct group *g)
{
    return meets_deadline(g) ? "DeadlineExceeded" : MAX_DURATION_EXCEEDED;
}

static const char *overdue_words(struct decision *d, const struct group *g)
{
    const struct json *limit = json_at(queue_object(d, g->queue), "spec", "maxDuration");

    if (meets_deadline(g))
        return arena_printf(d->arena, "it ran longer than its activeDeadlineSeconds (%" PRId64 ")",
                            g->deadline_ms / 1000);
    return arena_printf(d->arena, "it ran longer than maxDuration (%s) of queue \"%s\"",
                        json_string(limit, ""), g->queue->name);
}

/* Largest number of members that held room at the same time. */
static int64_t most_members(const struct group *g)
{
    int64_t kept = 0;

    for (const struct member *m = g->first; m; m = m->next)
        kept += is_kept(m);
    return max_i64(g->most, kept);
}

/* Members that were lost or have ended are not missing: they were there. */
static bool never_was_whole(const struct group *g)
{
    return most_members(g) < g->min_member && group_there(g) + g->unplaced < g->min_member;
}

/* "Preempted" is stated until it starts again, "ran too long" until it waits again; one that was
 * preempted at the end of its time is about to be paused. */
static struct standing standing_of(struct decision *d, const struct group *g,
                                   const struct json *object)
{
    struct standing s = {.phase = phase_of(g)};

    if (g->taker)
        s.preempted = condition(d, object, CONDITION_PREEMPTED, true, CONDITION_PREEMPTED,
                                preempted_words(d, g));
    else if (s.phase == GROUP_PENDING && g->preempted)
        s.preempted = json_clone(d->arena, object_condition(object, CONDITION_PREEMPTED));
    if (is_overdue(d, g))
        s.overdue = condition(d, object, MAX_DURATION_EXCEEDED, true, overdue_reason(g),
                              overdue_words(d, g));
    else if (g->wanted == 0 || s.phase > GROUP_RUNNING || g->preempted)
        s.overdue = json_clone(d->arena, object_condition(object, MAX_DURATION_EXCEEDED));
    if (g->exists && s.phase == GROUP_RUNNING && never_was_whole(g))
        s.lacks = words_of_members(d, g);
    return s;
}

/* If its PodGroup was deleted, its pods may already have been running: the group is as old as they
 * are, or as its job says. */
static void backdate(struct decision *d, const struct group *g, const struct json *object,
                     struct json *scheduled)
{
    const struct json *notes = json_at(object, "metadata", "annotations");
    int64_t since = d->now_ms, noted = object_time(notes, ANNOTATION_STARTED);
    char text[TIME_TEXT_SIZE];

    for (const struct member *m = g->first; m; m = m->next)
        if (m->bound && m->since_ms)
            since = min_i64(since, m->since_ms);
    if (noted)
        since = min_i64(since, noted);
    json_set_string(d->arena, scheduled, "lastTransitionTime", time_format(since, text));
}

static void set_conditions(struct decision *d, const struct group *g, const struct json *object,
                           const struct standing *s, struct json *status)
{
    bool scheduled = s->phase == GROUP_RUNNING;
    bool enough = (scheduled && !s->lacks) || s->phase == GROUP_FINISHED ||
                  (!scheduled && g->line_key && g->reason != WAIT_MEMBERS && g->due == 0);
    struct json *list = json_make_array(d->arena, status, "conditions"), *c;

    json_append(list, condition(d, object, "SufficientGroupMember", enough,
                                enough ? "SufficientMemberPods" : "InsufficientMemberPods",
                                enough     ? "Enough pods are there"
                                : s->lacks ? s->lacks
                                           : g->words));
    c = condition(d, object, "GroupScheduled", scheduled,
                  scheduled ? "PodGroupScheduled" : "GroupNotScheduled",
                  scheduled ? "Resources have been allocated to PodGroup" : g->words);
    if (scheduled && g->bound > 0 && !object_condition_is(object, "GroupScheduled"))
        backdate(d, g, object, c);
    json_append(list, c);
    if (s->preempted)
        json_append(list, s->preempted);
    if (g->taking && !scheduled)
        json_append(list, condition(d, object, CONDITION_PREEMPTING, true, CONDITION_PREEMPTING,
                                    "Room is being made for it"));
    if (s->overdue)
        json_append(list, s->overdue);
}

/* The message of a group that is not in line. */
static const char *words_at_rest(struct decision *d, const struct group *g,
                                 const struct standing *s)
{
    const char *overdue = json_get_string(s->overdue, "message", "");

    switch (s->phase) {
    case GROUP_UNTOLD:
        break;
    case GROUP_PENDING:
        return s->preempted ? "" : words_of_members(d, g);
    case GROUP_RUNNING:
        break;
    case GROUP_PAUSED:
        return *overdue    ? overdue
               : g->of_job ? "its job is paused"
                           : "it wants no pods: spec.members is 0";
    case GROUP_FINISHED:
        return *overdue ? overdue : "its pods have ended";
    case GROUP_EMPTY:
        return *overdue ? overdue
               : g->deleting
                   ? "it is being deleted: no more of its pods are placed"
                   : arena_printf(d->arena, "no pod has joined it: pods join by the label %s: %s",
                                  LABEL_GROUP_NAME, g->name);
    }
    return "";
}

static const char *words_with_past(struct decision *d, struct group *g, const struct standing *s)
{
    const char *now = g->line_key ? words_for(d, g) : words_at_rest(d, g, s);
    const char *past = json_get_string(s->preempted, "message", "");

    if (!now || !past)
        return ""; /* out of memory: the plan is not carried out */
    if (!*past || !*now)
        return *past ? past : now;
    return arena_printf(d->arena, "%s; %s", now, past);
}

static const char *reason_word(const struct group *g, const struct standing *s)
{
    if (s->phase == GROUP_RUNNING)
        return s->lacks ? wait_reason_name(WAIT_MEMBERS) : "";
    if (s->phase != GROUP_PENDING)
        return s->overdue ? json_get_string(s->overdue, "reason", "") : group_phases[s->phase];
    if (g->taker || (g->reason == WAIT_NONE && s->preempted))
        return CONDITION_PREEMPTED;
    return wait_reason_name(g->line_key ? g->reason : WAIT_MEMBERS);
}

/* Since when it waits this time: not its age, if it ran or was paused in between. */
static const char *waiting_since(struct decision *d, const struct json *object)
{
    const struct json *old = json_get(object, "status");
    const char *phase = json_get_string(old, "phase", ""), *since;
    char now[TIME_TEXT_SIZE];

    if (*phase && strcmp(phase, group_phases[GROUP_PENDING]) != 0)
        return arena_strdup(d->arena, time_format(d->now_ms, now));
    since = json_get_string(old, "waitingSince", "");
    return *since ? since : json_string(json_at(object, "metadata", "creationTimestamp"), "");
}

/* In the line of all queues; 0: in none. */
static int64_t place_told(const struct group *g)
{
    if (!g->line_key || (g->position == 0 && g->reason != WAIT_TURN))
        return 0;
    return g->position > 0 ? min_i64((int64_t)g->position, PLACES_TOLD + 1) : PLACES_TOLD + 1;
}

static const struct json *pod_of(struct decision *d, const struct member *m)
{
    return m->has_pod ? d->ledger->find(d->ledger->arg, &kind_pod, m->group->ns, m->name) : NULL;
}

/* What decides where a pod may run, and nothing else of it. */
static struct json *outline(struct decision *d, const struct member *m)
{
    static const char *const lists[] = {"containers", "initContainers"};
    static const char *const whole[] = {
        "nodeSelector",     "affinity",      "tolerations", "topologySpreadConstraints",
        "preemptionPolicy", "schedulerName", "priority",    "overhead"};
    const struct json *pod = pod_of(d, m), *spec = json_get(pod, "spec");
    struct arena *a = d->arena;
    struct json *kept = json_new_object(a), *kept_spec = json_make_object(a, kept, "spec");

    if (!pod) {
        struct json *list = json_make_array(a, kept_spec, "containers");
        struct json *c = json_append(list, json_new_object(a));

        json_set(a, json_make_object(a, c, "resources"), "requests", resources_map(a, &m->asks));
        return kept;
    }
    if (object_labels(pod))
        json_set(a, json_make_object(a, kept, "metadata"), "labels",
                 json_clone(a, object_labels(pod)));
    for (size_t i = 0; i < ELEMS(whole); i++)
        if (json_get(spec, whole[i]))
            json_set(a, kept_spec, whole[i], json_clone(a, json_get(spec, whole[i])));
    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_get(spec, lists[i])) {
            struct json *list = json_make_array(a, kept_spec, lists[i]);
            struct json *kept_c = json_append(list, json_new_object(a));

            if (json_get(c, "resources"))
                json_set(a, kept_c, "resources", json_clone(a, json_get(c, "resources")));
        }
    return kept;
}

/* Members being evicted, which its owner will recreate: until they exist the group keeps its place
 * in line for them. */
static struct json *awaited(struct decision *d, const struct group *g)
{
    struct json *list = json_new_array(d->arena);

    map_for_each (node, &g->by_name) {
        const struct member *m = node->value;
        struct json *last = list ? list->u.list.last : NULL;
        struct json *pod = m->node || member_is_unplaced(m) ? outline(d, m) : NULL;

        if (!pod)
            continue;
        if (!last || !json_equal(json_get(last, "pod"), pod)) {
            last = json_append(list, json_new_object(d->arena));
            json_set(d->arena, last, "pod", pod);
        }
        json_append_string(d->arena, json_make_array(d->arena, last, "members"), m->name);
    }
    return list;
}

static void set_preemption(struct decision *d, const struct group *g, const struct json *object,
                           struct json *status)
{
    static const char *const kept[] = {"preemptedBy", "awaited"};
    const struct json *old = json_get(object, "status");

    for (size_t i = 0; i < ELEMS(kept) && !g->taker; i++)
        if (json_get(old, kept[i]))
            json_set(d->arena, status, kept[i], json_clone(d->arena, json_get(old, kept[i])));
    if (g->taker && g->taker != g)
        json_set_string(d->arena, status, "preemptedBy", g->taker->key);
    if (g->taker && g->wanted > 0)
        json_set(d->arena, status, "awaited", awaited(d, g));
}

static struct json *group_status(struct decision *d, struct group *g, const struct json *object,
                                 const struct standing *s)
{
    struct arena *a = d->arena;
    struct json *status = json_new_object(a);
    struct resources held = {0};

    for (const struct member *m = g->first; m; m = m->next)
        if (is_kept(m))
            resources_add(&held, &m->asks);
    if (s->phase == GROUP_RUNNING)
        json_set_int(a, status, "mostMembers", most_members(g));
    json_set_string(a, status, "phase", group_phases[s->phase]);
    set_conditions(d, g, object, s, status);
    json_set(a, status, "allocated", resources_map(a, &held));
    json_set_string(a, status, "reason", reason_word(g, s));
    json_set_string(a, status, "message",
                    s->lacks                    ? s->lacks
                    : s->phase == GROUP_RUNNING ? ""
                                                : g->words);
    if (s->phase == GROUP_PENDING)
        json_set_string(a, status, "waitingSince", waiting_since(d, object));
    if (s->phase == GROUP_PENDING && place_told(g) > 0)
        json_set_int(a, status, "place", place_told(g));
    json_set(a, status, "placements", placements(d, g));
    if (s->preempted)
        set_preemption(d, g, object, status);
    for (int i = 0; i <= POD_UNKNOWN; i++)
        json_set_int(a, status, phase_members[i], g->pods[i]);
    return status;
}

/* Only its message, pod counts, or that pods are still coming: nothing acts on it. */
static bool is_small(const struct group *g, const struct json *object, const struct json *status)
{
    static const char *const deciding[] = {"phase", "reason", "placements", "allocated"};
    const struct json *old = json_get(object, "status"), *list = json_get(status, "conditions");

    if (json_len(old) == 0)
        return g->holding == 0 && (!g->line_key || g->reason == WAIT_MEMBERS);
    for (size_t i = 0; i < ELEMS(deciding); i++)
        if (!json_equal(json_get(old, deciding[i]), json_get(status, deciding[i])))
            return false;
    json_each (c, list)
        if (!json_equal(
                json_get(object_condition(object, json_get_string(c, "type", "")), "status"),
                json_get(c, "status")))
            return false;
    return json_len(list) == json_len(json_get(old, "conditions"));
}

/* Written whole: a merge patch could not remove resources from a map. */
static void plan_status(struct decision *d, const struct kind *k, const struct json *object,
                        struct json *status)
{
    struct json *next;

    if (json_equal(status, json_get(object, "status")))
        return;
    next = json_clone(d->arena, object);
    json_set(d->arena, next, "status", status);
    plan_update_status(d->plan, k, next);
}

/* For a minor update: whether it is too early to write it. */
static bool is_to_wait(struct decision *d, struct group *g)
{
    d->told_small = d->told_small || d->tells;
    if (!d->tells)
        ledger_owe(d->ledger, g);
    return !d->tells;
}

/* A missing pod is not worth reporting. */
static bool is_news(const struct group *g, const struct json *object, const char *reason,
                    const struct standing *s)
{
    if (s->phase == GROUP_PENDING && !g->line_key && !s->preempted)
        return false;
    return *reason && (s->phase == GROUP_PENDING || s->overdue) &&
           strcmp(json_string(json_at(object, "status", "reason"), ""), reason) != 0;
}

static void plan_group(struct decision *d, struct group *g)
{
    const struct json *object = g->exists ? d->ledger->find(d->ledger->arg, &kind_pod_group, g->ns,
                                                            g->name)
                                          : NULL;
    struct standing s = standing_of(d, g, object);
    struct json *status;
    const char *reason;

    g->words = words_with_past(d, g, &s);
    if (!object)
        return;
    status = group_status(d, g, object, &s);
    if (json_equal(status, json_get(object, "status")) ||
        (is_small(g, object, status) && is_to_wait(d, g)))
        return;
    reason = json_get_string(status, "reason", "");
    if (is_news(g, object, reason, &s))
        plan_event(d->plan, &kind_pod_group, object, "Warning", reason, "%s",
                   json_get_string(status, "message", ""));
    plan_status(d, &kind_pod_group, object, status);
}

/* --- pods ------------------------------------------------------------------------------------- */

static bool is_to_bind(const struct member *m)
{
    return member_is_live(m) && !m->bound && m->node && !m->deleting && m->ours &&
           !has_no_record(m->group);
}

static void plan_binding(struct decision *d, const struct member *m)
{
    const struct json *pod = pod_of(d, m);
    struct arena *a = d->arena;
    struct json *binding = json_new_object(a), *meta, *target;

    if (!pod)
        return;
    meta = json_make_object(a, binding, "metadata");
    if (!m->group->lone)
        json_set_string(a, json_make_object(a, meta, "annotations"), ANNOTATION_BOUND_QUEUE,
                        m->group->queue->name);
    if (m->gpus.whole || m->gpus.shared)
        json_set_string(a, json_make_object(a, meta, "annotations"), ANNOTATION_GPUS,
                        gpu_lease_text(a, m->gpus));
    target = json_make_object(a, binding, "target");
    json_set_string(a, target, "kind", "Node");
    json_set_string(a, target, "name", m->node->name);
    plan_bind(d->plan, pod, binding);
}

static struct json *unscheduled(struct decision *d, const struct json *pod, const char *message)
{
    const struct json *old = object_condition(pod, "PodScheduled");
    struct arena *a = d->arena;
    struct json *c = json_new_object(a);
    char now[TIME_TEXT_SIZE];

    json_set_string(a, c, "type", "PodScheduled");
    json_set_string(a, c, "status", "False");
    json_set_string(a, c, "reason", "Unschedulable");
    json_set_string(a, c, "message", message);
    json_set_string(a, c, "lastTransitionTime",
                    json_string_is(json_get(old, "status"), "False")
                        ? json_get_string(old, "lastTransitionTime", "")
                        : time_format(d->now_ms, now));
    return c;
}

/* Servers add members of their own: kube-apiserver adds "lastProbeTime": null. */
static bool says_already(const struct json *old, const struct json *wanted)
{
    json_each (member, wanted)
        if (!json_equal(member, json_get(old, member->key)))
            return false;
    return true;
}

/* A merge patch replaces the whole list of conditions, so it is limited to this version of the
 * pod. */
static void plan_message(struct decision *d, const struct member *m, const char *message)
{
    const struct json *pod = pod_of(d, m),
                      *old = pod ? object_condition(pod, "PodScheduled") : NULL;
    struct arena *a = d->arena;
    struct json *c = pod ? unscheduled(d, pod, message) : NULL, *patch, *list;

    if (!c || says_already(old, c))
        return;
    if (old && !m->group->waits_anew && is_to_wait(d, m->group))
        return;
    patch = json_new_object(a);
    json_set_string(a, json_make_object(a, patch, "metadata"), "resourceVersion",
                    object_resource_version(pod));
    list = json_make_array(a, json_make_object(a, patch, "status"), "conditions");
    json_each (other, json_at(pod, "status", "conditions"))
        if (other != old)
            json_append(list, json_clone(a, other));
    json_append(list, c);
    plan_patch(d->plan, &kind_pod, pod, patch);
    if (!old)
        plan_event(d->plan, &kind_pod, pod, "Warning", "FailedScheduling", "%s", message);
}

static const struct kind *owner_kind(const struct group *g)
{
    for (size_t i = 0; job_kinds[i] && g->owner_kind; i++)
        if (strcmp(job_kinds[i]->kind->name, g->owner_kind) == 0)
            return job_kinds[i]->kind;
    return NULL;
}

/* Only its identity. */
static struct json *owner_of(struct decision *d, const struct group *g)
{
    struct arena *a = d->arena;
    struct json *job = json_new_object(a), *meta = json_make_object(a, job, "metadata");

    json_set_string(a, meta, "namespace", g->ns);
    json_set_string(a, meta, "name", g->owner);
    json_set_string(a, meta, "uid", g->owner_uid);
    return job;
}

static bool lacks_only_pods(const struct group *g)
{
    return g->reason == WAIT_MEMBERS || (g->reason == WAIT_AGAIN && g->bound == 0);
}

/* A job creates missing pods itself, at once; but what was reported to a pod about a group that is
 * gone is no longer true. */
static bool is_to_tell(struct decision *d, const struct group *g, const struct member *m)
{
    if (!lacks_only_pods(g) || !owner_kind(g))
        return true;
    return !g->exists && object_condition(pod_of(d, m), "PodScheduled");
}

/* No place is sought for it: it does not belong to its group's job, or the group is complete. A job
 * deletes such pods of its own. */
static bool is_surplus(const struct group *g, const struct member *m)
{
    if (m->stray)
        return member_is_live(m) && !m->bound && !m->deleting && m->ours;
    return member_is_unplaced(m) &&
           (g->deleting || (g->exists && g->wanted >= 0 && !g->line_key && !g->of_job));
}

static const char *surplus_words(struct decision *d, const struct group *g, const struct member *m)
{
    if (m->stray)
        return arena_printf(d->arena,
                            "not placed: its label %s names the PodGroup of %s \"%s\", which has "
                            "not created it",
                            LABEL_GROUP_NAME, g->word, g->owner);
    if (g->deleting)
        return arena_printf(d->arena, "not placed: the PodGroup \"%s\" is being deleted", g->name);
    return arena_printf(d->arena,
                        "not placed: the PodGroup \"%s\" wants %" PRId64
                        " pod%s (spec.members), and has room for that many",
                        g->name, g->wanted, g->wanted == 1 ? "" : "s");
}

static void plan_members(struct decision *d, const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next) {
        const struct json *pod = is_to_bind(m) ? pod_of(d, m) : NULL;

        if (pod)
            plan_event(d->plan, &kind_pod, pod, "Normal", "Scheduled",
                       "Successfully assigned %s/%s to %s", g->ns, m->name, m->node->name);
        else if (is_surplus(g, m))
            plan_message(d, m, surplus_words(d, g, m));
        else if (member_is_unplaced(m) && *g->words && is_to_tell(d, g, m))
            plan_message(d, m, g->words);
    }
}

/* --- evictions -------------------------------------------------------------------------------- */

static bool has_to_go(const struct member *m)
{
    const struct group *g = m->group;

    return member_is_live(m) && m->bound && !m->deleting &&
           (m->evicted || g->taker || g->preempted);
}

static void plan_eviction(struct decision *d, const struct member *m)
{
    const struct json *pod = has_to_go(m) ? pod_of(d, m) : NULL;
    const struct group *taker = m->group->evicted_by;

    if (!pod)
        return;
    if (owner_kind(m->group) && !m->stray)
        plan_evict(d->plan, pod);
    else
        plan_delete_as_seen(d->plan, &kind_pod, pod, -1); /* it may have ended meanwhile */
    if (taker && taker->started)
        plan_event(d->plan, &kind_pod, pod, "Warning",
                   taker != m->group                     ? "Preempted"
                   : m->group->reason == WAIT_NEVER_FITS ? "NeverFits"
                                                         : "QuotaForbids",
                   "Stopped: %s", preempted_words(d, m->group));
    else if (taker)
        plan_event(d->plan, &kind_pod, pod, "Normal", "Preempted",
                   "Preempted by %s \"%s\" of queue \"%s\" (priority %d)", taker->word,
                   taker->owner, taker->queue->name, taker->queue->priority);
}

/* Members evicted alone are reported to their job; for a whole group its status says it. */
static void plan_job_event(struct decision *d, const struct group *g)
{
    const struct kind *k = g->evicted_by && !g->taker ? owner_kind(g) : NULL;
    const struct group *taker = g->evicted_by;
    int64_t count = 0;

    for (const struct member *m = g->first; m && k; m = m->next)
        count += m->evicted && has_to_go(m);
    if (count > 0)
        plan_event(d->plan, k, owner_of(d, g), "Normal", "Preempted",
                   "%" PRId64
                   " of its pods %s preempted by %s \"%s\" of queue \"%s\" (priority %d)",
                   count, count == 1 ? "is" : "are", taker->word, taker->owner, taker->queue->name,
                   taker->queue->priority);
}

/* --- queues ----------------------------------------------------------------------------------- */

static bool is_pressed(const struct queue_entry *q)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (q->limited[i] && q->used.amount[i] > q->quota.amount[i] / 10 * 9)
            return true;
    return false;
}

static struct json *queue_status(struct decision *d, const struct queue_entry *q,
                                 const struct json *object)
{
    struct arena *a = d->arena;
    struct json *status = json_new_object(a), *groups, *pods, *list;
    bool pressed = is_pressed(q);

    json_set(a, status, "allocated", resources_map(a, &q->used));
    list = json_make_array(a, status, "conditions");
    json_append(list, condition(d, object, "QueueClosed", q->closed,
                                q->closed ? "QueueClosed" : "QueueOpen",
                                q->closed ? "Queue is closed" : "Queue is open"));
    json_append(list, condition(d, object, "ResourcePressure", pressed,
                                pressed ? "QueueHasResourcePressure" : "QueueHasNoResourcePressure",
                                pressed ? "More than 90% of the queue's quota is in use"
                                        : "Queue has sufficient resource quota"));
    groups = json_make_object(a, status, "podGroups");
    json_set_int(a, groups, "total", (int64_t)q->groups);
    json_set_int(a, groups, "running", (int64_t)q->in_phase[GROUP_RUNNING]);
    json_set_int(a, groups, "waiting", (int64_t)q->in_phase[GROUP_PENDING]);
    pods = json_make_object(a, status, "pods");
    for (int i = 0; i <= POD_UNKNOWN; i++)
        json_set_int(a, pods, phase_members[i], q->pods[i]);
    return status;
}

static void plan_queues(struct decision *d)
{
    for (int i = 0; i < QUEUES_TOLD && d->tells && d->ledger->dirty_queues; i++) {
        const struct queue_entry *q = ledger_next_dirty_queue(d->ledger);
        const struct json *object = queue_object(d, q);

        if (object)
            plan_status(d, &kind_queue, object, queue_status(d, q, object));
        d->told_small = true;
    }
}

/* --- maximum durations ------------------------------------------------------------------------ */

static void plan_pause(struct decision *d, const struct group *g, const struct kind *k,
                       bool suspends, bool first)
{
    struct arena *a = d->arena;
    struct json *job = owner_of(d, g), *patch = json_new_object(a);
    struct json *spec = json_make_object(a, patch, "spec");

    if (suspends)
        json_set_bool(a, spec, "suspend", true);
    else
        json_set_bool(a, json_make_object(a, json_make_object(a, spec, "runMode"), "pause"),
                      "enabled", true);
    plan_patch(d->plan, k, job, patch);
    if (first)
        plan_event(d->plan, k, job, "Warning", MAX_DURATION_EXCEEDED,
                   "Paused: %s; spec.%s: false lets it go on", overdue_words(d, g),
                   suspends ? "suspend" : "runMode.pause.enabled");
}

/* Of the kinds whose pause is spec.suspend: apps and Kubernetes' Jobs. */
static const struct kind *owner_that_suspends(const struct group *g)
{
    for (size_t i = 0; app_kinds[i] && g->owner_kind; i++)
        if (strcmp(app_kinds[i]->job->kind->name, g->owner_kind) == 0)
            return app_kinds[i]->job->kind;
    return g->of_job && strcmp(g->owner_kind, kind_job.name) == 0 ? &kind_job : NULL;
}

/* It stays overdue, and is decided again, until the watch shows it stopping; one event is enough,
 * and one pause if its PodGroup says that nothing is wanted, which a user may have set. Pods that
 * no pause can stop, as they are not the job's or no longer, are deleted. */
static void end_group(struct decision *d, struct group *g)
{
    const struct kind *k = owner_kind(g), *other = owner_that_suspends(g);
    bool first = g->overdue_ms != group_since_ms(g), is_late;

    g->ended_ms = first ? d->now_ms : g->ended_ms;
    is_late = d->now_ms >= g->ended_ms + PAUSE_LIMIT_MS;
    g->overdue_ms = group_since_ms(g);
    if ((k || other) && (first || g->wanted != 0))
        plan_pause(d, g, k ? k : other, other, first);
    if (!is_late)
        plan_wake_at(d->plan, g->ended_ms + PAUSE_LIMIT_MS);
    for (const struct member *m = g->first; m; m = m->next) {
        bool is_left = !(k || other) || m->stray || is_late;
        const struct json *pod = m->bound && !m->deleting && is_left ? pod_of(d, m) : NULL;

        if (!pod)
            continue;
        plan_delete_as_seen(d->plan, &kind_pod, pod, -1); /* it may have ended meanwhile */
        if (first)
            plan_event(d->plan, &kind_pod, pod, "Warning", overdue_reason(g), "Deleted: %s",
                       overdue_words(d, g));
    }
}

static void look_at_overdue(struct decision *d)
{
    map_for_each (node, &d->ledger->queues) {
        const struct queue_entry *q = node->value;

        for (struct group *g = q->max_duration_ms || q->timed ? q->running : NULL; g;
             g = g->next_running) {
            if (is_overdue(d, g))
                decision_look_at(d, g);
            else if (stop_ms(g))
                plan_wake_at(d->plan, stop_ms(g));
        }
    }
}

/* --- places kept for pods that do not come ---------------------------------------------------- */

static void say_forgone(struct decision *d, const struct group *g, int64_t count, bool room,
                        bool spent)
{
    const struct json *object = d->ledger->find(d->ledger->arg, &kind_pod_group, g->ns, g->name);
    bool one = count == 1;
    const char *why = spent ? overdue_words(d, g)
                      : one ? "for a minute it was not there, and no job creates it"
                            : "for a minute they were not there, and no job creates them";

    if (!object || count == 0)
        return;
    d->plan->whom = g->key;
    plan_event(d->plan, &kind_pod_group, object, "Warning", room ? "RoomGivenUp" : "PlaceGivenUp",
               room ? "Room for %" PRId64 " of its pods is for others now: %s"
                    : "It is no longer in line for %" PRId64 " of its pods: %s",
               count, why);
    d->plan->whom = NULL;
}

/* The pods of a group without a job are not there for a minute, or would have no time left. */
static bool forgo_places(struct decision *d, struct group *g)
{
    bool spent = g->bound == 0 && is_overdue(d, g), room = false;
    int64_t count = 0, until_ms = d->now_ms;

    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_vacant(m) && m->vacant_ms && d->now_ms >= m->vacant_ms + VACANT_MS)
            until_ms = d->now_ms + TIMES_MS; /* those that went together are given up together */
    for (struct member *m = g->first; m; m = m->next) {
        bool vacant = member_is_vacant(m);

        if (vacant)
            m->vacant_ms = m->vacant_ms ? min_i64(m->vacant_ms, d->now_ms) : d->now_ms;
        if ((vacant && until_ms >= m->vacant_ms + VACANT_MS) || (spent && m->node)) {
            count++;
            room = room || m->node;
            ledger_forgo(d->ledger, m);
        } else if (vacant) {
            plan_wake_at(d->plan, m->vacant_ms + VACANT_MS);
        }
    }
    say_forgone(d, g, count, room, spent);
    return count > 0;
}

bool plan_forgone(struct decision *d)
{
    bool any = false;

    map_for_each (node, &d->ledger->vacant)
        any = forgo_places(d, node->value) || any;
    return any;
}

/* --- everything ------------------------------------------------------------------------------- */

/* The server counts a record until it is rewritten: writes that only free places come first, then
 * those that free some and take others. */
enum turn { TURN_GIVES, TURN_EXCHANGES, TURN_TAKES, TURN_COUNT };

static enum turn turn_of(const struct group *g)
{
    bool gives = false, takes = false;

    for (const struct member *m = g->first; m; m = m->next) {
        takes = takes || (m->placed && is_kept(m));
        gives = gives || (m->recorded && !is_kept(m));
    }
    if (!gives)
        return TURN_TAKES;
    return takes ? TURN_EXCHANGES : TURN_GIVES;
}

/* The only thing to do is to say why it waits. */
static bool only_waits(const struct group *g)
{
    if (!g->line_key || g->holding > 0 || g->taker || g->preempted)
        return false;
    for (const struct member *m = g->first; m; m = m->next)
        if (m->placed || m->evicted || m->recorded || m->bound)
            return false;
    return true;
}

/* A waiting group's reason is postponed when many were just written, or when it may not be
 * true. */
static bool is_put_off(struct decision *d, struct group *g)
{
    bool is_unsure = g->reason == WAIT_NO_QUEUE && d->now_ms - g->created_ms < UNSEEN_MS;

    g->told_later = (is_unsure || d->ledger->told_waiting >= WAITING_TOLD) && only_waits(g);
    if (g->told_later) {
        ledger_owe(d->ledger, g);
        d->told_small = d->told_small || d->tells; /* the next turn is a second from now */
    }
    return g->told_later;
}

/* Counts it if something was planned since. */
static void count_told(struct decision *d, const struct group *g, const struct plan_step *last)
{
    if (d->plan->last == last || !only_waits(g))
        return;
    d->ledger->told_waiting++;
    d->told_small = d->told_small || d->tells;
}

static void plan_groups(struct decision *d, enum turn turn)
{
    for (struct group *g = d->looked; g; g = g->next_looked) {
        const struct plan_step *last = d->plan->last;

        if (turn_of(g) != turn || is_put_off(d, g))
            continue;
        d->plan->whom = g->key;
        plan_group(d, g);
        count_told(d, g, last);
    }
}

static void plan_all_members(struct decision *d)
{
    for (struct group *g = d->looked; g; g = g->next_looked) {
        const struct plan_step *last = d->plan->last;

        if (g->told_later || (!g->exists && is_put_off(d, g)))
            continue;
        d->plan->whom = g->key;
        plan_members(d, g);
        if (!g->exists)
            count_told(d, g, last);
    }
}

void plan_decision(struct decision *d)
{
    look_at_overdue(d);
    for (struct group *g = d->looked; g; g = g->next_looked) {
        if (!g->line_key)
            g->reason = WAIT_NONE;
        ledger_set_phase(d->ledger, g, g->exists || g->lone ? phase_of(g) : GROUP_UNTOLD);
    }
    for (enum turn turn = 0; turn < TURN_COUNT; turn++)
        plan_groups(d, turn);
    plan_next_stage(d->plan);
    for (struct group *g = d->looked; g; g = g->next_looked) {
        d->plan->whom = g->key;
        for (const struct member *m = g->first; m; m = m->next) {
            if (is_to_bind(m))
                plan_binding(d, m);
            plan_eviction(d, m);
        }
        plan_job_event(d, g);
    }
    plan_next_stage(d->plan);
    plan_all_members(d);
    for (struct group *g = d->looked; g; g = g->next_looked) {
        d->plan->whom = g->key;
        if (is_overdue(d, g))
            end_group(d, g);
    }
    d->plan->whom = NULL;
    plan_queues(d);
}
