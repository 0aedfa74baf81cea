/*
 * queues.c - a simulated cluster with queues, for the scheduler alone: many nodes, jobs that come,
 * fail, end and are paused, nodes that are lost and come back, quotas that are edited, queues that
 * are closed and deleted; and one or two schedulers, each with a view of its own that lags behind,
 * whose writes arrive between those of others. The server's checks are the program's own
 * (core/admit.h). When the war is over, everything that fits must end in time.
 *
 * It is fast: thousands of seeds in a minute. What it leaves out (the real server, faults of the
 * network) the other world has.
 */
#include "queues.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/hash.h"
#include "base/timefmt.h"

#define START_MS INT64_C(1767225600000)
#define GRACE_MS 3000
#define WAR_STEPS 160
#define CROWD_STEPS 320
#define REST_LOOKS 60

static const struct kind *const kind_of_set[SETS] = {
    [SET_PODS] = &kind_pod,     [SET_GROUPS] = &kind_pod_group,     [SET_NODES] = &kind_node,
    [SET_QUEUES] = &kind_queue, [SET_NAMESPACES] = &kind_namespace,
};

/* Priorities stay as they are; what else a queue says may change. */
static const struct {
    const char *name;
    int priority, quota;
} queue_table[] = {
    {"default", 0, 0}, {"low", 0, 10}, {"mid", 3, 12}, {"even", 3, 0}, {"top", 7, 8}};

/* Of the same priority, and without a quota. */
static const char *const crowd_table[] = {"c0", "c1", "c2", "c3", "c4",  "c5",
                                          "c6", "c7", "c8", "c9", "c10", "c11"};

void note(struct queues *q, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    int n = snprintf(text, sizeof(text), "%9.3f  ", (double)(q->now_ms - START_MS) / 1000);

    va_start(args, fmt);
    (void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, args);
    va_end(args);
    q->sim->hash = fnv1a_64(q->sim->hash, text, strlen(text));
    if (q->sim->verbose)
        puts(text);
}

void wrong(struct queues *q, const char *fmt, ...)
{
    char text[sizeof(q->sim->violation) - 60];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    note(q, "VIOLATION: %s", text);
    if (q->sim->failed)
        return;
    q->sim->failed = true;
    (void)snprintf(q->sim->violation, sizeof(q->sim->violation), "queues, at %.3f s: %s",
                   (double)(q->now_ms - START_MS) / 1000, text);
}

/* --- objects ------------------------------------------------------------------------------------
 */

static const char *key_of(struct queues *q, enum set set, const struct json *o)
{
    return kind_of_set[set]->namespaced
               ? arena_printf(&q->arena, "%s/%s", object_namespace(o), object_name(o))
               : object_name(o);
}

static void tell(struct ledger *l, enum set set, const struct json *o, bool gone)
{
    if (set == SET_PODS)
        ledger_pod(l, o, gone);
    else if (set == SET_GROUPS)
        ledger_group(l, o, gone);
    else if (set == SET_NODES)
        ledger_node(l, o, gone);
    else if (set == SET_QUEUES)
        ledger_queue(l, o, gone);
    else
        ledger_namespaces_changed(l);
}

static void change(struct queues *q, enum set set, struct json *o, bool gone)
{
    const char *key = key_of(q, set, o);
    struct history *h = &q->past[set];
    bool binds = set == SET_PODS && pod_holds(o) && !pod_holds(queues_get(q, set, key));

    json_set_stringf(&q->arena, json_make_object(&q->arena, o, "metadata"), "resourceVersion",
                     "%lld", (long long)++q->revision);
    if (h->len == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 256;
        h->events = reallocarray(h->events, h->cap, sizeof(*h->events));
        assert(h->events);
    }
    h->events[h->len++] = (struct event){o, gone};
    if (gone)
        (void)map_removes(&q->items[set], key);
    else if (map_puts(&q->items[set], key, o, NULL) < 0)
        abort();
    tell(q->server, set, o, gone);
    judge_write(q, binds, set == SET_GROUPS ? o : NULL);
}

const struct json *queues_get(struct queues *q, enum set set, const char *key)
{
    return map_gets(&q->items[set], key);
}

static struct json *copy_of(struct queues *q, enum set set, const char *key)
{
    return json_clone(&q->arena, queues_get(q, set, key));
}

static struct json *parse(struct queues *q, const char *fmt, ...) printf_like(2, 3);

