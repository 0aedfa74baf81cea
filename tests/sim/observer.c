/*
 * observer.c - sees every commit, in order, and every process; remembers what the API may not
 * (attempts that are gone, what really happened to them) and says what must not happen, at the
 * moment it does. What must be so in the end is in verdict.c.
 *
 * It trusts nothing that the code under test concluded: restarts are counted by pods made after
 * pods that ended, not by status.backoffCount.
 */
#include "observer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/quantity.h"
#include "core/job_view.h"

#define ITEM_BYTES (16u * 1024u * 1024u)

/* --- what is committed -------------------------------------------------------------------------
 */

static void item_free(void *value)
{
    struct item *i = value;

    blob_unref(i->value);
    arena_release(&i->arena);
    free(i);
}

static const struct json *item_json(struct item *i)
{
    if (!i)
        return NULL;
    if (!i->json)
        i->json = json_parse(&i->arena, i->value->data, i->value->len, NULL);
    return i->json;
}

struct shelf *observer_shelf(struct observer *o, const char *collection)
{
    struct shelf *s = map_gets(&o->shelves, collection);

    if (s)
        return s;
    s = calloc(1, sizeof(*s));
    if (!s || map_puts(&o->shelves, collection, s, NULL) < 0)
        abort();
    return s;
}

const struct json *observer_get(struct observer *o, const char *collection, const char *key)
{
    return item_json(map_gets(&observer_shelf(o, collection)->items, key));
}

void observer_each(struct observer *o, const char *collection,
                   void (*fn)(void *arg, const char *key, const struct json *object), void *arg)
{
    map_for_each (n, &observer_shelf(o, collection)->items)
        fn(arg, n->key, item_json(n->value));
}

static const char *const job_collections[] = {PYTORCH_JOBS, MPI_JOBS};

static bool is_jobs(const char *collection)
{
    for (size_t i = 0; i < ELEMS(job_collections); i++)
        if (strcmp(job_collections[i], collection) == 0)
            return true;
    return false;
}

void observer_each_job(struct observer *o,
                       void (*fn)(void *arg, const char *key, const struct json *object), void *arg)
{
    for (size_t i = 0; i < ELEMS(job_collections); i++)
        observer_each(o, job_collections[i], fn, arg);
}

static const struct json *get_job(struct observer *o, const struct job_record *j)
{
    return j ? observer_get(o, j->led ? MPI_JOBS : PYTORCH_JOBS, j->key) : NULL;
}

struct pod_record *observer_pod(struct observer *o, const char *uid)
{
    return map_gets(&o->pods, uid);
}

struct job_record *observer_job(struct observer *o, const char *uid)
{
    return uid ? map_gets(&o->jobs, uid) : NULL;
}

static void remember(struct shelf *s, const struct change *c, bool was)
{
    if (s->history_len == s->history_cap) {
        s->history_cap = s->history_cap ? s->history_cap * 2 : 64;
        s->history = reallocarray(s->history, s->history_cap, sizeof(*s->history));
        assert(s->history);
    }
    s->history[s->history_len++] = (struct past){.revision = c->revision,
                                                 .key = strdup(c->key),
                                                 .type = c->deletion ? STORE_DELETED
                                                         : was       ? STORE_MODIFIED
                                                                     : STORE_ADDED};
}

/* --- pods --------------------------------------------------------------------------------------
 */

static const char *phase_of(const struct json *object)
{
    return json_string(json_at(object, "status", "phase"), "");
}

static bool is_lost(const struct json *pod)
{
    return json_string_is(json_at(pod, "status", "reason"), "NodeLost") ||
           json_string_is(json_at(pod, "status", "reason"), "ContainerStatusUnknown");
}

static int reported_code(const struct json *pod)
{
    int code = 0;

    json_each (c, json_at(pod, "status", "containerStatuses")) {
        int64_t one = json_int(json_at(c, "state", "terminated", "exitCode"), 0);

        code = one ? (int)one : code;
    }
    return code;
}

/* A pod that takes the place of one that ended by itself was a restart, and must have been paid
 * for. */
