/*
 * notifications.c - see notifications.h.
 *
 * A queue key is "namespace/name" of a Notification. Its box holds what is not yet in its status:
 * new events, and the outcome of the last delivery. Those are written first; only a status that
 * needs no writing is acted on, by sending the first of its pending events. So whatever is sent was
 * written before, and an outcome survives conflicts of its write.
 *
 * To be fair, a namespace may have only a few posts at a time, and all together some more.
 */
#include "control/notifications.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/notification.h"
#include "api/object.h"
#include "base/base64.h"
#include "base/log.h"
#include "base/map.h"
#include "client/client.h"
#include "client/queue.h"
#include "core/notify.h"

#define IN_WORK_LIMIT 32
#define IN_WORK_PER_NAMESPACE 4
#define LOOK_AGAIN_MS 1000
/* Clocks are set; and a cache that has not seen our write is checked again. */
#define LONGEST_SLEEP_MS (60 * 1000)
#define KEY_SIZE 512
#define EVENTS_LIMIT 10000 /* per Notification, besides those in its status */
#define LOOK_LIMIT_BYTES (16u * 1024u * 1024u)

struct box {
    struct notifications *all;
    char key[KEY_SIZE];
    struct json **events;                 /* packed */
    size_t events_len, events_cap, taken; /* taken: being written */
    struct notify_outcome outcome;
    char id[64], error[256];
    bool has_written_outcome; /* it is being written */
    int64_t revision;         /* the cache must have seen it before the next pass */
    bool in_work;
    struct webhook_post *post;
    struct json *sending; /* the event being sent, packed */
};

struct notifications {
    struct transport *transport;
    struct clock *clock;
    struct trouble *trouble;
    struct webhook *webhook;
    struct jobs *const *jobs;
    struct cache *cache;
    struct queue *queue;
    struct map boxes; /* key -> struct box */
};

/* --- boxes --- */

static void write_key(char key[KEY_SIZE], const struct json *notification)
{
    (void)snprintf(key, KEY_SIZE, "%s/%s", object_namespace(notification),
                   object_name(notification));
}

static size_t namespace_len(const char *key)
{
    return strcspn(key, "/");
}

static const struct json *find(const struct notifications *n, const char *key)
{
    char ns[KEY_SIZE];

    (void)snprintf(ns, sizeof(ns), "%.*s", (int)namespace_len(key), key);
    return cache_get(n->cache, ns, key + namespace_len(key) + 1);
}

static struct box *box_of(struct notifications *n, const char *key)
{
    struct box *b = map_gets(&n->boxes, key);

    if (b)
        return b;
    b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->all = n;
    (void)snprintf(b->key, sizeof(b->key), "%s", key);
    if (map_puts(&n->boxes, key, b, NULL) == 0)
        return b;
    free(b);
    return NULL;
}

static void drop_events(struct box *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(b->events[i]);
    b->events_len -= len;
    if (len && b->events_len)
        memmove(b->events, b->events + len, b->events_len * sizeof(b->events[0]));
}

static void box_free(void *value)
{
    struct box *b = value;

    client_forget(b);
    if (b->post)
        b->all->webhook->ops->cancel(b->post);
    drop_events(b, b->events_len);
    free(b->events);
    free(b->sending);
    free(b);
}

static bool make_room(struct box *b)
{
    size_t cap = b->events_cap ? 2 * b->events_cap : 16;
    struct json **events;

    if (b->events_len < b->events_cap)
        return true;
    events = b->events_len < EVENTS_LIMIT ? realloc(b->events, cap * sizeof(struct json *)) : NULL;
    if (!events)
        return false;
    b->events = events;
    b->events_cap = cap;
    return true;
}

static void put_event(struct box *b, const struct json *event)
{
    struct json *packed = make_room(b) ? json_pack(event, NULL) : NULL;

    if (packed)
        b->events[b->events_len++] = packed;
    else
        log_warn("notification %s: too many events: %s of %s is not sent", b->key,
                 json_get_string(event, "phase", ""), json_get_string(event, "name", ""));
}

static void done(struct box *b, enum queue_result result)
{
    b->in_work = false;
    queue_done(b->all->queue, b->key, result);
}

/* --- writing --- */

static void on_written(void *arg, const struct json *object, const struct err *err)
{
    struct box *b = arg;

    if (err && err->reason == ERR_NOT_FOUND) {
        done(b, QUEUE_OK);
        return;
    }
    if (err) {
        if (err->reason != ERR_CONFLICT)
            log_warn("notification %s: %s", b->key, err->text);
        done(b, QUEUE_RETRY);
        return;
    }
    drop_events(b, b->taken);
    if (b->has_written_outcome)
        b->outcome = (struct notify_outcome){0};
    b->revision = strtoll(object_resource_version(object), NULL, 10);
    queue_add_after(b->all->queue, b->key, LONGEST_SLEEP_MS);
    done(b, QUEUE_OK);
}