/* With ' for ". */
static struct json *parse(struct queues *q, const char *fmt, ...)
{
    char text[2048];
    struct json *v;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    v = json_parse(&q->arena, text, strlen(text), NULL);
    assert(v);
    return v;
}

static void remove_object(struct queues *q, enum set set, const char *key)
{
    if (queues_get(q, set, key))
        change(q, set, copy_of(q, set, key), true);
}

static void set_spec(struct queues *q, enum set set, const char *key, const char *member,
                     struct json *value)
{
    struct json *o = copy_of(q, set, key);

    json_set(&q->arena, json_make_object(&q->arena, o, "spec"), member, value);
    change(q, set, o, false);
}

/* --- tasks --------------------------------------------------------------------------------------
 */

static const char *pod_key(struct queues *q, const struct task *t, int i)
{
    return t->lone ? arena_printf(&q->arena, "ns/%s", t->name)
                   : arena_printf(&q->arena, "ns/%s-%d", t->name, i);
}

static const char *group_key(struct queues *q, const struct task *t)
{
    return arena_printf(&q->arena, "ns/%s", t->name);
}

const struct json *task_pod(struct queues *q, const struct task *t, int i)
{
    return queues_get(q, SET_PODS, pod_key(q, t, i));
}

const struct json *task_group(struct queues *q, const struct task *t)
{
    return t->lone ? NULL : queues_get(q, SET_GROUPS, group_key(q, t));
}

bool pod_holds(const struct json *pod)
{
    return pod && *json_string(json_at(pod, "spec", "nodeName"), "") && !pod_is_finished(pod);
}

int64_t task_bound(struct queues *q, const struct task *t)
{
    int64_t bound = 0;

    for (int i = 0; i < t->members; i++) {
        const struct json *pod = task_pod(q, t, i);

        bound += pod_holds(pod) && !object_is_deleting(pod);
    }
    return bound;
}

struct task *task_named(struct queues *q, const char *name)
{
    for (size_t i = 0; i < q->tasks_len; i++)
        if (strcmp(q->tasks[i].name, name) == 0)
            return &q->tasks[i];
    return NULL;
}

static void draw_task(struct queues *q)
{
    struct task *t = &q->tasks[q->tasks_len];

    *t = (struct task){.queue = q->calm ? "default"
                                        : queue_table[rand_below(ELEMS(queue_table))].name,
                       .lone = rand_chance(0.15),
                       .cpus = (int)rand_range(1, 3),
                       .gpus = rand_chance(0.2) ? (int)rand_range(1, 2) : 0,
                       .priority = !q->calm && rand_chance(0.3) ? (int)rand_range(1, 3) : 0,
                       .comes_ms = START_MS + rand_below(q->calm ? 60000 : 240000),
                       .work_ms = rand_range(5000, 60000)};
    (void)snprintf(t->name, sizeof(t->name), "t%zu", q->tasks_len++);
    t->gpu_shares = t->gpus == 0 && rand_chance(0.2);
    t->members = t->lone ? 1 : (int)rand_range(1, 5);
    t->least = !q->calm && rand_chance(0.2) ? (int)rand_range(1, t->members) : t->members;
    if (q->calm || rand_chance(0.4))
        t->deadline_ms = (t->work_ms + 1999) / 1000 * 1000 + (q->calm ? 0 : 600000);
    if (q->calm)
        t->work_ms = t->deadline_ms;
}

/* Many small ones, and some that need a good part of what there is. */
static void draw_in_crowd(struct queues *q, struct task *t)
{
    bool large = rand_chance(0.1);
    int again = t->again;
    int64_t comes = q->now_ms + rand_below(again ? 3000 : 20000);

    *t = (struct task){.queue = crowd_table[rand_below((int64_t)q->crowd)],
                       .lone = !large && rand_chance(0.1),
                       .cpus = (int)(large ? rand_range(2, 6) : rand_range(1, 2)),
                       .comes_ms = comes,
                       .work_ms = rand_range(5000, CROWD_WORK_MS),
                       .again = again + 1};
    t->members = t->least = t->lone ? 1 : (int)rand_range(1, large ? 3 : 2);
    if (rand_chance(0.2))
        t->deadline_ms = (t->work_ms + 999) / 1000 * 1000;
    (void)snprintf(t->name, sizeof(t->name), "t%zux%d", (size_t)(t - q->tasks), again);
}

