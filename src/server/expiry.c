/*
 * expiry.c - events expire after an hour, as on a real cluster, and the oldest are dropped when
 * there are too many. A few are checked every few seconds, so that this never blocks the loop;
 * after a full round there is a pause. Excess events are found without parsing: every write of an
 * event extends its life, so the oldest has the lowest revision.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/internal.h"

#define EVENT_LIFETIME_MS (3600 * 1000)
#define HURRY_MS 50
#define SWEEP_MS 5000
#define ROUND_MS 60000 /* between two full rounds */
#define AGE_MS (5 * 60 * 1000)
#define EVENTS_PER_SWEEP 500
#define SWEEP_MEMORY_BYTES (16u * 1024u * 1024u)
#define NAMESPACE_LIMIT 4096u
#define TOTAL_LIMIT 16384u
#define TOTAL_SLACK (TOTAL_LIMIT / 8) /* this many more, and they are trimmed at once */
#define REMOVALS_PER_SWEEP 2000u

struct sweep {
    struct server *server;
    struct arena arena, scratch;
    const char *old[EVENTS_PER_SWEEP];
    size_t seen, count;
    const char *last;
};

/* When it last happened: every write of an event extends its life. */
static int64_t last_time(const struct json *event)
{
    int64_t t = object_created_ms(event);

    t = max_i64(t, object_time(event, "lastTimestamp"));
    t = max_i64(t, object_time(event, "eventTime"));
    return max_i64(t, object_time(json_get(event, "series"), "lastObservedTime"));
}

static bool look_at(void *arg, const struct store_item *item)
{
    struct sweep *s = arg;
    const struct json *event;

    if (s->seen++ == EVENTS_PER_SWEEP)
        return false;
    s->last = item->key;
    arena_reset(&s->scratch);
    event = blob_parse(&s->scratch, item->value, NULL);
    if (event && last_time(event) + EVENT_LIFETIME_MS <= clock_now_ms(s->server->clock))
        s->old[s->count++] = arena_strdup(&s->arena, item->key);
    return !arena_failed(&s->arena);
}

static void keep_place(struct server *s, const struct sweep *sweep)
{
    free(s->event_cursor);
    s->event_cursor = sweep->seen > EVENTS_PER_SWEEP ? strdup(sweep->last) : NULL;
}

/* --- too many ------------------------------------------------------------------------- */

struct numbered {
    int64_t revision;
    const char *key; /* the store's: nothing is written meanwhile */
};

struct census {
    struct numbered *all;
    size_t count;
};

static bool note(void *arg, const struct store_item *item)
{
    struct census *c = arg;

    c->all[c->count++] = (struct numbered){item->revision, item->key};
    return true;
}

static int oldest_first(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    return x->revision < y->revision ? -1 : x->revision > y->revision;
}

static size_t namespace_len(const struct numbered *from, size_t count)
{
    size_t len = strcspn(from->key, "/") + 1, n = 1;

    while (n < count && strncmp(from[n].key, from->key, len) == 0)
        n++;
    return n;
}

/* Moves the oldest excess items to the front; returns how many. */
static size_t excess(struct numbered *list, size_t count, size_t limit)
{
    if (count <= limit)
        return 0;
    qsort(list, count, sizeof(*list), oldest_first);
    return count - limit;
}

static int forget(struct server *s, const struct numbered *list, size_t count, size_t *left,
                  struct err *err)
{
    bool gone;
    int rc = 0;

    for (size_t i = 0; i<count && * left> 0 && rc == 0; i++, (*left)--)
        rc = removal_sweep(s, &kind_event, list[i].key, &removal_plain, &gone, err);
    return rc;
}

/* False: there are more than can be dropped at once. */
static bool forget_excess(struct server *s, struct err *err)
{
    struct store_collection *events = server_collection(s, &kind_event);
    struct census c = {.all = NULL};
    size_t kept = 0, left = REMOVALS_PER_SWEEP;

    if (store_count(events) <= NAMESPACE_LIMIT)
        return true;
    c.all = malloc(store_count(events) * sizeof(*c.all));
    if (!c.all)
        return true; /* next time */
    store_list(events, NULL, NULL, note, &c);
    for (size_t at = 0, n; at < c.count; at += n) {
        size_t old;

        n = namespace_len(&c.all[at], c.count - at);
        old = excess(&c.all[at], n, NAMESPACE_LIMIT);
        if (forget(s, &c.all[at], old, &left, err) < 0)
            break;
        memmove(&c.all[kept], &c.all[at + old], (n - old) * sizeof(*c.all));
        kept += n - old;
    }
    if (!err_is_set(err))
        (void)forget(s, c.all, excess(c.all, kept, TOTAL_LIMIT), &left, err);
    free(c.all);
    return left > 0;
}

void events_written(struct server *s, const struct kind *k)
{
    struct store_collection *events = server_collection(s, &kind_event);

    if (server_collection(s, k) != events || s->event_hurry || !s->event_timer ||
        store_count(events) < TOTAL_LIMIT + TOTAL_SLACK)
        return;
    s->event_hurry = true;
    clock_stop(s->clock, s->event_timer);
    events_expire_soon(s);
}

/* --- in turns ------------------------------------------------------------------------- */

static void expire(void *arg)
{
    struct server *s = arg;
    struct sweep sweep = {.server = s,
                          .arena = ARENA_INIT(SWEEP_MEMORY_BYTES),
                          .scratch = ARENA_INIT(SWEEP_MEMORY_BYTES)};
    auto_err err = ERR_INIT;
    bool gone;

    s->event_timer = NULL;
    s->event_hurry = !forget_excess(s, &err);
    store_list(server_collection(s, &kind_event), NULL, s->event_cursor, look_at, &sweep);
    keep_place(s, &sweep);
    for (size_t i = 0; i < sweep.count && sweep.old[i] && !err_is_set(&err); i++)
        if (removal_sweep(s, &kind_event, sweep.old[i], &removal_plain, &gone, &err) < 0)
            break;
    if (err_is_set(&err))
        log_warn("forgetting old events: %s", err.text);
    arena_release(&sweep.arena);
    arena_release(&sweep.scratch);
    events_expire_soon(s);
}

void events_expire_soon(struct server *s)
{
    bool many = s->event_cursor || store_count(server_collection(s, &kind_event)) > NAMESPACE_LIMIT;

    s->event_timer = clock_start(s->clock,
                                 s->event_hurry ? HURRY_MS
                                 : many         ? SWEEP_MS
                                                : ROUND_MS,
                                 expire, s);
}

/* --- memory */

static void age(void *arg)
{
    struct server *s = arg;

    store_age(s->store);
    age_later(s);
}

void age_later(struct server *s)
{
    s->age_timer = clock_start(s->clock, AGE_MS, age, s);
}
