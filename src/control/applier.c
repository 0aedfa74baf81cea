/*
 * applier.c - see applier.h. A table says for each kind of step how it is sent and what its answer
 * means; the rest is bookkeeping.
 *
 * A plan is copied because it points into cached objects, which are gone on the next turn.
 */
#include "control/applier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/base64.h"
#include "base/log.h"
#include "client/client.h"
#include "core/mpi.h"
#include "net/certificate.h"

#define KEY_LIMIT_BYTES CERTIFICATE_PEM_LIMIT_BYTES

#define PLAN_LIMIT_BYTES (256u * 1024u * 1024u)

enum verdict {
    VERDICT_DONE,
    VERDICT_LOOK, /* the name is taken: check by whom */
    VERDICT_AGAIN,
    VERDICT_FAILED,
};

struct run {
    struct run *next;
    struct applier *applier;
    struct arena arena;
    struct task *tasks;     /* all */
    struct task *next_task; /* to be sent next */
    unsigned stage;
    unsigned in_flight;
    struct err err;
    struct apply_result result;
    apply_done_fn *done;
    void *arg;
};

struct task {
    struct run *run;
    struct task *next;
    bool in_flight;
    bool tracked; /* PLAN_EVICT: only the deletion is left */
    struct plan_step step;
};

struct applier {
    struct transport *transport;
    struct clock *clock;
    struct event_recorder *events;
    struct run *first, **end;
    unsigned in_flight, making; /* making: those that create */
    struct clock_timer *pump_timer;
    bool pumping;
};

struct op {
    const char *verb; /* for messages */
    void (*send)(struct task *t, client_fn *fn);
    enum verdict (*judge)(const struct err *err);
};

/* --- copying a plan --- */

static const char *copy_text(struct arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

static void copy_step(struct arena *a, struct task *t, const struct plan_step *step)
{
    t->step = *step;
    t->step.next = NULL;
    t->step.ns = copy_text(a, step->ns);
    t->step.name = copy_text(a, step->name);
    t->step.whom = copy_text(a, step->whom);
    t->step.uid = copy_text(a, step->uid);
    t->step.version = copy_text(a, step->version);
    t->step.subresource = copy_text(a, step->subresource);
    t->step.object = json_clone(a, step->object);
}

static struct run *run_new(const struct plan *plan)
{
    struct run *r = calloc(1, sizeof(*r));
    struct task **end;

    if (!r)
        return NULL;
    arena_init(&r->arena, PLAN_LIMIT_BYTES);
    r->err = (struct err)ERR_INIT;
    end = &r->tasks;
    for (const struct plan_step *s = plan->first; s; s = s->next) {
        struct task *t = arena_alloc(&r->arena, sizeof(*t));

        if (!t)
            break;
        t->run = r;
        copy_step(&r->arena, t, s);
        *end = t;
        end = &t->next;
    }
    r->next_task = r->tasks;
    if (!arena_failed(&r->arena))
        return r;
    arena_release(&r->arena);
    free(r);
    return NULL;
}

static void run_free(struct run *r)
{
    err_release(&r->err);
    arena_release(&r->arena);
    free(r);
}

/* --- interpreting answers --- */

static enum verdict judge_create(const struct err *err)
{
    if (!err)
        return VERDICT_DONE;
    if (err->reason == ERR_NOT_FOUND) /* the object it would belong to */
        return VERDICT_AGAIN;
    return err->reason == ERR_ALREADY_EXISTS ? VERDICT_LOOK : VERDICT_FAILED;
}

static enum verdict judge_delete(const struct err *err)
{
    if (!err || err->reason == ERR_NOT_FOUND || err->reason == ERR_CONFLICT)
        return VERDICT_DONE;
    return VERDICT_FAILED;
}

static enum verdict judge_write(const struct err *err)
{
    if (!err)
        return VERDICT_DONE;
    return err->reason == ERR_NOT_FOUND || err->reason == ERR_CONFLICT ? VERDICT_AGAIN
                                                                       : VERDICT_FAILED;
}

/* An object of that name exists: is it the one the plan wanted? It must have the same controller
 * or, without one, all the labels it would have been given. */
static bool is_ours(const struct json *wanted, const struct json *found)
{
    const char *owner = json_get_string(object_controller(wanted), "uid", NULL);
    const struct json *labels = object_labels(wanted);

    if (object_is_deleting(found))
        return false;
    if (owner)
        return object_is_controlled_by(found, owner);
    json_each (label, labels)
        if (!json_equal(label, json_get(object_labels(found), label->key)))
            return false;
    return json_len(labels) > 0;
}

/* --- sending --- */

/* A new pair in each: decisions are pure and cannot make one. */
static const struct json *with_key(struct arena *a, const struct json *secret)
{
    struct json *copy = json_clone(a, secret), *data = json_make_object(a, copy, "data");
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES), public_key = BUF_INIT(KEY_LIMIT_BYTES);
    const struct {
        const char *name;
        const struct buf *text;
    } parts[] = {{MPI_KEY_PRIVATE, &key}, {MPI_KEY_PUBLIC, &public_key}};
    auto_err err = ERR_INIT;

    if (ssh_key_make(&key, &public_key, &err) < 0)
        log_warn("a key for ssh cannot be made: %s", err.text); /* the API says what is missing */
    for (size_t i = 0; i < ELEMS(parts); i++) {
        size_t len;
        char *text = base64_encode(a, parts[i].text->data, parts[i].text->len, &len);

        json_set(a, data, parts[i].name, text ? json_new_string_len(a, text, len) : NULL);
    }
    if (key.data)
        explicit_bzero(key.data, key.len);
    buf_release(&key);
    buf_release(&public_key);
    return copy;
}