static void make_group(struct queues *q, const struct task *t)
{
    char now[TIME_TEXT_SIZE];
    struct json *o = parse(q,
                           "{'metadata':{'name':'%s','namespace':'ns','uid':'%lld',"
                           "'creationTimestamp':'%s','ownerReferences':[{'controller':true,"
                           "'kind':'PyTorchTrainingJob','name':'%s','uid':'u-%s'}]},'spec':{"
                           "'minMember':%d,'members':%d,'queue':'%s','priority':%d}}",
                           t->name, (long long)q->revision, time_format(q->now_ms, now), t->name,
                           t->name, t->least, t->members, t->queue, t->priority);

    if (t->deadline_ms)
        json_set_int(&q->arena, json_get_mut(o, "spec"), "activeDeadlineSeconds",
                     t->deadline_ms / 1000);
    change(q, SET_GROUPS, o, false);
}

static void make_pod(struct queues *q, const struct task *t, int i)
{
    const char *name = strchr(pod_key(q, t, i), '/') + 1;
    char now[TIME_TEXT_SIZE], of_job[256] = "";

    if (!t->lone)
        (void)snprintf(of_job, sizeof(of_job),
                       ",'annotations':{'%s':'%lld'},'ownerReferences':[{'controller':true,'kind':"
                       "'PyTorchTrainingJob','name':'%s','uid':'u-%s'}]",
                       ANNOTATION_DEADLINE, (long long)t->deadline_ms / 1000, t->name, t->name);
    change(q, SET_PODS,
           parse(q,
                 "{'metadata':{'name':'%s','namespace':'ns','uid':'%lld','creationTimestamp':'%s',"
                 "'labels':{'%s':'%s'}%s},'spec':{'containers':[{'resources':{'requests':{"
                 "'cpu':'%d','nvidia.com/gpu':%d,'nvidia.com/"
                 "gpu.shared':%d}}}]},'status':{'phase':'Pending'}}",
                 name, (long long)q->revision, time_format(q->now_ms, now),
                 t->lone ? LABEL_QUEUE : LABEL_GROUP_NAME, t->lone ? t->queue : t->name, of_job,
                 t->cpus, t->gpus, t->gpu_shares),
           false);
}

static void set_phase(struct queues *q, const struct json *pod, const char *phase)
{
    struct json *o = json_clone(&q->arena, pod);

    json_set_string(&q->arena, json_make_object(&q->arena, o, "status"), "phase", phase);
    change(q, SET_PODS, o, false);
}

/* Bound ones take their time. */
static void delete_pod(struct queues *q, const struct json *pod)
{
    struct json *o = json_clone(&q->arena, pod), *meta = json_get_mut(o, "metadata");
    char until[TIME_TEXT_SIZE];

    if (!pod_holds(pod)) {
        change(q, SET_PODS, o, true);
        return;
    }
    if (object_is_deleting(pod))
        return;
    json_set_string(&q->arena, meta, "deletionTimestamp",
                    time_format(q->now_ms + rand_below(GRACE_MS), until));
    change(q, SET_PODS, o, false);
}

static void set_members(struct queues *q, const struct task *t, int members)
{
    const struct json *g = task_group(q, t);

    if (g && json_int(json_at(g, "spec", "members"), -1) != members)
        set_spec(q, SET_GROUPS, group_key(q, t), "members", json_new_int(&q->arena, members));
}

static void end_task(struct queues *q, struct task *t)
{
    note(q, "%s is over", t->name);
    t->over = true;
    for (int i = 0; i < t->members; i++)
        remove_object(q, SET_PODS, pod_key(q, t, i));
    if (!t->lone)
        remove_object(q, SET_GROUPS, group_key(q, t));
}

/* What its controller does: makes pods, replaces those that failed or are gone, ends it. */
static void keep_task(struct queues *q, struct task *t)
{
    for (int i = 0; i < t->members; i++) {
        const struct json *pod = task_pod(q, t, i);

        if (!pod && !t->paused && (q->peace || rand_chance(0.8)))
            make_pod(q, t, i);
        else if (pod && pod_is_finished(pod))
            remove_object(q, SET_PODS, pod_key(q, t, i));
        else if (pod && t->paused)
            delete_pod(q, pod);
        else if (pod && object_is_deleting(pod) &&
                 object_time(json_get(pod, "metadata"), "deletionTimestamp") <= q->now_ms)
            remove_object(q, SET_PODS, pod_key(q, t, i));
    }
}

