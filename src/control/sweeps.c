/* sweeps.c - see sweeps.h. Tracks the state of each job of a sweep, as the watch reports it. */
#include "control/sweeps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "base/map.h"
#include "client/client.h"
#include "client/queue.h"

#define IN_WORK_LIMIT 4
#define KEY_SIZE 600
#define PATCH_LIMIT_BYTES 4096u

enum standing { IDLE, WAITS, RUNS }; /* IDLE: it has ended, or a user paused it */

struct member {
    struct member *next;
    const struct kind *kind;
    char *name, uid[64];
    int64_t created_ms;
    long parallel;
    enum standing standing;
    bool resumed; /* by us: earlier states from the watch do not count */
};

struct sweep {
    struct sweeps *all;
    char *ns, *key;
    struct member *members;
    struct member *resuming; /* NULL, with in_work set, if it is gone */
    bool in_work;
};

struct sweeps {
    struct transport *transport;
    struct queue *queue;
    struct map sweeps; /* "namespace/name" -> struct sweep */
    bool ready;
};

/* --- members --- */

static const char *write_key(char key[KEY_SIZE], const struct json *job)
{
    const char *name = object_label(job, LABEL_SWEEP);

    if (!name || !*name)
        return NULL;
    (void)snprintf(key, KEY_SIZE, "%s/%s", object_namespace(job), name);
    return key;
}

static enum standing standing_of(const struct json *job)
{
    if (object_has_ended(job) || object_is_deleting(job))
        return IDLE;
    if (!json_bool(json_at(job, "spec", "runMode", "pause", "enabled"), false))
        return RUNS;
    return object_annotation(job, ANNOTATION_SWEEP_TURN) ? WAITS : IDLE;
}

static void member_free(struct member *m)
{
    free(m->name);
    free(m);
}

static void sweep_free(void *value)
{
    struct sweep *w = value;

    client_forget(w);
    for (struct member *m = w->members, *next; m; m = next) {
        next = m->next;
        member_free(m);
    }
    free(w->ns);
    free(w->key);
    free(w);
}

static struct member **find_member(struct sweep *w, const char *uid)
{
    struct member **at = &w->members;

    while (*at && strcmp((*at)->uid, uid) != 0)
        at = &(*at)->next;
    return at;
}

static struct sweep *sweep_of(struct sweeps *s, const char *key, const struct json *job)
{
    struct sweep *w = map_gets(&s->sweeps, key);

    if (w)
        return w;
    w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->all = s;
    w->ns = strdup(object_namespace(job));
    w->key = strdup(key);
    if (w->ns && w->key && map_puts(&s->sweeps, key, w, NULL) == 0)
        return w;
    sweep_free(w);
    return NULL;
}

static struct member *member_of(struct sweep *w, const struct kind *k, const struct json *job)
{
    struct member **at = find_member(w, object_uid(job)), *m = *at;

    if (m)
        return m;
    m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->kind = k;
    m->name = strdup(object_name(job));
    m->created_ms = object_created_ms(job);
    (void)snprintf(m->uid, sizeof(m->uid), "%s", object_uid(job));
    if (!m->name) {
        free(m);
        return NULL;
    }
    *at = m;
    return m;
}

void sweeps_on_job(struct sweeps *s, const struct kind *k, const struct json *job)
{
    char key[KEY_SIZE];
    struct sweep *w = write_key(key, job) ? sweep_of(s, key, job) : NULL;
    struct member *m = w ? member_of(w, k, job) : NULL;
    const char *parallel = object_annotation(job, ANNOTATION_SWEEP_TURN);

    if (!m)
        return;
    m->standing = standing_of(job);
    if (m->standing == WAITS && m->resumed)
        m->standing = RUNS;
    m->parallel = parallel ? max_i64(strtol(parallel, NULL, 10), 1) : m->parallel;
    queue_add(s->queue, key);
}

void sweeps_on_gone(struct sweeps *s, const struct json *job)
{
    char key[KEY_SIZE];
    struct sweep *w = write_key(key, job) ? map_gets(&s->sweeps, key) : NULL;
    struct member **at = w ? find_member(w, object_uid(job)) : NULL, *m = at ? *at : NULL;

    if (!m)
        return;
    *at = m->next;
    if (w->resuming == m)
        w->resuming = NULL;
    member_free(m);
    queue_add(s->queue, key);
}

/* --- taking turns --- */

/* By age; within the same second x-2 before x-10. */
static bool is_before(const struct member *a, const struct member *b)
{
    size_t a_len = strlen(a->name), b_len = strlen(b->name);

    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms;
    return a_len != b_len ? a_len < b_len : strcmp(a->name, b->name) < 0;
}

static struct member *next_of(const struct sweep *w)
{
    struct member *first = NULL;
    long running = 0;

    for (struct member *m = w->members; m; m = m->next) {
        running += m->standing == RUNS;
        if (m->standing == WAITS && (!first || is_before(m, first)))
            first = m;
    }
    return first && running < first->parallel ? first : NULL;
}

static void on_resumed(void *arg, const struct json *object, const struct err *err)
{
    struct sweep *w = arg;
    struct member *m = w->resuming;

    (void)object;
    w->in_work = false;
    w->resuming = NULL;
    if (err && m) {
        m->resumed = false;
        m->standing = WAITS;
        log_warn("job %s/%s of a sweep cannot be resumed: %s", w->ns, m->name, err->text);
    }
    if (!err || !m)
        queue_add(w->all->queue, w->key);
    queue_done(w->all->queue, w->key, err && m ? QUEUE_RETRY : QUEUE_OK);
}

static void resume(struct sweep *w, struct member *m)
{
    struct arena a = ARENA_INIT(PATCH_LIMIT_BYTES);
    struct json *patch = json_new_object(&a), *metadata = json_make_object(&a, patch, "metadata");

    json_set_string(&a, metadata, "uid", m->uid);
    json_set(&a, json_make_object(&a, metadata, "annotations"), ANNOTATION_SWEEP_TURN,
             json_new_null(&a));
    json_set_bool(
        &a,
        json_make_object(&a, json_make_object(&a, json_make_object(&a, patch, "spec"), "runMode"),
                         "pause"),
        "enabled", false);
    m->standing = RUNS;
    m->resumed = true;
    w->resuming = m;
    w->in_work = true;
    client_patch(w->all->transport, m->kind, w->ns, m->name, "", patch, on_resumed, w);
    arena_release(&a);
}

static void work(void *arg, const char *key)
{
    struct sweeps *s = arg;
    struct sweep *w = map_gets(&s->sweeps, key);
    struct member *next = w && s->ready ? next_of(w) : NULL;

    if (next) {
        resume(w, next);
        return;
    }
    queue_done(s->queue, key, QUEUE_OK);
    if (w && !w->members)
        sweep_free(map_removes(&s->sweeps, w->key));
}

void sweeps_on_ready(struct sweeps *s)
{
    s->ready = true;
    map_for_each (node, &s->sweeps)
        queue_add(s->queue, node->key);
}

/* --- life --- */

struct sweeps *sweeps_new(struct transport *t, struct clock *clock)
{
    struct sweeps *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->transport = t;
    s->queue = queue_new(clock, IN_WORK_LIMIT, work, s);
    if (s->queue)
        return s;
    free(s);
    return NULL;
}

void sweeps_free(struct sweeps *s)
{
    if (!s)
        return;
    queue_free(s->queue);
    map_release(&s->sweeps, sweep_free);
    free(s);
}