static void send_create(struct task *t, client_fn *fn)
{
    struct arena a = ARENA_INIT(4 * KEY_LIMIT_BYTES);
    bool needs_key = t->step.kind == &kind_secret &&
                     json_string_is(json_get(t->step.object, "type"), MPI_SECRET_TYPE);

    client_create(t->run->applier->transport, t->step.kind,
                  needs_key ? with_key(&a, t->step.object) : t->step.object, fn, t);
    arena_release(&a);
}

static void send_delete(struct task *t, client_fn *fn)
{
    client_delete_version(t->run->applier->transport, t->step.kind, t->step.ns, t->step.name,
                          t->step.uid, t->step.version, t->step.grace_seconds, "Background", fn, t);
}

static void send_status(struct task *t, client_fn *fn)
{
    client_update_status(t->run->applier->transport, t->step.kind, t->step.object, fn, t);
}

static void send_check(struct task *t, client_fn *fn)
{
    client_get_metadata(t->run->applier->transport, t->step.kind, t->step.ns, t->step.name, fn, t);
}

static void send_patch(struct task *t, client_fn *fn)
{
    struct arena *a = &t->run->arena;
    struct json *patch = json_clone(a, t->step.object);

    if (t->step.uid && *t->step.uid)
        json_set_string(a, json_make_object(a, patch, "metadata"), "uid", t->step.uid);
    client_patch(t->run->applier->transport, t->step.kind, t->step.ns, t->step.name,
                 t->step.subresource ? t->step.subresource : "", patch, fn, t);
}

static void send_eviction(struct task *t, client_fn *fn)
{
    (t->tracked ? send_delete : send_patch)(t, fn);
}

static void send_binding(struct task *t, client_fn *fn)
{
    struct arena *a = &t->run->arena;
    struct json *binding = json_clone(a, t->step.object);
    struct json *meta = json_make_object(a, binding, "metadata");

    json_set_string(a, binding, "apiVersion", "v1");
    json_set_string(a, binding, "kind", "Binding");
    json_set_string(a, meta, "name", t->step.name);
    json_set_string(a, meta, "namespace", t->step.ns);
    json_set_string(a, meta, "uid", t->step.uid);
    client_create_sub(t->run->applier->transport, &kind_pod, t->step.ns, t->step.name, "binding",
                      binding, fn, t);
}