static int64_t scheduled_ms(struct queues *q, const struct task *t)
{
    const struct json *c = object_condition(task_group(q, t), "GroupScheduled");

    return json_string_is(json_get(c, "status"), "True") ? object_time(c, "lastTransitionTime") : 0;
}

static void task_turn(struct queues *q, struct task *t, int64_t passed_ms)
{
    int64_t since = t->lone ? 0 : scheduled_ms(q, t);

    if (t->over && q->crowd && !q->peace)
        draw_in_crowd(q, t);
    if (t->over || q->now_ms < t->comes_ms)
        return;
    if (!t->made) {
        note(q, "%s comes: %d of %d CPU, %d GPU, %d shared, least %d, queue %s, priority %d%s",
             t->name, t->members, t->cpus, t->gpus, t->gpu_shares, t->least, t->queue, t->priority,
             t->lone ? ", alone" : "");
        t->made = true;
        if (!t->lone)
            make_group(q, t);
    }
    if (t->paused && q->now_ms >= t->resumes_ms)
        t->paused = false;
    set_members(q, t, t->paused ? 0 : t->members);
    if (task_bound(q, t) >= t->least) {
        t->was_whole = true;
        t->done_ms += passed_ms;
    }
    if (t->done_ms >= t->work_ms || (t->deadline_ms && since && since + t->deadline_ms < q->now_ms))
        end_task(q, t);
    else
        keep_task(q, t);
}

/* --- what goes wrong ----------------------------------------------------------------------------
 */

static void add_node(struct queues *q, int i, int cpus, int gpus)
{
    change(q, SET_NODES,
           parse(q,
                 "{'metadata':{'name':'n%d','annotations':{'muster.dev/shared-gpus':'2,3'}},"
                 "'status':{'allocatable':{'cpu':'%d','memory':'64Gi','pods':'%d',"
                 "'nvidia.com/gpu':%d,'nvidia.com/"
                 "gpu.shared':%d},'conditions':[{'type':'Ready','status':"
                 "'True'}]}}",
                 i, cpus, (int)rand_range(3, 20), gpus, rand_chance(0.5) ? 4 : 0),
           false);
}

static const struct json *any_node(struct queues *q)
{
    struct map_node *n = map_first(&q->items[SET_NODES]);

    for (int64_t skip = rand_below((int64_t)q->items[SET_NODES].count); skip > 0; skip--)
        n = map_after(&q->items[SET_NODES], n->key, n->key_len);
    return n->value;
}

static void set_ready(struct queues *q, const struct json *node, bool ready)
{
    struct json *o = json_clone(&q->arena, node);

    if (json_string_is(json_get(object_condition(node, "Ready"), "status"),
                       ready ? "True" : "False"))
        return;
    note(q, "%s is %s", object_name(node), ready ? "ready" : "lost");
    json_set(&q->arena, json_get_mut(o, "status"), "conditions",
             parse(q, "[{'type':'Ready','status':'%s'}]", ready ? "True" : "False"));
    change(q, SET_NODES, o, false);
    for (size_t i = 0; i < q->tasks_len && !ready; i++)
        for (int k = 0; k < q->tasks[i].members; k++) {
            const struct json *pod = task_pod(q, &q->tasks[i], k);

            if (pod_holds(pod) &&
                json_string_is(json_at(pod, "spec", "nodeName"), object_name(node)))
                set_phase(q, pod, "Failed");
            q->tasks[i].lost_some = true;
        }
}

/* What runs there goes on. */
static void set_cordoned(struct queues *q, const struct json *node, bool cordoned)
{
    if (json_bool(json_at(node, "spec", "unschedulable"), false) == cordoned)
        return;
    note(q, "%s is %s", object_name(node), cordoned ? "cordoned" : "uncordoned");
    set_spec(q, SET_NODES, object_name(node), "unschedulable", json_new_bool(&q->arena, cordoned));
}

static void fail_some_pod(struct queues *q)
{
    struct task *t = &q->tasks[rand_below((int64_t)q->tasks_len)];
    const struct json *pod = task_pod(q, t, (int)rand_below(t->members));

    if (!pod_holds(pod))
        return;
    t->lost_some = true;
    set_phase(q, pod, "Failed");
}