static void write_status(struct box *b, struct arena *a, const struct json *notification,
                         struct json *status)
{
    struct json *next = json_clone(a, notification);

    b->has_written_outcome = b->outcome.id;
    json_set_string(a, next, "apiVersion", kind_api_version(a, &kind_notification));
    json_set_string(a, next, "kind", kind_notification.name);
    json_set(a, next, "status", status);
    if (arena_failed(a))
        done(b, QUEUE_RETRY);
    else
        client_update_status(b->all->transport, &kind_notification, next, on_written, b);
}

/* --- sending --- */

static void on_outcome(struct box *b, int code, const char *why, bool for_good)
{
    (void)snprintf(b->id, sizeof(b->id), "%s", json_get_string(b->sending, "id", ""));
    (void)snprintf(b->error, sizeof(b->error), "%s", why);
    b->outcome = (struct notify_outcome){
        .id = b->id, .code = code, .error = b->error, .for_good = for_good};
    free(b->sending);
    b->sending = NULL;
    queue_add(b->all->queue, b->key);
    done(b, QUEUE_OK);
}

static void on_posted(void *arg, const struct webhook_result *result)
{
    struct box *b = arg;

    b->post = NULL;
    on_outcome(b, result->code, result->why, result->for_good);
}

static void send_to(struct box *b, const char *url)
{
    const struct json *notification = find(b->all, b->key);
    struct arena a = ARENA_INIT(LOOK_LIMIT_BYTES);
    struct buf text = BUF_INIT(LOOK_LIMIT_BYTES);

    json_write(&text, notify_body(&a, notification, b->sending));
    if (!notification_url_is_fine(url))
        on_outcome(b, 0, "the Secret's key is not an address with http or https", false);
    else if (arena_failed(&a) || text.failed ||
             !(b->post = b->all->webhook->ops->post(
                   b->all->webhook,
                   &(struct webhook_request){.url = url,
                                             .id = json_get_string(b->sending, "id", ""),
                                             .body = text.data,
                                             .body_len = text.len},
                   on_posted, b)))
        on_outcome(b, 0, "muster could not send it: see its log", false);
    buf_release(&text);
    arena_release(&a);
}

static void on_secret(void *arg, const struct json *secret, const struct err *err)
{
    struct box *b = arg;
    const struct json *spec = json_get(find(b->all, b->key), "spec");
    const struct json *from = json_at(spec, "urlFrom", "secretKeyRef");
    const char *coded = json_string(json_at(secret, "data", json_get_string(from, "key", "")), "");
    struct arena a = ARENA_INIT(LOOK_LIMIT_BYTES);
    size_t len;
    char *url;

    if (err && err->reason == ERR_FORBIDDEN) {
        on_outcome(b, 0, "muster may not read the Secret: see docs/notifications.md", false);
    } else if (err) {
        on_outcome(b, 0, err->reason == ERR_NOT_FOUND ? "the Secret does not exist" : err->text,
                   false);
    } else if (!*coded) {
        on_outcome(b, 0, "the Secret has no such key", false);
    } else {
        url = base64_decode(&a, coded, strlen(coded), &len);
        while (url && len && strchr("\r\n \t", url[len - 1]))
            url[--len] = '\0';
        send_to(b, url ? url : "");
    }
    arena_release(&a);
}

static bool is_busy(const struct notifications *n, const char *key)
{
    size_t len = namespace_len(key) + 1, count = 0;

    for (struct map_node *m = map_seek(&n->boxes, key, len);
         m && strncmp(m->key, key, len) == 0 && count < IN_WORK_PER_NAMESPACE;
         m = map_after(&n->boxes, m->key, m->key_len))
        count += ((struct box *)m->value)->sending != NULL;
    return count >= IN_WORK_PER_NAMESPACE;
}

static void send_next(struct box *b, const struct json *notification)
{
    struct notifications *n = b->all;
    const struct json *spec = json_get(notification, "spec");
    const char *secret = json_string(json_at(spec, "urlFrom", "secretKeyRef", "name"), NULL);
    int64_t at_ms, now_ms = clock_now_ms(n->clock), wait_ms = 0;
    const struct json *event = notify_next(notification, &at_ms);

    /* A time further away than any pause was written under another clock. */
    if (at_ms > now_ms && at_ms <= now_ms + NOTIFY_LONGEST_PAUSE_MS)
        wait_ms = min_i64(at_ms - now_ms, LONGEST_SLEEP_MS);
    else if (event && is_busy(n, b->key))
        wait_ms = LOOK_AGAIN_MS;
    if (event && wait_ms)
        queue_add_after(n->queue, b->key, wait_ms);
    if (!event || wait_ms) {
        done(b, QUEUE_OK);
        return;
    }
    b->sending = json_pack(event, NULL);
    if (!b->sending)
        done(b, QUEUE_RETRY);
    else if (secret)
        client_get(n->transport, &kind_secret, object_namespace(notification), secret, on_secret,
                   b);
    else
        send_to(b, json_get_string(spec, "url", ""));
}

/* --- work --- */

