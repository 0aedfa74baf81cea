/*
 * scheduler.c - see scheduler.h.
 *
 * Stale caches must never lead to assigning room twice: after a plan the next decision waits until
 * the caches show all of it - the statuses by their revisions, the bindings pod by pod, because
 * their answers contain no revision. After a failure, which may have written all the same, the
 * caches list again.
 */
#include "control/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "client/queue.h"
#include "core/schedule.h"

#define LOOK_KEY "schedule"
#define RECHECK_MS 5000
#define LISTING_RECHECK_MS 100
#define UNCLEAR_REST_MS 1000
#define TOLD_PAUSE_MS 1000 /* for a group that is refused repeatedly */
#define SCHEDULE_LIMIT_BYTES (256u * 1024u * 1024u)

/* Its own caches. */
enum { NODES, QUEUES, NAMESPACES, CONFIGS, OWN_COUNT };

struct scheduler;

struct source {
    struct scheduler *scheduler;
    const struct kind *kind;
    struct cache *cache;
};

/* A pod whose binding the cache must show. */
struct awaited {
    char *ns, *name, *uid;
};

struct scheduler {
    struct clock *clock;
    struct applier *applier;
    struct cache *pods, *groups;
    struct source own[OWN_COUNT];
    struct trouble *trouble;
    bool without_settings;
    struct queue *queue;
    struct ledger *ledger;
    bool overcommit, beside_default;
    int64_t config_version; /* last one whose problems were reported */
    struct awaited *awaited;
    size_t awaited_len;
    int64_t groups_revision;         /* required by the next decision; 0: any */
    int64_t last_revision;           /* of groups, at the last check */
    int64_t rest_until_ms;           /* after a failure that may have written more than we know */
    unsigned pods_list, groups_list; /* lists that will show what was written; 0: none */
};

/* --- the ledger ------------------------------------------------------------------------------- */

static const struct json *find(void *arg, const struct kind *k, const char *ns, const char *name)
{
    struct scheduler *s = arg;

    return cache_get(k == &kind_pod         ? s->pods
                     : k == &kind_pod_group ? s->groups
                     : k == &kind_node      ? s->own[NODES].cache
                     : k == &kind_queue     ? s->own[QUEUES].cache
                                            : s->own[NAMESPACES].cache,
                     ns, name);
}

static bool feed_pod(void *arg, const struct json *pod)
{
    ledger_pod(arg, pod, false);
    return true;
}

static bool feed_group(void *arg, const struct json *group)
{
    ledger_group(arg, group, false);
    return true;
}

static bool has_owner(void *arg, const struct json *group)
{
    bool *all = arg;

    *all = object_controller(group) != NULL;
    return *all;
}

static bool feed_members(void *arg, const struct json *group)
{
    struct scheduler *s = arg;

    cache_each_of_controller(s->pods, json_get_string(object_controller(group), "uid", ""),
                             feed_pod, s->ledger);
    return true;
}

/* Of pods kept aside, only those of an existing group count. Those of a group without an owner can
 * only be found among all pods. */
static void feed_resting_pods(struct scheduler *s)
{
    bool all_owned = true;

    cache_each(s->groups, has_owner, &all_owned);
    if (all_owned)
        cache_each(s->groups, feed_members, s);
    else
        cache_each(s->pods, feed_pod, s->ledger);
}

static bool feed_node(void *arg, const struct json *node)
{
    ledger_node(arg, node, false);
    return true;
}

static bool feed_queue(void *arg, const struct json *queue)
{
    ledger_queue(arg, queue, false);
    return true;
}

static const struct json *config_map(const struct scheduler *s)
{
    return cache_get(s->own[CONFIGS].cache, QUEUE_NAMESPACE, SCHEDULER_CONFIG_NAME);
}

/* Settings that cannot be read (docs/storage.md) may forbid preemption: pods are placed meanwhile,
 * and none is stopped for another. */
static void configure(struct scheduler *s)
{
    struct scheduler_config config = scheduler_config_read(config_map(s), NULL, NULL);
    bool known = cache_is_synced(s->own[CONFIGS].cache);

    config.preempts = config.preempts && known;
    if (!known && !s->without_settings)
        log_warn("ConfigMap " QUEUE_NAMESPACE "/" SCHEDULER_CONFIG_NAME " cannot be read: nothing "
                 "is preempted until it can");
    s->without_settings = !known;
    if (s->ledger)
        ledger_configure(s->ledger, &config);
}

