/*
 * app.c - one pass over an app: what to do next, given what exists. See app.h.
 *
 * The status is its memory: start time, port, how often its pod ended, and when to retry. A pod's
 * end is recorded by UID before the pod is deleted, so that a crash at any point counts nothing
 * twice. Deciding on stale caches does no harm here: at worst a pod is created that the next pass
 * removes.
 */
#include "core/app.h"

#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/pod_group.h"
#include "core/ports.h"
#include "core/schedule.h"

#define RETRY_FIRST_SECONDS 10
#define RETRY_MAX_SECONDS 300 /* also when not installed: it may be installed later */
#define RETRY_RESET_MS (10 * 60 * INT64_C(1000)) /* a pod that ran this long was healthy */
#define LOOK_AGAIN_MS (10 * INT64_C(1000))

static const char *const phase_names[] = {[APP_INITIALIZING] = "Initializing",
                                          [APP_RUNNING] = "Running",
                                          [APP_PAUSED] = "Paused",
                                          [APP_FAILED] = "Failed"};

/* --- what exists ------------------------------------------------------------------------------ */

static const struct json *take_service(struct app_look *l, const char *name)
{
    for (size_t i = 0; name && i < l->snapshot->services_len; i++) {
        const struct json *service = l->snapshot->services[i];

        if (strcmp(object_name(service), name) != 0)
            continue;
        if (object_is_controlled_by(service, object_uid(l->app)))
            return service;
        l->taken_by = "service", l->taken_name = name;
    }
    return NULL;
}

static void take_pod(struct app_look *l)
{
    const char *name = app_child_name(l->arena, l->kind, l->app);

    for (size_t i = 0; name && i < l->snapshot->pods_len; i++) {
        const struct json *pod = l->snapshot->pods[i];

        if (strcmp(object_name(pod), name) != 0)
            continue;
        if (object_is_controlled_by(pod, object_uid(l->app)))
            l->pod = pod;
        else
            l->taken_by = "pod", l->taken_name = name;
    }
    l->service = take_service(l, app_service_name(l->arena, l->kind, l->app));
    if (l->ssh || l->ssh_port.port)
        l->ssh_service = take_service(l, app_ssh_service_name(l->arena, l->app));
    if (l->pod)
        l->state = pod_state_of(l->pod, l->kind->container);
}

static bool is_suspended(const struct json *spec)
{
    return json_get_bool(spec, "suspend", false) ||
           json_string_is(json_get(spec, "runMode"), "paused");
}

static struct port_claim claim_port(const struct app_look *l, int64_t wanted)
{
    return port_claim_for(l->arena, l->snapshot->leases, l->snapshot->leases_len,
                          object_uid(l->app), wanted);
}

static void read_status(struct app_look *l)
{
    int64_t ssh_port = json_int(json_at(l->status, "ssh", "port"), 0);

    l->start_ms = object_time(l->status, "startTime");
    l->failures = json_get_int(l->status, "failures", 0);
    l->retry_ms = object_time(l->status, "retryTime");
    l->failed_pod = json_get_string(l->status, "failedPod", "");
    l->port = (struct port_claim){.port = l->kind->port_on_cluster, .held = true};
    if (!l->snapshot->shared_network)
        return;
    l->port = claim_port(l, json_get_int(l->status, "port", 0));
    l->ssh = port_wants_ssh(l->app);
    /* One after the other: the second is chosen among ports without a lease. */
    if (ssh_port || (l->ssh && l->port.held))
        l->ssh_port = claim_port(l, ssh_port);
}