/* As many events as the status has room for; the rest waits. */
static void look(struct box *b, const struct json *notification)
{
    struct arena a = ARENA_INIT(LOOK_LIMIT_BYTES);
    size_t pending = json_len(json_at(notification, "status", "pending"));
    size_t room = pending < NOTIFY_PENDING_LIMIT ? NOTIFY_PENDING_LIMIT - pending : 0;
    struct json *status;

    b->taken = b->events_len < room ? b->events_len : room;
    status = notify_status(&a, notification, (const struct json *const *)b->events, b->taken,
                           &b->outcome, clock_now_ms(b->all->clock));
    if (status) {
        write_status(b, &a, notification, status);
    } else {
        drop_events(b, b->taken);
        b->outcome = (struct notify_outcome){0};
        send_next(b, notification);
    }
    arena_release(&a);
}

static void work(void *arg, const char *key)
{
    struct notifications *n = arg;
    const struct json *notification = find(n, key);
    struct box *b = notification ? box_of(n, key) : NULL;

    if (!b) {
        queue_done(n->queue, key, notification ? QUEUE_RETRY : QUEUE_OK);
        return;
    }
    b->in_work = true;
    if (object_is_deleting(notification) || cache_revision(n->cache) < b->revision)
        done(b, QUEUE_OK); /* the cache will report it */
    else
        look(b, notification);
}

/* --- changes --- */

struct finding {
    struct notifications *all;
    const struct kind *kind;
    const struct json *job;
    const struct json *notification;
    bool seen;
};

static void offer(const struct finding *f)
{
    struct arena a = ARENA_INIT(LOOK_LIMIT_BYTES);
    const struct json *event = notify_event(&a, f->notification, f->kind, f->job, f->seen);
    struct box *b;
    char key[KEY_SIZE];

    write_key(key, f->notification);
    b = event && !arena_failed(&a) ? box_of(f->all, key) : NULL;
    if (b) {
        put_event(b, event);
        queue_add(f->all->queue, key);
    }
    arena_release(&a);
}

static bool offer_to(void *arg, const struct json *notification)
{
    struct finding *f = arg;

    f->notification = notification;
    if (strcmp(object_namespace(notification), object_namespace(f->job)) == 0)
        offer(f);
    return true;
}

static const char *phase_of(const struct json *job)
{
    return json_string(json_at(job, "status", "phase"), "");
}

void notifications_on_job(struct notifications *n, const struct kind *k, const struct json *job,
                          const struct json *old)
{
    struct finding f = {.all = n, .kind = k, .job = job, .seen = old};

    if (!old || strcmp(phase_of(old), phase_of(job)) != 0)
        cache_each(n->cache, offer_to, &f);
}

static void offer_job(void *arg, const struct kind *k, const struct json *job,
                      const struct json *old)
{
    struct finding *f = arg;

    (void)old;
    f->kind = k;
    f->job = job;
    if (strcmp(object_namespace(f->notification), object_namespace(job)) == 0)
        offer(f);
}

/* The key is needed until queue_done, which a freed box cannot call. */
static void forget(struct notifications *n, const char *key)
{
    struct box *b = map_removes(&n->boxes, key);

    if (!b)
        return;
    if (b->in_work)
        queue_done(n->queue, key, QUEUE_OK);
    box_free(b);
}

static void on_notification(void *arg, enum cache_event event, const struct json *notification,
                            const struct json *old)
{
    struct notifications *n = arg;
    struct finding f = {.all = n, .notification = notification};
    char key[KEY_SIZE];

    write_key(key, notification);
    if (event == CACHE_DELETED || (old && strcmp(object_uid(old), object_uid(notification)) != 0))
        forget(n, key);
    if (event == CACHE_DELETED)
        return;
    if (event == CACHE_ADDED && *n->jobs)
        jobs_each(*n->jobs, offer_job, &f);
    queue_add(n->queue, key);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct notifications *n = arg;

    trouble_say(n->trouble, &kind_notification, err);
}

/* --- life --- */

struct notifications *notifications_new(const struct notifications_options *o)
{
    struct notifications *n = calloc(1, sizeof(*n));

    if (!n)
        return NULL;
    n->transport = o->transport;
    n->clock = o->clock;
    n->trouble = o->trouble;
    n->webhook = o->webhook;
    n->jobs = o->jobs;
    n->queue = queue_new(o->clock, IN_WORK_LIMIT, work, n);
    if (n->queue)
        n->cache = cache_new(&(struct cache_options){.transport = o->transport,
                                                     .clock = o->clock,
                                                     .kind = &kind_notification,
                                                     .on_change = on_notification,
                                                     .on_trouble = on_trouble,
                                                     .arg = n});
    if (n->cache)
        return n;
    notifications_free(n);
    return NULL;
}

void notifications_free(struct notifications *n)
{
    if (!n)
        return;
    cache_free(n->cache);
    queue_free(n->queue);
    map_release(&n->boxes, box_free);
    free(n);
}