struct complaint {
    struct plan *plan;
    const struct json *map;
};

static void complain(void *arg, const char *text)
{
    const struct complaint *c = arg;

    log_warn("ConfigMap " QUEUE_NAMESPACE "/" SCHEDULER_CONFIG_NAME ": %s", text);
    plan_event(c->plan, &kind_config_map, c->map, "Warning", "NotCarriedOut", "%s", text);
}

/* Unsupported settings, once per version of the ConfigMap. */
static void plan_complaints(struct scheduler *s, struct plan *plan)
{
    const struct json *map = config_map(s);
    int64_t version = strtoll(object_resource_version(map), NULL, 10);

    if (map && version != s->config_version)
        (void)scheduler_config_read(map, complain, &(struct complaint){plan, map});
    s->config_version = version;
}

/* After running out of memory the ledger is incomplete. */
static bool mend_ledger(struct scheduler *s)
{
    if (s->ledger && !s->ledger->broken)
        return true;
    ledger_free(s->ledger);
    s->ledger = ledger_new(find, s, s->overcommit);
    if (!s->ledger)
        return false;
    s->ledger->beside_default = s->beside_default;
    cache_each(s->own[NODES].cache, feed_node, s->ledger);
    cache_each(s->own[QUEUES].cache, feed_queue, s->ledger);
    cache_each(s->groups, feed_group, s->ledger);
    cache_each_awake(s->pods, feed_pod, s->ledger);
    feed_resting_pods(s);
    configure(s);
    return !s->ledger->broken;
}

/* --- waiting for what was written ------------------------------------------------------------- */

static void awaited_clear(struct awaited *a)
{
    free(a->ns);
    free(a->name);
    free(a->uid);
}

static void forget_awaited(struct scheduler *s)
{
    for (size_t i = 0; i < s->awaited_len; i++)
        awaited_clear(&s->awaited[i]);
    free(s->awaited);
    s->awaited = NULL;
    s->awaited_len = 0;
}

static char *copy(const char *text)
{
    return strdup(text ? text : "");
}

/* Without memory to remember them the caches list again. */
static void await_bindings(struct scheduler *s, const struct plan *plan)
{
    size_t count = 0;

    forget_awaited(s);
    for (const struct plan_step *step = plan->first; step; step = step->next)
        count += step->op == PLAN_BIND;
    s->awaited = calloc(count + 1, sizeof(*s->awaited));
    for (const struct plan_step *step = plan->first; step && s->awaited; step = step->next)
        if (step->op == PLAN_BIND) {
            struct awaited a = {copy(step->ns), copy(step->name), copy(step->uid)};

            if (a.ns && a.name && a.uid)
                s->awaited[s->awaited_len++] = a;
            else
                awaited_clear(&a);
        }
    if (s->awaited_len < count)
        s->pods_list = cache_refresh(s->pods);
}

static bool is_seen(const struct scheduler *s, const struct awaited *a)
{
    const struct json *pod = cache_get(s->pods, a->ns, a->name);

    return !pod || strcmp(object_uid(pod), a->uid) != 0 ||
           *json_string(json_at(pod, "spec", "nodeName"), "");
}

static bool all_seen(struct scheduler *s)
{
    while (s->awaited_len > 0 && is_seen(s, &s->awaited[s->awaited_len - 1]))
        awaited_clear(&s->awaited[--s->awaited_len]);
    return s->awaited_len == 0;
}

/* A lower revision means another history (a restored server): ours would never come. */
static bool has_seen_groups(struct scheduler *s)
{
    int64_t revision = cache_revision(s->groups), before = s->last_revision;

    s->last_revision = revision;
    return revision >= s->groups_revision || revision < before;
}

static bool is_listing(struct scheduler *s)
{
    return (s->pods_list && !cache_has_listed(s->pods, s->pods_list)) ||
           (s->groups_list && !cache_has_listed(s->groups, s->groups_list));
}

