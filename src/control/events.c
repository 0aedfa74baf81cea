/*
 * events.c - see events.h. One entry per distinct event; an entry has at most one call under way,
 * and repeats meanwhile are written afterwards. Its text is kept only until then: a repeat supplies
 * it again.
 */
#include "control/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/timefmt.h"
#include "client/client.h"

#define SAID_LIMIT 4096 /* as many as are kept per namespace */
#define IN_FLIGHT_LIMIT 16
/* Actions take precedence over events: nothing is written for this long, then one at a time. */
#define SILENCE_MS 5000
#define IN_FLIGHT_HELD 1
#define SAME_EVENT_MS (60 * 60 * 1000)
#define EVENT_LIMIT_BYTES (64u * 1024u)

struct said {
    struct event_recorder *recorder;
    struct said *older, *newer;
    struct said *next_waiting;
    uint64_t hash;
    char *text;      /* the event without counts while there is something to write, else NULL */
    uint64_t number; /* part of its name */
    int64_t count, first_ms, last_ms;
    bool created; /* it exists on the server */
    bool waiting; /* for others to be written */
    bool busy;    /* a call is under way or queued */
    bool behind;  /* repeated since */
};

struct event_recorder {
    struct transport *transport;
    struct clock *clock;
    const char *component;
    uint64_t made;
    unsigned in_flight, limit;
    int64_t held_ms;                     /* since when; 0: not held */
    struct said *waiting, **waiting_end; /* first come, first written */
    struct map by_hash;
    struct said ends; /* ring of idle entries: ends.newer is the oldest */
};

struct event_recorder *event_recorder_new(struct transport *t, struct clock *clock,
                                          const char *component)
{
    struct event_recorder *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->transport = t;
    r->clock = clock;
    r->component = component;
    r->ends.older = r->ends.newer = &r->ends;
    r->waiting_end = &r->waiting;
    r->limit = IN_FLIGHT_LIMIT;
    return r;
}

static void unlink_idle(struct said *s)
{
    s->older->newer = s->newer;
    s->newer->older = s->older;
}

static void make_idle(struct said *s)
{
    struct event_recorder *r = s->recorder;

    s->older = r->ends.older;
    s->newer = &r->ends;
    s->older->newer = s;
    r->ends.older = s;
}

static void said_free(struct said *s)
{
    map_remove(&s->recorder->by_hash, &s->hash, sizeof(s->hash));
    if (!s->busy)
        unlink_idle(s);
    client_forget(s);
    free(s->text);
    free(s);
}

void event_recorder_free(struct event_recorder *r)
{
    if (!r)
        return;
    while (map_first(&r->by_hash))
        said_free(map_first(&r->by_hash)->value);
    map_release(&r->by_hash, NULL);
    free(r);
}

/* --- identity --- */

static uint64_t add_text(uint64_t hash, const char *text)
{
    return fnv1a_64(hash, text, strlen(text) + 1);
}

static uint64_t hash_of(const struct json *event)
{
    uint64_t h = FNV1A_64_START;

    h = add_text(h, json_get_string(json_get(event, "involvedObject"), "uid", ""));
    h = add_text(h, json_get_string(json_get(event, "involvedObject"), "name", ""));
    h = add_text(h, json_get_string(event, "type", ""));
    h = add_text(h, json_get_string(event, "reason", ""));
    return add_text(h, json_get_string(event, "message", ""));
}

/* --- writing --- */

static void write_said(struct said *s);

static const char *name_of(const struct said *s, struct arena *a, const struct json *event)
{
    return arena_printf(a, "%.253s.%016" PRIx64,
                        json_get_string(json_get(event, "involvedObject"), "name", "unknown"),
                        s->number);
}

static void set_times(struct arena *a, struct json *event, const struct said *s)
{
    char text[TIME_TEXT_SIZE];

    json_set_string(a, event, "lastTimestamp", time_format(s->last_ms, text));
    json_set_int(a, event, "count", s->count);
}

static void complete(const struct said *s, struct arena *a, struct json *event)
{
    struct json *metadata = json_make_object(a, event, "metadata");
    char text[TIME_TEXT_SIZE];

    json_set_string(a, event, "apiVersion", "v1");
    json_set_string(a, event, "kind", kind_event.name);
    json_set_string(a, metadata, "name", name_of(s, a, event));
    if (!*json_get_string(metadata, "namespace", ""))
        json_set_string(a, metadata, "namespace", "default");
    json_set_string(a, event, "firstTimestamp", time_format(s->first_ms, text));
    set_times(a, event, s);
    if (!json_get(event, "source"))
        json_set_string(a, json_make_object(a, event, "source"), "component",
                        s->recorder->component);
    if (!json_get(event, "reportingComponent"))
        json_set_string(a, event, "reportingComponent", s->recorder->component);
}