static void add_queue_named(struct queues *q, const char *name, int priority, int quota)
{
    struct json *o = parse(q,
                           "{'metadata':{'name':'%s','namespace':'t9k-system'},'spec':{"
                           "'namespaceSelector':{'matchLabels':{'team':'x'}},'priority':%d}}",
                           name, priority);

    if (quota)
        json_set(&q->arena, json_get_mut(o, "spec"), "quota",
                 parse(q, "{'requests':{'cpu':'%d'}}", quota));
    change(q, SET_QUEUES, o, false);
}

static void add_queue(struct queues *q, size_t i)
{
    add_queue_named(q, queue_table[i].name, queue_table[i].priority, queue_table[i].quota);
}

static void edit_queue(struct queues *q)
{
    size_t i = 1 + (size_t)rand_below(ELEMS(queue_table) - 1);
    const char *key = arena_printf(&q->arena, "t9k-system/%s", queue_table[i].name);
    int what = (int)rand_below(6);

    if (!queues_get(q, SET_QUEUES, key)) {
        add_queue(q, i);
        return;
    }
    note(q, "queue %s is edited (%d)", queue_table[i].name, what);
    if (what == 0)
        remove_object(q, SET_QUEUES, key);
    else if (what == 1)
        set_spec(q, SET_QUEUES, key, "closed", json_new_bool(&q->arena, rand_chance(0.5)));
    else if (what == 2)
        set_spec(q, SET_QUEUES, key, "preemptible", json_new_bool(&q->arena, rand_chance(0.5)));
    else if (what == 3)
        set_spec(q, SET_QUEUES, key, "maxDuration",
                 json_new_string(&q->arena, rand_chance(0.5) ? "20s" : "0"));
    else
        set_spec(q, SET_QUEUES, key, "quota",
                 parse(q, "{'requests':{'cpu':'%d'}}", (int)rand_range(2, 16)));
}

static void something_happens(struct queues *q)
{
    if (q->calm || q->crowd || q->peace)
        return;
    if (rand_chance(0.06))
        fail_some_pod(q);
    if (rand_chance(0.05))
        set_ready(q, any_node(q), rand_chance(0.5));
    if (rand_chance(0.05))
        set_cordoned(q, any_node(q), rand_chance(0.5));
    if (rand_chance(0.06))
        edit_queue(q);
}

/* --- schedulers ---------------------------------------------------------------------------------
 */

static const struct json *find(void *arg, const struct kind *k, const char *ns, const char *name)
{
    struct rival *r = arg;
    char key[600];

    (void)snprintf(key, sizeof(key), k->namespaced ? "%s/%s" : "%.0s%s", ns, name);
    for (size_t set = 0; set < SETS; set++)
        if (kind_of_set[set] == k)
            return map_gets(&r->seen[set], key);
    return NULL;
}

static void see(struct rival *r, enum set set, size_t until)
{
    struct queues *q = r->world;

    for (; r->seen_len[set] < until; r->seen_len[set]++) {
        const struct event *e = &q->past[set].events[r->seen_len[set]];
        const char *key = key_of(q, set, e->object);

        if (e->gone)
            (void)map_removes(&r->seen[set], key);
        else if (map_puts(&r->seen[set], key, (void *)e->object, NULL) < 0)
            abort();
        tell(r->ledger, set, e->object, e->gone);
    }
}

/* Each watch comes as late as it likes. */
static void see_some(struct rival *r, bool all)
{
    for (enum set set = 0; set < SETS; set++) {
        size_t news = r->world->past[set].len - r->seen_len[set];
        bool now = all || (r->lists && (set == SET_PODS || set == SET_GROUPS)) || rand_chance(0.5);

        see(r, set, r->seen_len[set] + (now ? news : (size_t)rand_below((int64_t)news + 1)));
    }
    r->lists = false;
}

static bool is_version(const struct json *given, const struct json *there)
{
    return there && strcmp(object_resource_version(given), object_resource_version(there)) == 0;
}

static bool update_status(struct queues *q, const struct plan_step *step)
{
    enum set set = step->kind == &kind_pod_group ? SET_GROUPS : SET_QUEUES;
    const char *key = key_of(q, set, step->object);
    const struct json *there = queues_get(q, set, key);
    struct json *next;
    const char *why = NULL;

    if (!is_version(step->object, there))
        return false;
    next = json_clone(&q->arena, there);
    json_set(&q->arena, next, "status", json_clone(&q->arena, json_get(step->object, "status")));
    if (set == SET_GROUPS &&
        !json_equal(json_at(next, "status", "placements"), json_at(there, "status", "placements")))
        why = admit_group(q->server, &q->arena, next);
    if (why) {
        note(q, "group %s is refused: %s", object_name(next), why);
        q->refusals++;
        return false;
    }
    if (set == SET_GROUPS)
        note(q, "group %s: %s %s", object_name(next),
             json_string(json_at(next, "status", "reason"), ""),
             json_string(json_at(next, "status", "message"), ""));
    change(q, set, next, false);
    return true;
}