static bool rests(struct scheduler *s)
{
    int64_t left = s->rest_until_ms - clock_now_ms(s->clock);

    if (left > 0 && left <= UNCLEAR_REST_MS) {
        queue_add_after(s->queue, LOOK_KEY, left);
        return true;
    }
    if (is_listing(s) || !has_seen_groups(s) || !all_seen(s)) {
        queue_add_after(s->queue, LOOK_KEY, is_listing(s) ? LISTING_RECHECK_MS : RECHECK_MS);
        return true;
    }
    s->rest_until_ms = s->groups_revision = 0;
    s->pods_list = s->groups_list = 0;
    return false;
}

/* --- deciding --------------------------------------------------------------------------------- */

/* It is unknown what was done of the plan: the caches list again before the next decision. */
static void look_up_all(struct scheduler *s)
{
    forget_awaited(s);
    ledger_undone(s->ledger);
    s->pods_list = cache_refresh(s->pods);
    s->groups_list = cache_refresh(s->groups);
}

/* Whether the refusals concern single groups: those are backed off, and the others continue. */
static bool put_off(struct scheduler *s, const struct apply_result *result)
{
    bool all = true;

    for (size_t i = 0; i < result->failed_len; i++) {
        const char *key = result->failed[i];
        int64_t pause_ms = key ? ledger_refused(s->ledger, key, clock_now_ms(s->clock)) : 0;

        all = all && key;
        if (pause_ms >= TOLD_PAUSE_MS)
            log_warn("scheduling %s, next try in %lld s: %s", key, (long long)pause_ms / 1000,
                     result->err->text);
    }
    return all;
}

static void on_applied(void *arg, const struct apply_result *result)
{
    struct scheduler *s = arg;
    bool goes_on = result->outcome == APPLY_DONE || (put_off(s, result) && !result->unclear);

    for (size_t i = 0; i < result->written_len; i++)
        if (result->written[i].kind == &kind_pod_group)
            s->groups_revision = result->written[i].revision;
    s->last_revision = cache_revision(s->groups);
    if (result->outcome == APPLY_DONE)
        ledger_done(s->ledger);
    else
        look_up_all(s);
    if (result->unclear) {
        s->rest_until_ms = clock_now_ms(s->clock) + UNCLEAR_REST_MS;
        log_warn("scheduling: %s", result->err->text);
    } else if (result->outcome != APPLY_DONE) {
        log_debug("scheduling: retrying: %s", result->err->text);
    }
    if (result->outcome != APPLY_DONE && goes_on)
        queue_add(s->queue, LOOK_KEY);
    queue_done(s->queue, LOOK_KEY, goes_on ? QUEUE_OK : QUEUE_RETRY);
}

static enum queue_result carry_out(struct scheduler *s, struct plan *plan)
{
    if (arena_failed(plan->arena) || s->ledger->broken ||
        apply_plan(s->applier, plan, on_applied, s) < 0) {
        log_error("scheduling: out of memory");
        ledger_undone(s->ledger);
        return QUEUE_RETRY;
    }
    await_bindings(s, plan);
    return QUEUE_OK;
}

static void look(struct scheduler *s)
{
    struct arena a = ARENA_INIT(SCHEDULE_LIMIT_BYTES);
    int64_t now = clock_now_ms(s->clock);
    struct plan plan;

    plan_init(&plan, &a);
    schedule(s->ledger, now, &plan);
    plan_complaints(s, &plan);
    if (plan.wake_at_ms)
        queue_add_after(s->queue, LOOK_KEY, max_i64(plan.wake_at_ms - now, 1));
    if (plan_is_empty(&plan) && !arena_failed(&a) && !s->ledger->broken) {
        ledger_done(s->ledger);
        queue_done(s->queue, LOOK_KEY, QUEUE_OK);
    } else if (carry_out(s, &plan) != QUEUE_OK) {
        queue_done(s->queue, LOOK_KEY, QUEUE_RETRY);
    }
    arena_release(&a);
}

static bool is_synced(const struct scheduler *s)
{
    bool all = cache_is_synced(s->pods) && cache_is_synced(s->groups);

    for (int i = 0; i < OWN_COUNT; i++)
        all = all && (cache_is_synced(s->own[i].cache) ||
                      (i == CONFIGS && cache_trouble(s->own[i].cache)));
    return all;
}