static void write_waiting(struct event_recorder *r)
{
    struct said *s = r->waiting;

    if (!s)
        return;
    r->waiting = s->next_waiting;
    if (!r->waiting)
        r->waiting_end = &r->waiting;
    s->waiting = false;
    write_said(s);
}

static void settle_said(struct said *s, const struct err *err)
{
    s->busy = false;
    make_idle(s);
    if (!err) {
        s->created = true;
    } else if (err->reason == ERR_NOT_FOUND && s->created) {
        s->created = false; /* deleted meanwhile: create it again, once */
        s->behind = true;
    } else {
        said_free(s);
        return;
    }
    if (s->behind) {
        write_said(s);
    } else {
        free(s->text);
        s->text = NULL;
    }
}

static void on_written(void *arg, const struct json *object, const struct err *err)
{
    struct said *s = arg;
    struct event_recorder *r = s->recorder;

    (void)object;
    r->in_flight--;
    settle_said(s, err);
    if (r->in_flight < r->limit)
        write_waiting(r);
}

void event_recorder_hold(struct event_recorder *r, bool held)
{
    int64_t now = clock_now_ms(r->clock);

    if (!held)
        r->held_ms = 0;
    else if (!r->held_ms || now < r->held_ms)
        r->held_ms = now;
    r->limit = !held ? IN_FLIGHT_LIMIT : now - r->held_ms < SILENCE_MS ? 0 : IN_FLIGHT_HELD;
    while (r->waiting && r->in_flight < r->limit)
        write_waiting(r);
}

static void create(struct said *s, struct arena *a, struct json *event)
{
    s->number = fnv1a_64(s->hash ^ ++s->recorder->made, &s->first_ms, sizeof(s->first_ms));
    complete(s, a, event);
    if (arena_failed(a)) {
        said_free(s);
        return;
    }
    s->recorder->in_flight++;
    client_create(s->recorder->transport, &kind_event, event, on_written, s);
}

static void count_up(struct said *s, struct arena *a, const struct json *event)
{
    struct json *patch = json_new_object(a);
    const char *ns = object_namespace(event), *name = name_of(s, a, event);

    set_times(a, patch, s);
    if (arena_failed(a)) {
        said_free(s);
        return;
    }
    s->recorder->in_flight++;
    client_patch(s->recorder->transport, &kind_event, *ns ? ns : "default", name, "", patch,
                 on_written, s);
}

static void write_said(struct said *s)
{
    struct event_recorder *r = s->recorder;
    struct arena a = ARENA_INIT(EVENT_LIMIT_BYTES);

    if (!s->busy)
        unlink_idle(s);
    s->busy = true;
    s->behind = false;
    if (r->in_flight >= r->limit) {
        s->waiting = true;
        s->next_waiting = NULL;
        *r->waiting_end = s;
        r->waiting_end = &s->next_waiting;
    } else if (s->created) {
        count_up(s, &a, json_parse(&a, s->text, strlen(s->text), NULL));
    } else {
        create(s, &a, json_parse(&a, s->text, strlen(s->text), NULL));
    }
    arena_release(&a);
}

/* --- recording --- */

static bool make_room(struct event_recorder *r)
{
    while (r->by_hash.count >= SAID_LIMIT && r->ends.newer != &r->ends)
        said_free(r->ends.newer);
    return r->by_hash.count < SAID_LIMIT;
}

static struct said *said_new(struct event_recorder *r, uint64_t hash)
{
    struct said *s = make_room(r) ? calloc(1, sizeof(*s)) : NULL;

    if (!s)
        return NULL;
    s->recorder = r;
    s->hash = hash;
    s->first_ms = clock_now_ms(r->clock);
    if (map_put(&r->by_hash, &hash, sizeof(hash), s, NULL) < 0) {
        free(s);
        return NULL;
    }
    make_idle(s);
    return s;
}

static char *text_of(const struct json *event)
{
    struct buf text = BUF_INIT(EVENT_LIMIT_BYTES);
    char *words;

    json_write(&text, event);
    words = text.failed ? NULL : strdup(text.data);
    buf_release(&text);
    return words;
}

void event_record(struct event_recorder *r, const struct json *event)
{
    uint64_t hash = hash_of(event);
    struct said *s = map_get(&r->by_hash, &hash, sizeof(hash));
    int64_t now = clock_now_ms(r->clock);

    if (s && !s->busy && (now - s->last_ms >= SAME_EVENT_MS || now < s->last_ms)) {
        said_free(s);
        s = NULL;
    }
    if (!s)
        s = said_new(r, hash);
    if (!s)
        return;
    if (!s->text)
        s->text = text_of(event);
    if (!s->text) {
        said_free(s);
        return;
    }
    s->count++;
    s->last_ms = now;
    if (!s->busy)
        write_said(s);
    else if (!s->waiting)
        s->behind = true;
}