static bool bind(struct queues *q, const struct plan_step *step)
{
    const struct json *pod = queues_get(q, SET_PODS,
                                        arena_printf(&q->arena, "%s/%s", step->ns, step->name));
    const char *node = json_string(json_at(step->object, "target", "name"), "");
    const struct json *gpus = json_at(step->object, "metadata", "annotations");
    const char *why;
    struct json *next;

    if (!pod || strcmp(object_uid(pod), step->uid) != 0 || object_is_deleting(pod) ||
        pod_is_finished(pod) || *json_string(json_at(pod, "spec", "nodeName"), ""))
        return false;
    next = json_clone(&q->arena, pod);
    json_set_string(&q->arena, json_get_mut(next, "spec"), "nodeName", node);
    json_set_string(&q->arena, json_get_mut(next, "status"), "phase", "Running");
    if (gpus)
        json_set(&q->arena, json_get_mut(next, "metadata"), "annotations",
                 json_clone(&q->arena, gpus));
    why = admit_pod(q->server, &q->arena, next);
    if (why) {
        note(q, "%s is refused: %s", step->name, why);
        q->refusals++;
        return false;
    }
    note(q, "%s is bound to %s", step->name, node);
    q->binds++;
    change(q, SET_PODS, next, false);
    return true;
}

static void pause_task(struct queues *q, const char *name)
{
    struct task *t = task_named(q, name);

    note(q, "%s is paused", name);
    t->paused = true;
    t->resumes_ms = q->now_ms + rand_below(20000);
    set_members(q, t, 0);
}

static bool patch(struct queues *q, const struct plan_step *step)
{
    const char *key = arena_printf(&q->arena, "%s/%s", step->ns, step->name);
    const struct json *pod = step->kind == &kind_pod ? queues_get(q, SET_PODS, key) : NULL;
    struct json *next;

    if (step->kind != &kind_pod) {
        pause_task(q, step->name);
        return true;
    }
    if (!is_version(step->object, pod))
        return false;
    next = json_clone(&q->arena, pod);
    json_set(&q->arena, json_get_mut(next, "status"), "conditions",
             json_clone(&q->arena, json_at(step->object, "status", "conditions")));
    change(q, SET_PODS, next, false);
    return true;
}

static bool delete (struct queues *q, const struct plan_step *step)
{
    const struct json *pod = queues_get(q, SET_PODS,
                                        arena_printf(&q->arena, "%s/%s", step->ns, step->name));

    if (pod && strcmp(object_uid(pod), step->uid) == 0) {
        note(q, "%s is being stopped", step->name);
        q->evictions++;
        delete_pod(q, pod);
    }
    return true;
}

static bool carry_out(struct queues *q, const struct plan_step *step)
{
    switch (step->op) {
    case PLAN_UPDATE_STATUS:
        return update_status(q, step);
    case PLAN_BIND:
        return bind(q, step);
    case PLAN_PATCH:
        return patch(q, step);
    case PLAN_EVICT:
    case PLAN_DELETE:
        return delete (q, step);
    case PLAN_EVENT:
        return true;
    case PLAN_CHECK:
    case PLAN_CREATE:
        break;
    }
    abort();
}

static void go_on(struct rival *r, int64_t steps)
{
    struct queues *q = r->world;

    for (; r->next && steps > 0; steps--, r->next = r->next->next) {
        r->wrote = r->wrote || r->next->op != PLAN_EVENT;
        if (carry_out(q, r->next))
            continue;
        ledger_undone(r->ledger);
        if (r->next->whom)
            (void)ledger_refused(r->ledger, r->next->whom, q->now_ms);
        r->lists = true;
        r->next = NULL;
        break;
    }
    if (!r->next && !r->lists)
        ledger_done(r->ledger);
    if (!r->next)
        for (enum set set = 0; set <= SET_GROUPS; set++)
            r->must_see[set] = q->past[set].len;
}