static void count_restart(struct observer *o, struct job_record *j, const struct pod_record *new,
                          const struct pod_record *old)
{
    intptr_t of_name;
    int64_t spent;

    if (!old || !old->ended_by_itself || old->excused || old->lost || old->by_hand ||
        old->epoch != j->epoch)
        return;
    j->charges++;
    of_name = (intptr_t)map_gets(&j->name_charges, new->key) + 1;
    if (map_puts(&j->name_charges, new->key, (void *)of_name, NULL) < 0)
        abort();
    spent = j->scope_job_ever ? of_name : j->charges;
    if (spent > j->limit_max)
        violate(o->sim, "restart budget exceeded: %s is replaced, restart %lld of at most %lld",
                new->key, (long long)spent, (long long)j->limit_max);
    if (spent > j->backoff_count)
        violate(o->sim, "%s is replaced before its restart was charged (%lld > backoffCount %lld)",
                new->key, (long long)spent, (long long)j->backoff_count);
}

static void check_owner(struct observer *o, const struct job_record *j, const char *key)
{
    const struct json *job = get_job(o, j);

    if (!job || strcmp(object_uid(job), j->uid) != 0 || object_is_deleting(job))
        violate(o->sim, "%s was made for a job that is gone", key);
}

static void pod_added(struct observer *o, const char *key, const struct json *pod)
{
    struct pod_record *p = calloc(1, sizeof(*p));
    const char *attempt = object_annotation(pod, ANNOTATION_ATTEMPT);
    const char *owner = json_get_string(object_controller(pod), "uid", NULL);
    struct job_record *j = observer_job(o, owner);
    void *old = NULL;

    assert(p);
    p->uid = strdup(object_uid(pod));
    p->key = strdup(key);
    p->job_uid = owner ? strdup(owner) : NULL;
    p->foreign = !owner;
    p->exit_code = -1;
    p->attempt = attempt ? strtoll(attempt, NULL, 10) : 0;
    json_each (c, json_at(pod, "spec", "containers")) {
        const struct json *limit = json_at(c, "resources", "limits", "cpu");
        const struct json *asked = json_at(c, "resources", "requests", "cpu");

        p->milli_cpus += quantity_json_milli(asked ? asked : limit, 0);
    }
    if (map_puts(&o->pods, p->uid, p, NULL) < 0)
        abort();
    say(o->sim, "pod   %s made (%.8s, attempt %lld)", key, p->uid, (long long)p->attempt);
    if (!j)
        return;
    check_owner(o, j, key);
    p->epoch = j->epoch;
    p->generation = j->generation;
    if (map_puts(&j->last_pod, key, p, &old) < 0)
        abort();
    count_restart(o, j, p, old);
}

static bool clock_jumped(const struct sim *s)
{
    return s->fired[FAULT_CLOCK_FORWARD] || s->fired[FAULT_CLOCK_BACK];
}

static void pod_finished(struct observer *o, struct pod_record *p, const struct json *pod)
{
    int code = reported_code(pod);
    bool succeeded = strcmp(phase_of(pod), "Succeeded") == 0;
    struct job_record *j = observer_job(o, p->job_uid);

    p->finished = true;
    p->lost = is_lost(pod);
    if (j && p->lost)
        j->lost_some = true;
    p->ended_by_itself = !p->deleting || (p->process_ended && !p->stopped);
    p->excused = p->deleting && !succeeded && j && j->last_pod.count > 1;
    if (p->lost && !p->process_lost &&
        !json_string_is(json_at(pod, "status", "reason"), "NodeLost"))
        violate(o->sim, "%s is said to be lost, it is not", p->key);
    if (!p->lost && p->process_ended && (succeeded ? 0 : code) != p->exit_code)
        violate(o->sim, "%s is said to have ended with %d, it was %d", p->key, code, p->exit_code);
    if (!p->lost && p->started && !p->process_ended)
        violate(o->sim, "%s is said to have ended, it %s", p->key,
                p->process_lost ? "was lost" : "runs");
    /* With a clock that jumps nobody can tell which came first, the end or the deletion. */
    if (j && !p->lost && (p->ended_by_itself || (p->process_ended && clock_jumped(o->sim))))
        j->own_ends++;
}

/* How often the job's status says that the replica was restarted; -1: it is not one (any more). */
static int64_t restarts_of(const struct json *job, const char *pod_name)
{
    json_each (task, json_at(job, "status", "tasks"))
        json_each (r, json_get(task, "replicas"))
            if (json_string_is(json_get(r, "name"), pod_name))
                return json_get_int(r, "restartCount", 0);
    return -1;
}