static void look_init(struct app_look *l, const struct app_kind *k, const struct job_snapshot *s,
                      struct arena *a)
{
    *l = (struct app_look){.kind = k,
                           .arena = a,
                           .snapshot = s,
                           .app = s->job,
                           .status = json_get(s->job, "status"),
                           .now_ms = s->now_ms,
                           .reason = "",
                           .message = ""};
    l->suspended = is_suspended(json_get(s->job, "spec"));
    l->idle_ms = s->idle.idle_ms ? s->idle.idle_ms : APP_IDLE_MS;
    l->reclaim_ms = s->idle.reclaim_ms ? s->idle.reclaim_ms : APP_RECLAIM_MS;
    read_status(l);
    take_pod(l);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* A time in the future means the clock was set back; it must not count as use forever. */
static int64_t last_used_ms(const struct app_look *l)
{
    const struct json *annotations = json_at(l->app, "metadata", "annotations");
    int64_t said_ms = object_time(annotations, ANNOTATION_LAST_USED);

    return max_i64(l->start_ms, min_i64(said_ms, l->now_ms));
}

static bool is_unseen(const struct app_look *l)
{
    return l->snapshot->apps_unseen &&
           !json_at(l->app, "metadata", "annotations", ANNOTATION_LAST_USED);
}

/* A busy app whose page is closed must have had its chance to be noticed. A reclaimed one stays
 * reclaimed. */
static int64_t watch_left_ms(const struct app_look *l)
{
    int64_t watched_ms = l->now_ms - l->snapshot->watched_since_ms;
    int64_t long_enough_ms = min_i64(APP_WATCH_MS, l->reclaim_ms);

    return !l->pod || watched_ms < 0 ? 0 : long_enough_ms - watched_ms;
}

int64_t app_touch_ms(const struct idle_times *t)
{
    int64_t idle_ms = t->idle_ms > 0 ? t->idle_ms : APP_IDLE_MS;
    int64_t reclaim_ms = t->reclaim_ms > 0 ? t->reclaim_ms : APP_RECLAIM_MS;

    return max_i64(min_i64(min_i64(idle_ms, reclaim_ms) / 4, APP_WATCH_MS / 2), 100);
}

static void judge_use(struct app_look *l, struct plan *plan)
{
    int64_t unused_ms, left_ms;

    if (l->suspended) {
        l->start_ms = l->failures = l->retry_ms = 0;
        return;
    }
    if (l->start_ms == 0 || l->start_ms > l->now_ms + 1000)
        l->start_ms = l->now_ms;
    if (is_unseen(l))
        return;
    unused_ms = l->now_ms - last_used_ms(l);
    l->idle = l->idle_ms >= 0 && unused_ms >= l->idle_ms;
    if (!l->idle && l->idle_ms >= 0)
        plan_wake_at(plan, l->now_ms + l->idle_ms - unused_ms);
    if (l->reclaim_ms < 0)
        return;
    left_ms = max_i64(l->reclaim_ms - unused_ms, watch_left_ms(l));
    l->reclaimed = left_ms <= 0;
    if (!l->reclaimed)
        plan_wake_at(plan, l->now_ms + left_ms);
}

static bool is_port_taken(const struct app_look *l)
{
    return l->snapshot->shared_network && (l->state.exit_code == APP_EXIT_PORT_TAKEN ||
                                           l->state.exit_code == APP_EXIT_SSH_PORT_TAKEN);
}

static int64_t retry_delay_ms(const struct app_look *l)
{
    int64_t seconds = RETRY_FIRST_SECONDS;

    if (l->state.exit_code == APP_EXIT_NOT_YET && l->snapshot->shared_network)
        return seconds * 1000; /* the next pass checks again for a while */
    if (l->state.exit_code == APP_EXIT_NOT_FOUND)
        return RETRY_MAX_SECONDS * 1000;
    if (is_port_taken(l))
        seconds = 1;
    for (int64_t i = 1; i < l->failures && seconds < RETRY_MAX_SECONDS; i++)
        seconds *= 2;
    return min_i64(seconds, RETRY_MAX_SECONDS) * 1000;
}

static bool has_ended(const struct app_look *l)
{
    return l->pod && !l->state.deleting && pod_is_finished(l->pod);
}

/* It is not meant to end at all, so how it ended does not matter. */
static void judge_end(struct app_look *l)
{
    if (l->suspended || !has_ended(l) || strcmp(l->failed_pod, object_uid(l->pod)) == 0)
        return;
    if (l->state.ran_ms >= RETRY_RESET_MS)
        l->failures = 0;
    l->failures++;
    l->failed_pod = object_uid(l->pod);
    l->retry_ms = l->now_ms + retry_delay_ms(l);
    if (is_port_taken(l)) /* the old one stays leased: nothing of ours can use it */
        *(l->state.exit_code == APP_EXIT_PORT_TAKEN ? &l->port : &l->ssh_port) = claim_port(l, 0);
}

/* Never longer than the maximum delay: the clock may have been set back. */
static bool waits_to_retry(const struct app_look *l)
{
    return l->failures > 0 && l->retry_ms > l->now_ms &&
           l->retry_ms <= l->now_ms + RETRY_MAX_SECONDS * 1000;
}

static bool is_wanted(const struct app_look *l)
{
    return !l->suspended && !l->reclaimed;
}

/* --- messages --------------------------------------------------------------------------------- */

static void explain_end(struct app_look *l)
{
    if (l->kind->explain_end && l->kind->explain_end(l))
        return;
    if (is_port_taken(l)) {
        l->reason = "PortTaken";
        l->message = "Another program had taken its port; retrying with another one.";
        return;
    }
    l->reason = "PodEnded";
    l->message = l->state.phase == POD_SUCCEEDED
                     ? arena_printf(l->arena, "%s exited; it is being restarted.", l->kind->program)
                     : arena_printf(l->arena, "%s; retrying.",
                                    pod_failure_text(l->arena, object_name(l->pod), &l->state));
}

static void explain_waiting(struct app_look *l)
{
    l->reason = "Starting";
    l->message = "The pod is being created.";
    if (l->kind->explain_wait && l->kind->explain_wait(l)) {
        /* already explained */
    } else if (!l->pod && l->snapshot->refused) {
        l->reason = JOB_REFUSED;
        l->message = arena_printf(l->arena, "Its %s is refused: %s", l->snapshot->refused->name,
                                  job_refusal_words(l->snapshot));
    } else if (l->pod && l->state.phase == POD_RUNNING) {
        l->message = arena_printf(l->arena, "%s is starting and does not answer yet.",
                                  l->kind->program);
    } else if (l->pod && !l->state.deleting) {
        pod_waiting_for(l->pod, &l->reason, &l->message);
    }
    if (!*l->reason)
        l->reason = "Starting";
    if (l->snapshot->shared_network && l->port.port == 0) {
        l->reason = "NoPort";
        l->message = "Every port for pods is taken.";
    }
}

static bool pod_is_ready(const struct app_look *l)
{
    return l->pod && l->state.phase == POD_RUNNING && !l->state.deleting &&
           object_condition_is(l->pod, "Ready");
}

/* Its PodGroup is deleted when the pod has stopped: the message stays. */
static void explain_suspension(struct app_look *l)
{
    const struct json *overdue = object_condition(l->snapshot->group, MAX_DURATION_EXCEEDED);

    l->reason = "Suspended";
    l->message = "It is suspended; setting spec.suspend to false starts it again.";
    if (overdue) {
        l->reason = MAX_DURATION_EXCEEDED;
        l->message = arena_printf(
            l->arena, "It is suspended: %s; setting spec.suspend to false starts it again.",
            json_get_string(overdue, "message", ""));
    } else if (json_string_is(json_get(l->status, "reason"), MAX_DURATION_EXCEEDED)) {
        l->reason = MAX_DURATION_EXCEEDED;
        l->message = json_get_string(l->status, "message", "");
    }
}

static void judge_phase(struct app_look *l)
{
    char span[TIME_TEXT_SIZE];

    if (l->suspended) {
        l->phase = APP_PAUSED;
        explain_suspension(l);
    } else if (l->reclaimed) {
        l->phase = APP_PAUSED;
        l->reason = "Idle";
        l->message = arena_printf(
            l->arena,
            "It has not been used for %s: its pod was removed. Opening it starts it again.",
            time_age(l->reclaim_ms, span));
    } else if (l->taken_by) {
        l->phase = APP_FAILED;
        l->reason = "NameTaken";
        l->message = arena_printf(l->arena, "%s %s already exists and belongs to another object.",
                                  l->taken_by, l->taken_name);
    } else if (has_ended(l)) {
        l->phase = APP_FAILED;
        explain_end(l);
    } else if (!l->pod && waits_to_retry(l)) { /* its pod was removed: keep the message */
        l->phase = APP_FAILED;
        l->reason = json_get_string(l->status, "reason", "PodEnded");
        l->message = json_get_string(l->status, "message", "");
    } else if (pod_is_ready(l)) {
        l->phase = APP_RUNNING;
    } else {
        l->phase = APP_INITIALIZING;
        explain_waiting(l);
    }
}

/* --- status ----------------------------------------------------------------------------------- */

static const char *truth(bool is)
{
    return is ? "True" : "False";
}

void app_set_condition(const struct app_look *l, struct json *list, const char *type,
                       const char *word, const char *reason, const char *message)
{
    const struct json *old = object_condition(l->app, type);
    struct json *c = json_append(list, json_new_object(l->arena));
    char now[TIME_TEXT_SIZE];
    bool same = json_string_is(json_get(old, "status"), word);
    const char *since = same ? json_get_string(old, "lastTransitionTime", "") : "";

    json_set_string(l->arena, c, "type", type);
    json_set_string(l->arena, c, "status", word);
    json_set_string(l->arena, c, "reason", *reason ? reason : "-");
    json_set_string(l->arena, c, "message", message);
    json_set_string(l->arena, c, "lastTransitionTime",
                    *since ? since : time_format(l->now_ms, now));
}

static const char *answers(const struct app_look *l)
{
    return arena_printf(l->arena, "%s answers.", l->kind->program);
}

static void set_idle(struct app_look *l, struct json *list)
{
    char span[TIME_TEXT_SIZE];

    if (is_unseen(l)) {
        app_set_condition(l, list, "Idle", "Unknown", "NotWatched",
                          "Its use is not observed here.");
        return;
    }
    (void)time_age(l->idle_ms, span);
    app_set_condition(l, list, "Idle", truth(l->idle), l->idle ? "NotUsed" : "",
                      l->idle        ? arena_printf(l->arena, "It has not been used for %s.", span)
                      : l->suspended ? "It is suspended."
                      : l->idle_ms < 0
                          ? "It is never idle here."
                          : arena_printf(l->arena, "It was used within the last %s.", span));
}

static void set_conditions(struct app_look *l, struct json *status)
{
    struct json *list = json_set(l->arena, status, "conditions", json_new_array(l->arena));
    bool ready = l->phase == APP_RUNNING;

    app_set_condition(l, list, "Ready", truth(ready), ready ? "" : l->reason,
                      ready ? answers(l) : l->message);
    set_idle(l, list);
    app_set_condition(l, list, "Suspended", truth(l->suspended), "",
                      l->suspended ? "spec.suspend is true." : "spec.suspend is not true.");
}

static void set_text(struct arena *a, struct json *status, const char *key, const char *text)
{
    if (text && *text)
        json_set_string(a, status, key, text);
    else
        json_remove(status, key);
}

static void set_time(struct arena *a, struct json *status, const char *key, int64_t ms)
{
    char text[TIME_TEXT_SIZE];

    set_text(a, status, key, ms ? time_format(ms, text) : "");
}

static void set_pod(struct app_look *l, struct json *status)
{
    struct json *pod, *reference;

    json_remove(status, "pod");
    if (!l->pod)
        return;
    pod = json_make_object(l->arena, status, "pod");
    reference = json_make_object(l->arena, pod, "reference");
    json_set_string(l->arena, reference, "name", object_name(l->pod));
    json_set_string(l->arena, reference, "uid", object_uid(l->pod));
    json_set_string(l->arena, pod, "phase",
                    json_string(json_at(l->pod, "status", "phase"), "Pending"));
}

static struct json *status_new(struct app_look *l, struct plan *plan)
{
    struct arena *a = l->arena;
    struct json *status = json_is(l->status, JSON_OBJECT) ? json_clone(a, l->status)
                                                          : json_new_object(a);