/* Whether it had something to do. */
static bool look(struct rival *r)
{
    struct plan plan;

    for (enum set set = 0; set <= SET_GROUPS; set++)
        if (r->seen_len[set] < r->must_see[set])
            return false;
    arena_reset(&r->plans);
    plan_init(&plan, &r->plans);
    judge_before_decision(r);
    schedule(r->ledger, r->world->now_ms, &plan);
    if (r->ledger->broken || arena_failed(&r->plans))
        abort();
    judge_decision(r->world, r, &plan);
    r->next = plan.first;
    r->wake_at_ms = plan.wake_at_ms;
    r->wrote = false;
    if (!plan.first)
        ledger_done(r->ledger);
    return plan.first;
}

static void rival_turn(struct rival *r)
{
    if (r->next) {
        go_on(r, rand_range(1, 8));
        return;
    }
    see_some(r, rand_chance(0.3));
    (void)look(r);
}

/* What can wait is told in time, and who was refused is tried again, if the scheduler asked to be
 * woken for it. */
static bool lets_time_pass(struct queues *q)
{
    bool owes = false;

    for (size_t k = 0; k < q->rivals_len; k++) {
        const struct rival *r = &q->rivals[k];
        bool words = r->ledger->owed || r->ledger->dirty_queues;

        if (!words && r->ledger->refused.count == 0)
            continue;
        owes = true;
        if (r->wake_at_ms <= q->now_ms || (words && r->wake_at_ms > q->now_ms + TELL_EVERY_MS))
            wrong(q, "a scheduler owes words and is not woken for them");
    }
    if (owes) {
        q->now_ms += TELL_EVERY_MS;
        q->waited_ms += TELL_EVERY_MS;
    }
    return owes;
}

/* No job goes on until nobody has anything left to decide. Two who go by different claims may tell
 * the same group different things for ever: of them it is not asked. */
static void come_to_rest(struct queues *q)
{
    for (int i = 0; i < REST_LOOKS; i++) {
        bool busy = false;

        for (size_t k = 0; k < q->rivals_len; k++) {
            struct rival *r = &q->rivals[k];
            uint64_t refusals;

            go_on(r, INT64_MAX);
            see_some(r, true);
            refusals = q->refusals;
            busy = look(r) || busy;
            go_on(r, INT64_MAX);
            if (q->refusals > refusals)
                wrong(q, "a scheduler that has seen everything is refused");
            see_some(r, true);
        }
        if (!busy && !lets_time_pass(q)) {
            judge_rest(q);
            return;
        }
    }
    if (q->rivals_len == 1)
        wrong(q, "the scheduler does not come to rest");
}

/* --- a run --------------------------------------------------------------------------------------
 */

/* What its queue or all nodes together cannot hold never starts. */
static void find_too_large(struct queues *q)
{
    for (size_t i = 0; i < q->tasks_len; i++) {
        const struct json *g = task_group(q, &q->tasks[i]);
        const struct json *pod = task_pod(q, &q->tasks[i], 0);
        const char *message = json_string(json_at(g, "status", "message"), "");

        if (!g)
            message = json_get_string(object_condition(pod, "PodScheduled"), "message", "");
        q->tasks[i].too_large = strncmp(message, NEVER_FITS, strlen(NEVER_FITS)) == 0;
    }
}

static void step(struct queues *q)
{
    int64_t passed = rand_below(4000);

    q->now_ms += passed;
    passed += q->waited_ms;
    q->waited_ms = 0;
    q->sim->steps++;
    something_happens(q);
    for (size_t i = 0; i < q->tasks_len; i++)
        task_turn(q, &q->tasks[i], passed);
    for (size_t i = 0; i < q->rivals_len * 2; i++)
        rival_turn(&q->rivals[rand_below((int64_t)q->rivals_len)]);
    if (q->calm || q->crowd || q->peace || rand_chance(0.2))
        come_to_rest(q);
    find_too_large(q);
}

static void make_peace(struct queues *q)
{
    note(q, "peace");
    q->peace = true;
    for (struct map_node *n = map_first(&q->items[SET_NODES]), *next; n; n = next) {
        next = map_after(&q->items[SET_NODES], n->key, n->key_len);
        set_ready(q, n->value, true);
        set_cordoned(q, queues_get(q, SET_NODES, n->key), false);
    }
    for (size_t i = 1; i < ELEMS(queue_table);
         i++) { /* with the quotas it began with, or those left */
        const char *key = arena_printf(&q->arena, "t9k-system/%s", queue_table[i].name);
        const struct json *quota = json_at(queues_get(q, SET_QUEUES, key), "spec", "quota");

        add_queue(q, i);
        if (quota && rand_chance(0.5))
            set_spec(q, SET_QUEUES, key, "quota", json_clone(&q->arena, quota));
    }
}

