/*
 * expiry.c - events are forgotten after an hour, as on a real cluster. A few are looked at every
 * few seconds, so that a million of them never holds the loop up; when all were, there is a pause.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/internal.h"

#define EVENT_LIFETIME_MS (3600 * 1000)
#define SWEEP_MS 5000
#define ROUND_MS 60000 /* between two rounds over all of them */
#define EVENTS_PER_SWEEP 500
#define SWEEP_MEMORY_BYTES (16u * 1024u * 1024u)

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

static void expire(void *arg)
{
    struct server *s = arg;
    struct sweep sweep = {.server = s,
                          .arena = ARENA_INIT(SWEEP_MEMORY_BYTES),
                          .scratch = ARENA_INIT(SWEEP_MEMORY_BYTES)};
    auto_err err = ERR_INIT;
    bool gone;

    s->event_timer = NULL;
    store_list(server_collection(s, &kind_event), NULL, s->event_cursor, look_at, &sweep);
    keep_place(s, &sweep);
    for (size_t i = 0; i < sweep.count && sweep.old[i]; i++)
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
    s->event_timer = clock_start(s->clock, s->event_cursor ? SWEEP_MS : ROUND_MS, expire, s);
}