static const struct op ops[] = {
    [PLAN_CREATE] = {"create", send_create, judge_create},
    [PLAN_DELETE] = {"delete", send_delete, judge_delete},
    [PLAN_UPDATE_STATUS] = {"update status of", send_status, judge_write},
    [PLAN_CHECK] = {"look at", send_check, judge_write},
    [PLAN_EVICT] = {"evict", send_eviction, judge_delete},
    [PLAN_PATCH] = {"patch", send_patch, judge_write},
    [PLAN_BIND] = {"bind", send_binding, judge_write},
    [PLAN_EVENT] = {NULL, NULL, NULL}, /* passed to the recorder, without an answer */
};

/* --- bookkeeping --- */

static void pump_later(struct applier *a);

static void note_written(struct run *r, const struct kind *k, const struct json *object)
{
    int64_t revision = strtoll(object_resource_version(object), NULL, 10);
    size_t i = 0;

    while (i < r->result.written_len && r->result.written[i].kind != k)
        i++;
    if (revision <= 0 || i == APPLY_KINDS_LIMIT)
        return;
    if (i == r->result.written_len) {
        r->result.written_len++;
        r->result.written[i].kind = k;
    }
    r->result.written[i].revision = max_i64(r->result.written[i].revision, revision);
}

/* Retrying is pointless until the reason for the refusal changes. For an object without an owner,
 * something missing means its namespace. */
static bool is_refusal(const struct task *t, const struct err *err)
{
    if (err->reason == ERR_NOT_FOUND)
        return !object_controller(t->step.object);
    if (err->reason == ERR_INTERNAL) /* of a webhook that is down, or of a corrupt object */
        return strstr(err->text, "failed calling webhook") ||
               strstr(err->text, "is damaged in the database");
    if (err->reason == ERR_ALREADY_EXISTS)
        return t->step.own;
    return err->reason == ERR_FORBIDDEN || err->reason == ERR_INVALID ||
           err->reason == ERR_BAD_REQUEST || err->reason == ERR_TOO_LARGE;
}

static void note_refusal(struct task *t, const struct err *err)
{
    struct apply_result *result = &t->run->result;

    if (result->refused || t->step.op != PLAN_CREATE || !is_refusal(t, err))
        return;
    result->refusal = arena_strdup(&t->run->arena, err->text);
    result->refused = result->refusal ? t->step.kind : NULL;
}

static bool is_unclear(const struct err *err)
{
    return err->reason == ERR_INTERNAL || err->reason == ERR_UNAVAILABLE ||
           err->reason == ERR_TIMEOUT || err->reason == ERR_TOO_MANY_REQUESTS;
}

static void stop_run(struct task *t, enum apply_outcome outcome, const struct err *err)
{
    struct run *r = t->run;

    r->next_task = NULL;
    if (r->result.outcome < outcome)
        r->result.outcome = outcome;
    note_refusal(t, err);
    r->result.unclear = r->result.unclear || (outcome == APPLY_FAILED && is_unclear(err));
    if (r->result.failed_len < APPLY_IN_FLIGHT_LIMIT)
        r->result.failed[r->result.failed_len++] = t->step.whom;
    if (err_is_set(&r->err))
        return;
    err_set(&r->err, err->reason, "%s", err->text);
    err_context(&r->err, "%s %s %s/%s", ops[t->step.op].verb, t->step.kind->name, t->step.ns,
                t->step.name);
}

static void task_over(struct task *t)
{
    t->in_flight = false;
    t->run->in_flight--;
    t->run->applier->in_flight--;
    t->run->applier->making -= t->step.op == PLAN_CREATE;
    pump_later(t->run->applier);
}

static void on_holder(void *arg, const struct json *found, const struct err *err)
{
    struct task *t = arg;
    auto_err taken = ERR_INIT;

    if (!err && is_ours(t->step.object, found)) {
        note_written(t->run, t->step.kind, found);
    } else {
        err_set(&taken, ERR_ALREADY_EXISTS, "%s %s already exists and belongs to another object.",
                t->step.kind->name, t->step.name);
        stop_run(t, APPLY_AGAIN, err ? err : &taken);
    }
    task_over(t);
}

static void on_done(struct task *t, const struct json *object)
{
    auto_err changed = ERR_INIT;

    note_written(t->run, t->step.kind, object);
    if (t->step.op != PLAN_CHECK || strcmp(object_resource_version(object), t->step.version) == 0)
        return;
    err_set(&changed, ERR_CONFLICT, "it has changed meanwhile");
    stop_run(t, APPLY_AGAIN, &changed);
}