static void work(void *arg, const char *key)
{
    struct scheduler *s = arg;

    if (!is_synced(s) || rests(s))
        queue_done(s->queue, key, QUEUE_OK); /* comes again with the next change */
    else if (!mend_ledger(s))
        queue_done(s->queue, key, QUEUE_RETRY);
    else
        look(s);
}

/* --- changes ---------------------------------------------------------------------------------- */

void scheduler_on_pod(struct scheduler *s, enum cache_event event, const struct json *pod)
{
    if (s->ledger)
        ledger_pod(s->ledger, pod, event == CACHE_DELETED);
    queue_add(s->queue, LOOK_KEY);
}

void scheduler_on_group(struct scheduler *s, enum cache_event event, const struct json *group)
{
    if (s->ledger)
        ledger_group(s->ledger, group, event == CACHE_DELETED);
    queue_add(s->queue, LOOK_KEY);
}

void scheduler_on_synced(struct scheduler *s)
{
    queue_add(s->queue, LOOK_KEY);
}

static void on_own(void *arg, enum cache_event event, const struct json *object,
                   const struct json *old)
{
    const struct source *source = arg;
    struct scheduler *s = source->scheduler;
    const struct kind *k = source->kind;
    bool gone = event == CACHE_DELETED;

    (void)old;
    if (!s->ledger)
        return;
    if (k == &kind_node)
        ledger_node(s->ledger, object, gone);
    else if (k == &kind_queue)
        ledger_queue(s->ledger, object, gone);
    else if (k == &kind_namespace)
        ledger_namespaces_changed(s->ledger);
    else
        configure(s);
    queue_add(s->queue, LOOK_KEY);
}

static void on_own_synced(void *arg)
{
    const struct source *source = arg;

    if (source->kind == &kind_config_map)
        configure(source->scheduler);
    scheduler_on_synced(source->scheduler);
}

static void on_trouble(void *arg, const struct err *err)
{
    const struct source *source = arg;

    trouble_say(source->scheduler->trouble, source->kind, err);
    if (source->kind == &kind_config_map)
        scheduler_on_synced(source->scheduler);
}

const char *scheduler_trouble(const struct scheduler *s)
{
    const char *why = NULL;

    for (int i = 0; i < OWN_COUNT && !why; i++)
        why = cache_trouble(s->own[i].cache);
    return why;
}

/* --- life ------------------------------------------------------------------------------------- */

static bool open_caches(struct scheduler *s, const struct scheduler_options *o)
{
    static const struct {
        const struct kind *kind;
        const char *ns, *query;
    } own[OWN_COUNT] = {
        [NODES] = {&kind_node, NULL, NULL},
        [QUEUES] = {&kind_queue, QUEUE_NAMESPACE, NULL},
        [NAMESPACES] = {&kind_namespace, NULL, NULL},
        [CONFIGS] = {&kind_config_map, QUEUE_NAMESPACE,
                     "fieldSelector=metadata.name%3D" SCHEDULER_CONFIG_NAME},
    };

    for (int i = 0; i < OWN_COUNT; i++) {
        s->own[i].scheduler = s;
        s->own[i].kind = own[i].kind;
        s->own[i].cache = cache_new(&(struct cache_options){.transport = o->transport,
                                                            .clock = o->clock,
                                                            .kind = own[i].kind,
                                                            .ns = own[i].ns,
                                                            .query = own[i].query,
                                                            .on_change = on_own,
                                                            .on_synced = on_own_synced,
                                                            .on_trouble = on_trouble,
                                                            .arg = &s->own[i]});
        if (!s->own[i].cache)
            return false;
    }
    return true;
}

struct scheduler *scheduler_new(const struct scheduler_options *o)
{
    struct scheduler *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->clock = o->clock;
    s->applier = o->applier;
    s->pods = o->pods;
    s->groups = o->groups;
    s->trouble = o->trouble;
    s->overcommit = o->overcommit;
    s->beside_default = o->beside_default;
    s->queue = queue_new(o->clock, 1, work, s);
    if (s->queue && open_caches(s, o))
        return s;
    scheduler_free(s);
    return NULL;
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    for (int i = 0; i < OWN_COUNT; i++)
        cache_free(s->own[i].cache);
    queue_free(s->queue);
    forget_awaited(s);
    ledger_free(s->ledger);
    free(s);
}