    json_set_string(a, status, "phase", phase_names[l->phase]);
    set_text(a, status, "reason", l->reason);
    set_text(a, status, "message", l->message);
    set_text(a, status, "url", app_url(a, l->kind, l->app));
    set_pod(l, status);
    set_conditions(l, status);
    if (l->snapshot->shared_network && l->port.port)
        json_set_int(a, status, "port", l->port.port);
    set_time(a, status, "startTime", l->start_ms);
    set_time(a, status, "retryTime", l->retry_ms);
    set_text(a, status, "failedPod", l->failed_pod);
    if (l->failures)
        json_set_int(a, status, "failures", l->failures);
    else
        json_remove(status, "failures");
    json_set(a, status, "observedGeneration",
             json_clone(a, json_at(l->app, "metadata", "generation")));
    if (l->kind->add_status)
        l->kind->add_status(l, status, plan);
    return status;
}

static void plan_events(const struct app_look *l, struct plan *plan)
{
    static const char *const words[] = {[APP_INITIALIZING] = "Starting",
                                        [APP_RUNNING] = "Running",
                                        [APP_PAUSED] = "Paused",
                                        [APP_FAILED] = "Failed"};
    bool refused = strcmp(l->reason, JOB_REFUSED) == 0, bad = refused || l->phase == APP_FAILED;

    if (json_string_is(json_get(l->status, "phase"), phase_names[l->phase]) &&
        (!refused || json_string_is(json_get(l->status, "message"), l->message)))
        return;
    plan_event(plan, l->kind->job->kind, l->app, bad ? "Warning" : "Normal",
               refused ? JOB_REFUSED : words[l->phase], "%s",
               *l->message ? l->message : answers(l));
}

static void plan_status(struct app_look *l, struct plan *plan)
{
    struct arena *a = l->arena;
    struct json *status = status_new(l, plan), *board;

    if (json_equal(status, l->status))
        return;
    board = json_clone(a, l->app);
    json_set_string(a, board, "apiVersion", kind_api_version(a, l->kind->job->kind));
    json_set_string(a, board, "kind", l->kind->job->kind->name);
    json_set(a, board, "status", status);
    plan_update_status(plan, l->kind->job->kind, board);
    plan_next_stage(plan);
    plan_events(l, plan);
}

/* --- acting ----------------------------------------------------------------------------------- */

/* Whether the existing pod must be removed now. */
static bool must_go(const struct app_look *l, const struct json *wanted)
{
    bool counted = json_string_is(json_get(l->status, "failedPod"), object_uid(l->pod));

    if (!is_wanted(l))
        return true;
    if (has_ended(l))
        return counted && !waits_to_retry(l);
    return l->port.held && (!l->ssh || l->ssh_port.held) && !l->kind->pod_fits(l->pod, wanted);
}

static struct group_wish group_wish(const struct app_look *l)
{
    const struct json *ours = json_at(l->app, "spec", "scheduler", "t9kScheduler");