/* Or did that long ago. */
static bool high_job_waits(struct observer *o, int64_t ago_ms)
{
    map_for_each (n, &o->jobs) {
        const struct job_record *j = n->value;

        if (j->high && (!j->ended_ms || sim_loop_now(o->sim->loop) <= j->ended_ms + ago_ms))
            return true;
    }
    return false;
}

static void note_end(const struct observer *o, struct job_record *j)
{
    if (!j->ended_ms)
        j->ended_ms = sim_loop_now(o->sim->loop);
}

static bool is_marked(const struct json *pod)
{
    return json_has(json_at(pod, "metadata", "finalizers"), FINALIZER_TRACKING);
}

/* The scheduler learns late that the job for which it evicts has ended, and its request comes late;
 * after that it has to leave the pod alone. */
static void check_mark(struct observer *o, struct pod_record *p)
{
    if (high_job_waits(o, 2 * LATE_MS))
        p->marked_ms = sim_loop_now(o->sim->loop);
    else
        violate(o->sim, "%s is evicted, and nobody waits for its room", p->key);
}

/* Its deletion follows when the answer to that has come. */
static bool is_being_evicted(const struct observer *o, const struct pod_record *p)
{
    return p->marked_ms && sim_loop_now(o->sim->loop) <= p->marked_ms + 2 * LATE_MS;
}

static void kill_all(struct sim *s)
{
    world_kill_server(s);
    world_kill_controller(s);
    world_kill_agent(s);
}

static void kill_after_eviction(void *arg)
{
    static void (*const kills[])(struct sim *) = {world_kill_server, world_kill_controller,
                                                  world_kill_agent, kill_all};

    kills[rand_below(ELEMS(kills))](arg);
}

static void at_eviction(struct sim *s, const struct pod_record *p)
{
    if (fault(s, FAULT_ENDS_AT_EVICTION))
        sim_runtime_hurry(s->runtime, p->uid);
    if (fault(s, FAULT_KILLED_AT_EVICTION))
        (void)clock_start(s->clock, rand_below(60), kill_after_eviction, s);
}

/* Of a job that goes on, only what was superseded, lost or is too many may go, and what a higher
 * queue's job takes the place of. */
static void check_deletion(struct observer *o, struct pod_record *p, const struct json *pod)
{
    const struct job_record *j = observer_job(o, p->job_uid);
    const struct json *job = get_job(o, j);
    int64_t restarts = restarts_of(job, object_name(pod));
    bool goes_along = j && j->led && j->lost_some &&
                      json_string_is(json_get(object_labels(pod), LABEL_JOB_ROLE), "master");

    if (p->foreign && !p->by_hand)
        violate(o->sim, "the foreign pod %s is being deleted", p->key);
    if (!job || strcmp(object_uid(job), j->uid) != 0 || object_is_deleting(job))
        return;
    if (p->by_hand || p->lost || j->final || restarts < 0 || p->attempt < restarts + j->pause_count)
        return;
    if (!j->high && (high_job_waits(o, 0) || is_being_evicted(o, p))) {
        observer_job(o, p->job_uid)->lost_some = true; /* its launcher may have to follow */
        at_eviction(o->sim, p);
        return;
    }
    if (goes_along) {
        p->by_hand = true; /* as if: it is replaced like the one it goes with */
        return;
    }
    violate(o->sim, "%s (attempt %lld) is deleted, and there is no reason for it", p->key,
            (long long)p->attempt);
}

static void pod_changed(struct observer *o, const char *key, const struct json *old,
                        const struct json *pod)
{
    struct pod_record *p = observer_pod(o, object_uid(pod));
    const char *before = phase_of(old), *now = phase_of(pod);
    const char *node = json_string(json_at(old, "spec", "nodeName"), "");

    if (!p || strcmp(object_uid(old), object_uid(pod)) != 0) {
        violate(o->sim, "%s became another pod without being deleted", key);
        return;
    }
    if (p->finished && strcmp(before, now) != 0)
        violate(o->sim, "%s was %s and is %s", key, before, now);
    if (*node && strcmp(node, json_string(json_at(pod, "spec", "nodeName"), "")) != 0)
        violate(o->sim, "%s moved from node %s", key, node);
    if (strcmp(before, now) != 0)
        say(o->sim, "pod   %s %s -> %s", key, before, now);
    if (!p->finished && (strcmp(now, "Succeeded") == 0 || strcmp(now, "Failed") == 0))
        pod_finished(o, p, pod);
    if (!is_marked(old) && is_marked(pod))
        check_mark(o, p);
    if (!p->deleting && object_is_deleting(pod)) {
        p->deleting = true;
        say(o->sim, "pod   %s is being deleted", key);
        check_deletion(o, p, pod);
    }
}