static void on_answer(void *arg, const struct json *object, const struct err *err)
{
    struct task *t = arg;

    if (t->step.op == PLAN_EVICT && !err && !t->tracked) {
        t->tracked = true;
        t->step.version = arena_strdup(&t->run->arena, object_resource_version(object));
        send_eviction(t, on_answer);
        return;
    }
    switch (ops[t->step.op].judge(err)) {
    case VERDICT_DONE:
        if (!err)
            on_done(t, object);
        break;
    case VERDICT_LOOK:
        if (t->step.kind == &kind_secret) /* named after the job's UID, and not ours to read */
            break;
        client_get(t->run->applier->transport, t->step.kind, t->step.ns, t->step.name, on_holder,
                   t);
        return;
    case VERDICT_AGAIN:
        stop_run(t, APPLY_AGAIN, err);
        break;
    case VERDICT_FAILED:
        stop_run(t, APPLY_FAILED, err);
        break;
    }
    task_over(t);
}

static void start_task(struct run *r)
{
    struct task *t = r->next_task;

    r->next_task = t->next;
    if (t->step.op == PLAN_EVENT) {
        event_record(r->applier->events, t->step.object);
        return;
    }
    t->in_flight = true;
    r->in_flight++;
    r->applier->in_flight++;
    r->applier->making += t->step.op == PLAN_CREATE;
    ops[t->step.op].send(t, on_answer);
}

/* The next stage starts when nothing of this one is under way. */
static bool may_start(struct run *r)
{
    if (!r->next_task || r->applier->in_flight >= APPLY_IN_FLIGHT_LIMIT)
        return false;
    if (r->next_task->step.stage != r->stage && r->in_flight)
        return false;
    r->stage = r->next_task->step.stage;
    return true;
}

static void finish_run(struct run **at)
{
    struct run *r = *at;
    struct applier *a = r->applier;

    *at = r->next;
    if (!*at)
        a->end = at;
    r->result.err = r->result.outcome == APPLY_DONE ? NULL : &r->err;
    r->done(r->arg, &r->result);
    run_free(r);
}

static void pump(void *arg)
{
    struct applier *a = arg;
    struct run **at = &a->first;

    a->pump_timer = NULL;
    a->pumping = true;
    while (*at) {
        while (may_start(*at))
            start_task(*at);
        if (!(*at)->next_task && !(*at)->in_flight)
            finish_run(at);
        else
            at = &(*at)->next;
    }
    a->pumping = false;
    event_recorder_hold(a->events, a->first);
}

static void pump_later(struct applier *a)
{
    if (a->pump_timer)
        return;
    a->pump_timer = clock_start(a->clock, 0, pump, a);
    if (!a->pump_timer && !a->pumping)
        pump(a); /* no memory for a timer: rather now than never */
}

/* --- life --- */

struct applier *applier_new(struct transport *t, struct clock *clock, struct event_recorder *events)
{
    struct applier *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->transport = t;
    a->clock = clock;
    a->events = events;
    a->end = &a->first;
    return a;
}

bool applier_is_making(const struct applier *a)
{
    return a->making > 0;
}

static void run_drop(struct run *r)
{
    for (struct task *t = r->tasks; t; t = t->next)
        if (t->in_flight)
            client_forget(t);
    run_free(r);
}

void applier_free(struct applier *a)
{
    if (!a)
        return;
    while (a->first) {
        struct run *r = a->first;

        a->first = r->next;
        run_drop(r);
    }
    clock_stop(a->clock, a->pump_timer);
    free(a);
}

int apply_plan(struct applier *a, const struct plan *plan, apply_done_fn *done, void *arg)
{
    struct run *r = run_new(plan);

    if (!r)
        return -ENOMEM;
    if (!a->pump_timer)
        a->pump_timer = clock_start(a->clock, 0, pump, a);
    if (!a->pump_timer) {
        run_free(r);
        return -ENOMEM;
    }
    r->applier = a;
    r->done = done;
    r->arg = arg;
    *a->end = r;
    a->end = &r->next;
    event_recorder_hold(a->events, true);
    return 0;
}