    return (struct group_wish){.arena = l->arena,
                               .kind = l->kind->job->kind,
                               .job = l->app,
                               .group = l->snapshot->group,
                               .priority = json_get_int(ours, "priority", 0),
                               .least = 1,
                               .members = 1};
}

static void lease(const struct app_look *l, const struct port_claim *claim, struct plan *plan)
{
    if (claim->port)
        plan_create(plan, &kind_lease,
                    port_lease_new(l->arena, l->snapshot->lease_ns, claim->port,
                                   object_namespace(l->app), object_name(l->app),
                                   object_uid(l->app)));
    plan_wake_at(plan, l->now_ms + LOOK_AGAIN_MS);
}

/* Recreates the Service when the port has changed. */
static void make_service(const struct app_look *l, const struct json *found, const char *name,
                         const char *port_name, int64_t port, struct plan *plan)
{
    const struct json *open = json_first(json_at(found, "spec", "ports"));

    if (!found)
        plan_create(plan, &kind_service, app_service_new(l, name, port_name, port));
    else if (l->snapshot->shared_network && json_get_int(open, "port", port) != port &&
             !object_is_deleting(found))
        plan_delete(plan, &kind_service, found, -1);
}

/* Deletes the objects of an ssh server that was switched off. */
static void end_ssh(const struct app_look *l, struct plan *plan)
{
    if (l->ssh)
        return;
    if (l->ssh_service && !object_is_deleting(l->ssh_service))
        plan_delete(plan, &kind_service, l->ssh_service, -1);
    if (l->ssh_port.held && !object_is_deleting(l->ssh_port.lease))
        plan_delete(plan, &kind_lease, l->ssh_port.lease, -1);
}

static void make(struct app_look *l, const struct json *pod, struct plan *plan)
{
    const struct group_wish wish = group_wish(l);
    struct arena *a = l->arena;

    if (l->snapshot->refused && l->snapshot->refused_until_ms > l->now_ms) {
        plan_wake_at(plan, l->snapshot->refused_until_ms);
        return;
    }
    if (!l->port.held || (l->ssh && !l->ssh_port.held)) {
        lease(l, l->port.held ? &l->ssh_port : &l->port, plan);
        return;
    }
    make_service(l, l->service, app_service_name(a, l->kind, l->app), "http", l->port.port, plan);
    if (l->ssh)
        make_service(l, l->ssh_service, app_ssh_service_name(a, l->app), "ssh", l->ssh_port.port,
                     plan);
    if (l->pod)
        return;
    if (l->kind->plan_before) {
        l->kind->plan_before(l, plan);
        plan_next_stage(plan);
    }
    if (app_is_grouped(l->app))
        group_make(&wish, plan);
    plan_create(plan, &kind_pod, pod);
}

static void act(struct app_look *l, struct plan *plan)
{
    const struct group_wish wish = group_wish(l);
    struct json *wanted = l->kind->pod_new(l);

    if (app_is_grouped(l->app))
        app_set_group(l->arena, l->app, wanted);
    end_ssh(l, plan);
    if (l->pod && !l->state.deleting && must_go(l, wanted))
        plan_delete(plan, &kind_pod, l->pod, -1);
    if (!is_wanted(l)) {
        if (!l->pod)
            group_end(&wish, plan);
        return;
    }
    if (waits_to_retry(l))
        plan_wake_at(plan, l->retry_ms);
    if (l->taken_by)
        plan_wake_at(plan, l->now_ms + LOOK_AGAIN_MS);
    else if (!waits_to_retry(l))
        make(l, wanted, plan);
}

void app_reconcile(const struct app_kind *k, const struct job_snapshot *s, struct plan *plan)
{
    struct app_look l;

    look_init(&l, k, s, plan->arena);
    judge_use(&l, plan);
    judge_end(&l);
    if (!has_ended(&l) && !waits_to_retry(&l))
        l.retry_ms = 0;
    judge_phase(&l);
    if (arena_failed(plan->arena))
        return;
    plan_status(&l, plan);
    act(&l, plan);
}