static bool node_is_given_up(struct observer *o)
{
    return json_string_is(
        json_get(object_condition(observer_get(o, NODES, "node"), "Ready"), "status"), "Unknown");
}

static void pod_removed(struct observer *o, const char *key, const struct json *old)
{
    struct pod_record *p = observer_pod(o, object_uid(old));

    say(o->sim, "pod   %s gone (%.8s)", key, object_uid(old));
    if (!p)
        return;
    p->gone = true;
    if (!p->deleting)
        check_deletion(o, p, old);
    if (p->started && !p->process_ended && !p->process_lost && !p->lost && !p->by_hand &&
        !node_is_given_up(o))
        violate(o->sim, "%s is gone from the API while its process runs", key);
    if (p->process_ended && !p->process_lost && !p->stopped && !p->finished && !p->by_hand &&
        !node_is_given_up(o))
        violate(o->sim, "%s is gone from the API, and how it ended was never told", key);
    user_saw_gone(o->sim->user, old);
}

/* --- jobs --------------------------------------------------------------------------------------
 */

static const struct {
    const char *from, *to; /* a list of words */
} edges[] = {
    {"", "Pending Running Paused Failed"},
    {"Pending", "Running Paused Succeeded Failed Unknown"},
    {"Running", "Pending Paused Succeeded Failed Unknown"},
    {"Paused", "Resuming Running Succeeded Failed"},
    {"Resuming", "Running Paused Succeeded Failed Unknown"},
    {"Unknown", "Pending Running Paused Succeeded Failed"},
    {"Succeeded", ""},
    {"Failed", ""},
};

static bool edge_allowed(const char *from, const char *to)
{
    for (size_t i = 0; i < ELEMS(edges); i++)
        if (strcmp(edges[i].from, from) == 0)
            return *to && strstr(edges[i].to, to);
    return false;
}

static void job_added(struct observer *o, const char *key, const struct json *job)
{
    struct job_record *j = calloc(1, sizeof(*j));

    assert(j);
    j->uid = strdup(object_uid(job));
    j->key = strdup(key);
    j->led = kind_of_object(job) == &kind_mpi_job;
    j->high = json_string_is(json_at(job, "spec", "scheduler", "t9kScheduler", "queue"),
                             HIGH_QUEUE);
    j->scope_job_ever = j->led; /* what is renewed together costs one, whatever the scope */
    if (map_puts(&o->jobs, j->uid, j, NULL) < 0)
        abort();
    say(o->sim, "job   %s made (%.8s)", key, j->uid);
    user_saw_job(o->sim->user, job);
}

static void read_job_spec(struct job_record *j, const struct json *job)
{
    const struct json *policy = json_at(job, "spec", "runPolicy");
    bool pause = json_bool(json_at(job, "spec", "runMode", "pause", "enabled"), false);
    int64_t expected = json_int(json_at(job, "spec", "elastic", "expectedReplicas"), 0);

    j->limit_max = max_i64(j->limit_max, json_get_int(policy, "backoffLimit", 3));
    j->scope_job_now = json_string_is(json_get(policy, "restartScope"), "Job") ||
                       (j->led && !json_get(policy, "restartScope"));
    j->scope_job_ever |= j->scope_job_now;
    if (j->final && strcmp(json_get_string(policy, "cleanUpPolicy", ""), j->clean_up) != 0)
        j->clean_up_edited = true;
    if (pause != j->pause_wanted || expected != j->expected)
        j->epoch++; /* pods made after this may replace finished ones for other reasons */
    j->pause_wanted = pause;
    j->expected = expected;
}