static bool all_over(const struct queues *q)
{
    for (size_t i = 0; i < q->tasks_len; i++)
        if (!q->tasks[i].over && !q->tasks[i].too_large)
            return false;
    return true;
}

static void end_in_peace(struct queues *q)
{
    int64_t limit = q->now_ms + 600000;

    for (size_t i = 0; i < q->tasks_len; i++) /* if one ran after the other */
        limit += q->tasks[i].over ? 0 : q->tasks[i].work_ms + 30000;
    while (!q->sim->failed && !all_over(q) && q->now_ms < limit)
        step(q);
    for (size_t i = 0; i < q->tasks_len && !q->sim->failed; i++)
        if (!q->tasks[i].over && !q->tasks[i].too_large)
            wrong(q, "%s has not ended: %lld of %d pods are bound; it is told: %s",
                  q->tasks[i].name, (long long)task_bound(q, &q->tasks[i]), q->tasks[i].members,
                  json_string(json_at(task_group(q, &q->tasks[i]), "status", "message"), "?"));
}

static void begin(struct queues *q, struct sim *s, uint64_t seed, bool verbose)
{
    int64_t nodes, tasks;

    *q = (struct queues){.sim = s, .arena = ARENA_INIT(1u << 30), .now_ms = START_MS};
    rand_seed(seed * 0x9e3779b97f4a7c15u + 77);
    s->verbose = verbose;
    q->calm = seed % 4 == 0;
    if (seed % 32 == 2)
        q->crowd = (size_t)rand_range(2, ELEMS(crowd_table));
    q->rivals_len = q->calm || q->crowd ? 1 : (size_t)rand_range(1, RIVALS_MAX);
    q->server = ledger_new(find, &q->rivals[0], false);
    q->server->keeps_all = true;
    nodes = rand_range(2, 5);
    tasks = rand_range(8, q->calm ? 24 : TASKS_MAX);
    note(q, "queues, seed %llu: %zu schedulers, %lld nodes, %lld jobs%s", (unsigned long long)seed,
         q->rivals_len, (long long)nodes, (long long)tasks,
         q->calm    ? ", calm"
         : q->crowd ? ", a crowd"
                    : "");
    for (size_t i = 0; i < q->rivals_len; i++) {
        q->rivals[i].world = q;
        arena_init(&q->rivals[i].plans, 1u << 28);
        q->rivals[i].ledger = ledger_new(find, &q->rivals[i], false);
        assert(q->rivals[i].ledger);
        if (seed % 8 == 3) /* so that lines are longer than it tries */
            q->rivals[i].ledger->depth = (size_t)rand_range(1, 4);
    }
    change(q, SET_NAMESPACES, parse(q, "{'metadata':{'name':'ns','labels':{'team':'x'}}}"), false);
    for (size_t i = 1; i < ELEMS(queue_table); i++)
        add_queue(q, i);
    for (size_t i = 0; i < q->crowd; i++)
        add_queue_named(q, crowd_table[i], 0, 0);
    for (int64_t i = 0; i < nodes; i++)
        add_node(q, (int)i, (int)rand_range(3, 8), rand_chance(0.5) ? 2 : 0);
    while ((int64_t)q->tasks_len < tasks)
        if (q->crowd)
            draw_in_crowd(q, &q->tasks[q->tasks_len++]);
        else
            draw_task(q);
}

void queues_run(struct sim *s, uint64_t seed, bool verbose)
{
    static struct queues q;

    begin(&q, s, seed, verbose);
    for (int i = 0; i < (q.crowd ? CROWD_STEPS : WAR_STEPS) && !s->failed; i++)
        step(&q);
    if (!s->failed)
        make_peace(&q);
    end_in_peace(&q);
    note(&q, "%llu binds, %llu refused, %llu evictions", (unsigned long long)q.binds,
         (unsigned long long)q.refusals, (unsigned long long)q.evictions);
    for (size_t i = 0; i < q.rivals_len; i++)
        ledger_free(q.rivals[i].ledger);
    ledger_free(q.server);
    arena_release(&q.arena);
}