/* Only pods of this very job may be spoken of. */
static void check_replica_uids(struct observer *o, const struct job_record *j,
                               const struct json *job)
{
    json_each (task, json_at(job, "status", "tasks"))
        json_each (r, json_get(task, "replicas")) {
            const char *uid = json_get_string(r, "uid", NULL);
            const struct pod_record *p = uid ? observer_pod(o, uid) : NULL;

            if (uid && (!p || !p->job_uid || strcmp(p->job_uid, j->uid) != 0))
                violate(o->sim, "job %s has adopted pod %s (%s), which is not its own", j->key,
                        json_get_string(r, "name", ""), uid);
        }
}

static void check_counts(struct observer *o, struct job_record *j, const struct json *job)
{
    int64_t backoffs = json_int(json_at(job, "status", "backoffCount"), 0);
    int64_t pauses = json_int(json_at(job, "status", "pauseCount"), 0);

    if (backoffs < j->backoff_count)
        violate(o->sim, "job %s: backoffCount fell from %lld to %lld", j->key,
                (long long)j->backoff_count, (long long)backoffs);
    if (pauses < j->pause_count)
        violate(o->sim, "job %s: pauseCount fell", j->key);
    if (backoffs > j->limit_max)
        violate(o->sim, "job %s: backoffCount %lld of at most %lld", j->key, (long long)backoffs,
                (long long)j->limit_max);
    if (backoffs > j->own_ends)
        violate(o->sim, "job %s: charged %lld restarts, %lld replicas ended by themselves", j->key,
                (long long)backoffs, (long long)j->own_ends);
    if (backoffs > j->backoff_count && j->scope_job_now)
        j->generation++;
    j->backoff_count = backoffs;
    j->pause_count = pauses;
}

static void keep_finished(void *arg, const char *key, const struct json *pod)
{
    struct keeping *k = arg;
    struct pod_record *p = observer_pod(k->observer, object_uid(pod));

    (void)key;
    if (p && p->job_uid && strcmp(p->job_uid, k->job->uid) == 0 && p->finished && !p->deleting &&
        map_puts(&k->job->kept, p->uid, p, NULL) < 0)
        abort();
}

static void job_ended(struct observer *o, struct job_record *j, const struct json *job)
{
    struct keeping k = {.observer = o, .job = j};

    j->final = true;
    note_end(o, j);
    (void)snprintf(j->completion, sizeof(j->completion), "%s",
                   json_string(json_at(job, "status", "completionTime"), ""));
    (void)snprintf(j->clean_up, sizeof(j->clean_up), "%s",
                   json_string(json_at(job, "spec", "runPolicy", "cleanUpPolicy"), ""));
    if (!*j->completion)
        violate(o->sim, "job %s ended without a completionTime", j->key);
    if (strcmp(phase_of(job), "Succeeded") == 0 && !j->master_succeeded)
        violate(o->sim, "job %s has succeeded, its master has not", j->key);
    observer_each(o, PODS, keep_finished, &k);
}

static void check_phase(struct observer *o, struct job_record *j, const struct json *job)
{
    const char *now = phase_of(job);

    if (j->final &&
        strcmp(j->completion, json_string(json_at(job, "status", "completionTime"), "")) != 0)
        violate(o->sim, "job %s: the completionTime of an ended job changed", j->key);
    if (strcmp(j->phase, now) == 0)
        return;
    say(o->sim, "job   %s %s -> %s (%s), backoffCount %lld", j->key, j->phase, now,
        json_string(json_at(job, "status", "reason"), ""),
        (long long)json_int(json_at(job, "status", "backoffCount"), 0));
    if (!edge_allowed(j->phase, now))
        violate(o->sim, "job %s went from \"%s\" to \"%s\"", j->key, j->phase, now);
    (void)snprintf(j->phase, sizeof(j->phase), "%s", now);
    if (strcmp(now, "Succeeded") == 0 || strcmp(now, "Failed") == 0)
        job_ended(o, j, job);
}

static void job_changed(struct observer *o, const char *key, const struct json *job)
{
    struct job_record *j = observer_job(o, object_uid(job));

    if (!j) {
        violate(o->sim, "job %s changed its UID", key);
        return;
    }
    read_job_spec(j, job);
    check_counts(o, j, job);
    check_phase(o, j, job);
    check_replica_uids(o, j, job);
}

static void job_removed(struct observer *o, const char *key, const struct json *job)
{
    struct job_record *j = observer_job(o, object_uid(job));
    bool expires = json_at(job, "spec", "runPolicy", "ttlSecondsAfterFinished");

    say(o->sim, "job   %s gone (%.8s)", key, object_uid(job));
    if (!j)
        return;
    j->gone = true;
    note_end(o, j);
    if (!j->gone_by_user && !(j->final && expires))
        violate(o->sim, "job %s was deleted, nobody asked for it", key);
}

/* --- commits -----------------------------------------------------------------------------------
 */

static void tell_pod(struct observer *o, const char *key, const struct json *old,
                     const struct json *now)
{
    if (!old)
        pod_added(o, key, now);
    else if (!now)
        pod_removed(o, key, old);
    else
        pod_changed(o, key, old, now);
}

static void tell_job(struct observer *o, const char *key, const struct json *old,
                     const struct json *now)
{
    if (!old)
        job_added(o, key, now);
    if (now)
        job_changed(o, key, now);
    else
        job_removed(o, key, old);
}

static void commit_one(struct observer *o, const struct change *c)
{
    struct shelf *s = observer_shelf(o, c->collection_name);
    struct item *old = map_gets(&s->items, c->key), *new = NULL;
    bool pods = strcmp(c->collection_name, PODS) == 0;
    bool jobs = is_jobs(c->collection_name);

    if (c->revision <= o->revision)
        violate(o->sim, "revision %lld was committed after %lld", (long long)c->revision,
                (long long)o->revision);
    o->revision = c->revision;
    remember(s, c, old);
    if (!c->deletion) {
        new = calloc(1, sizeof(*new));
        assert(new);
        arena_init(&new->arena, ITEM_BYTES);
        new->revision = c->revision;
        new->value = blob_ref(c->value);
        if (map_puts(&s->items, c->key, new, NULL) < 0)
            abort();
    } else {
        (void)map_removes(&s->items, c->key);
    }
    if (pods || jobs)
        o->last_news_ms = sim_loop_now(o->sim->loop);
    if (pods)
        tell_pod(o, c->key, item_json(old), item_json(new));
    if (jobs)
        tell_job(o, c->key, item_json(old), item_json(new));
    if (old)
        item_free(old);
}

void observer_commit(struct observer *o, const struct change *first)
{
    for (; first; first = first->next)
        commit_one(o, first);
}

/* --- what was told, what is kept -----------------------------------------------------------------
 */

static bool count_item(void *arg, const struct store_item *item)
{
    struct counting *c = arg;
    const struct item *mine = map_gets(&c->shelf->items, item->key);

    c->count++;
    if (!mine || mine->revision != item->revision || mine->value->len != item->value->len ||
        memcmp(mine->value->data, item->value->data, mine->value->len) != 0)
        violate(c->observer->sim, "after a restart %s is not as it was committed", item->key);
    return true;
}

void observer_opened(struct observer *o, struct store *store)
{
    if (store_revision(store) < o->revision)
        violate(o->sim, "the revision went back from %lld to %lld", (long long)o->revision,
                (long long)store_revision(store));
    map_for_each (n, &o->shelves) {
        struct counting c = {.observer = o, .shelf = n->value};
        struct store_collection *collection = store_collection(store, n->key);

        store_list(collection, NULL, NULL, count_item, &c);
        if (c.count != c.shelf->items.count)
            violate(o->sim, "after a restart %s has %zu objects, %zu were committed", n->key,
                    c.count, c.shelf->items.count);
    }
}

static int64_t revision_in(const char *text, size_t len)
{
    static const char mark[] = "\"resourceVersion\":\"";
    const char *at = memmem(text, len, mark, strlen(mark));

    return at ? strtoll(at + strlen(mark), NULL, 10) : 0;
}

void observer_acknowledged(struct observer *o, const struct api_call *call,
                           const struct api_reply *reply)
{
    if (strcmp(call->method, "GET") == 0 || reply->status < 200 || reply->status > 299)
        return;
    if (revision_in(reply->body, reply->body_len) > o->revision)
        violate(o->sim, "%s %s was acknowledged before it was on disk", call->method, call->path);
}

/* "/apis/G/V/namespaces/N/PLURAL?..." -> "G/PLURAL" and "N/". */
static bool read_path(const char *path, char collection[256], char prefix[256])
{
    const char *group = "", *at = path + strlen("/api/v1/"), *end;
    size_t group_len = 0;

    *prefix = '\0';
    if (strncmp(path, "/apis/", 6) == 0) {
        group = path + 6;
        group_len = strcspn(group, "/");
        at = group + group_len + 1;
        at += strcspn(at, "/") + 1;
    }
    if (strncmp(at, "namespaces/", 11) == 0 && strchr(at + 11, '/')) {
        at += 11;
        end = strchr(at, '/');
        (void)snprintf(prefix, 256, "%.*s/", (int)(end - at), at);
        at = end + 1;
    }
    (void)snprintf(collection, 256, "%.*s/%.*s", (int)group_len, group, (int)strcspn(at, "?"), at);
    return !strstr(path, "Selector=");
}

/* The first change after a revision that a watch must tell. */
static const struct past *next_change(const struct shelf *s, int64_t after, const char *prefix)
{
    size_t low = 0, high = s->history_len;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (s->history[middle].revision > after)
            high = middle;
        else
            low = middle + 1;
    }
    while (low < s->history_len && strncmp(s->history[low].key, prefix, strlen(prefix)) != 0)
        low++;
    return low < s->history_len ? &s->history[low] : NULL;
}

void observer_watch_line(struct observer *o, const char *path, int64_t *last_revision,
                         const char *line, size_t len)
{
    static const char *const types[] = {
        [STORE_ADDED] = "ADDED", [STORE_MODIFIED] = "MODIFIED", [STORE_DELETED] = "DELETED"};
    int64_t revision = revision_in(line, len);
    char collection[256], prefix[256], head[64];
    bool whole = read_path(path, collection, prefix);
    const char *from = strstr(path, "resourceVersion=");
    const struct past *due;

    if (*last_revision == 0 && from)
        *last_revision = strtoll(from + strlen("resourceVersion="), NULL, 10);
    due = next_change(observer_shelf(o, collection), *last_revision, prefix);
    if (len > 14 && strncmp(line, "{\"type\":\"ERROR", 14) == 0)
        return;
    if (strncmp(line, "{\"type\":\"BOOKMARK", 17) == 0) {
        if (revision > o->revision || (whole && due && due->revision <= revision))
            violate(o->sim, "a bookmark of %s is ahead of what was told: %lld", path,
                    (long long)revision);
        *last_revision = max_i64(revision, *last_revision);
        return;
    }
    if (revision <= *last_revision || revision > o->revision)
        violate(o->sim, "watch %s told revision %lld after %lld", path, (long long)revision,
                (long long)*last_revision);
    *last_revision = revision;
    if (!whole)
        return;
    (void)snprintf(head, sizeof(head), "{\"type\":\"%s\"", due ? types[due->type] : "?");
    if (!due || due->revision != revision || strncmp(line, head, strlen(head)) != 0)
        violate(o->sim, "watch %s told %.30s at %lld, due was %s at %lld", path, line,
                (long long)revision, due ? types[due->type] : "nothing",
                due ? (long long)due->revision : 0LL);
}

/* --- processes ---------------------------------------------------------------------------------
 */

void observer_by_hand(struct observer *o, const char *uid)
{
    struct pod_record *p = observer_pod(o, uid);
    struct job_record *j = p ? observer_job(o, p->job_uid) : NULL;

    if (p)
        p->by_hand = true;
    if (j)
        j->lost_some = true;
}

void observer_job_deleted_by_user(struct observer *o, const char *uid)
{
    struct job_record *j = observer_job(o, uid);

    if (j)
        j->gone_by_user = true;
}

static bool share_gpu(const char *a, const char *b)
{
    for (; a && b && *a; a += strcspn(a, ",") + (strchr(a, ',') ? 1 : 0)) {
        size_t n = strcspn(a, ",");

        for (const char *q = b; *q; q += strcspn(q, ",") + (strchr(q, ',') ? 1 : 0))
            if (strcspn(q, ",") == n && strncmp(a, q, n) == 0)
                return true;
    }
    return false;
}

/* One that starts beside one that runs. */
static void check_neighbours(struct starting *st, const struct process *other)
{
    struct observer *o = st->observer;
    const struct process *p = st->process;
    const struct pod_record *mine = st->record, *theirs = observer_pod(o, other->uid);
    const struct job_record *j = observer_job(o, mine->job_uid);
    bool same_job = mine->job_uid && theirs->job_uid && strcmp(mine->job_uid, theirs->job_uid) == 0;

    st->milli_cpus += theirs->milli_cpus;
    if (strcmp(p->ns, other->ns) == 0 && strcmp(p->name, other->name) == 0)
        violate(o->sim, "%s starts while an older process of that name runs", mine->key);
    else if (same_job && p->rank && other->rank && strcmp(p->rank, other->rank) == 0)
        violate(o->sim, "%s starts with the rank %s of %s, which runs", mine->key, p->rank,
                theirs->key);
    if (same_job && j && mine->generation != theirs->generation)
        violate(o->sim, "%s starts while %s runs, which is of an older group", mine->key,
                theirs->key);
    if (!same_job && p->port && other->port && strcmp(p->port, other->port) == 0)
        violate(o->sim, "%s starts with MASTER_PORT %s of %s, which runs", mine->key, p->port,
                theirs->key);
    if (share_gpu(p->gpus, other->gpus))
        violate(o->sim, "%s starts with GPUs %s, %s has %s", mine->key, p->gpus, theirs->key,
                other->gpus);
}

static void see_neighbour(void *arg, struct process *other)
{
    struct starting *st = arg;

    if (other != st->process && other->run.alive)
        check_neighbours(st, other);
}

void observer_started(struct observer *o, struct process *p)
{
    struct pod_record *record = observer_pod(o, p->uid);
    struct starting st = {.observer = o, .process = p, .record = record};

    if (!record) {
        violate(o->sim, "a process is started for no pod: %s", p->name);
        return;
    }
    if (record->started && (!record->process_lost ||
                            strcmp(phase_of(observer_get(o, PODS, record->key)), "Pending") != 0))
        violate(o->sim, "%s (%s) is started twice", record->key, p->uid);
    record->started = true;
    record->process_lost = record->process_ended =
        false; /* lost with its machine before it was reported */
    sim_runtime_each(o->sim->runtime, see_neighbour, &st);
    if (st.milli_cpus + record->milli_cpus > sim_machine.cpus * 1000)
        violate(o->sim, "%s starts: %lld thousandths of a CPU promised, there are %lld CPUs",
                record->key, (long long)(st.milli_cpus + record->milli_cpus),
                (long long)sim_machine.cpus);
}

void observer_ended(struct observer *o, const struct process *p, bool lost)
{
    struct pod_record *record = observer_pod(o, p->uid);
    struct job_record *j = record ? observer_job(o, record->job_uid) : NULL;

    if (!record || (lost && record->finished)) /* its end was told before it was lost */
        return;
    if (lost) { /* how it had ended may be under way all the same */
        record->process_lost = true;
        return;
    }
    record->process_ended = true;
    record->exit_code = p->exit_code;
    if (j && p->exit_code == 0 && (p->launches || (p->rank && strcmp(p->rank, "0") == 0)))
        j->master_succeeded = true;
}

void observer_stopped(struct observer *o, const struct process *p)
{
    struct pod_record *record = observer_pod(o, p->uid);

    if (!record)
        return;
    record->stopped = true;
    if (!record->deleting && !record->gone && !record->finished)
        violate(o->sim, "%s is told to stop, nobody deleted it", record->key);
}

/* --- life --------------------------------------------------------------------------------------
 */

struct observer *observer_new(struct sim *s)
{
    struct observer *o = calloc(1, sizeof(*o));

    assert(o);
    o->sim = s;
    return o;
}

static void pod_record_free(void *value)
{
    struct pod_record *p = value;

    free(p->uid);
    free(p->key);
    free(p->job_uid);
    free(p);
}

static void job_record_free(void *value)
{
    struct job_record *j = value;

    map_release(&j->last_pod, NULL);
    map_release(&j->name_charges, NULL);
    map_release(&j->kept, NULL);
    free(j->uid);
    free(j->key);
    free(j);
}

static void shelf_free(void *value)
{
    struct shelf *s = value;

    for (size_t i = 0; i < s->history_len; i++)
        free(s->history[i].key);
    free(s->history);
    map_release(&s->items, item_free);
    free(s);
}

void observer_free(struct observer *o)
{
    map_release(&o->shelves, shelf_free);
    map_release(&o->jobs, job_record_free);
    map_release(&o->pods, pod_record_free);
    free(o);
}
