/*
 * reflector.c - list, then watch, then list again when the watch cannot continue. See reflector.h.
 *
 * A watch that the server closed properly is resumed from the last revision seen (bookmarks count).
 * Anything else (refused, expired, broken, an invalid line) lists again: after a break the server
 * may be another one, with another history. Consecutive failures wait longer, with jitter so that
 * many clients do not return in step.
 *
 * Streams are closed from timers only, never from inside their own handlers.
 */
#include "client/reflector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/protobuf.h"
#include "api/status.h"
#include "base/hash.h"
#include "base/percent.h"
#include "client/client.h"

#define PAGE_OBJECTS 500
#define PAGE_TEXTS 100 /* one page of them stays in the processor's cache */
#define PAGE_PAUSE_MS 10
#define MOST_PAUSES 1000 /* of one list, for others */
#define WATCH_SECONDS_MIN 300
#define WATCH_SECONDS_MAX 600
#define WATCH_OVERDUE_MS 30000 /* then an unended watch counts as dead */
#define SHORT_WATCH_MS 1000
#define FIRST_BACKOFF_MS 200
#define LONGEST_BACKOFF_MS 10000
#define LINE_LIMIT_BYTES (16u * 1024u * 1024u)
#define EVENT_LIMIT_BYTES (256u * 1024u * 1024u)
#define QUERY_LIMIT_BYTES (64u * 1024u)
#define FRAME_HEAD_BYTES 4u /* the length of a protobuf frame */
#define PROTOBUF_WATCH PROTOBUF_TYPE ";stream=watch"

struct reflector {
    struct transport *transport;
    struct clock *clock;
    const struct kind *kind;
    char *ns, *query;
    bool unhurried;
    struct reflector_handler handler;
    uint64_t random;

    char *revision; /* to watch from; NULL: list first */
    int64_t revision_number;
    char *next_page; /* continue token */
    bool is_listing; /* counted in hurried_lists */
    unsigned pauses; /* of this list */

    struct api_stream *stream;
    bool stream_dead; /* further data is ignored */
    bool progressed;  /* this watch delivered something */
    int64_t watch_started_ms;
    struct buf line; /* partial line or frame */
    bool in_frames;  /* protobuf */
    struct arena scratch;

    unsigned failures; /* consecutive */
    struct clock_timer *next_step, *overdue;
};

static void step(void *arg);

static unsigned hurried_lists; /* of this process, not at their end */

/* xorshift64*; only spreads load, so the seed may be guessable. */
static uint64_t random_below(struct reflector *r, uint64_t bound)
{
    r->random ^= r->random >> 12;
    r->random ^= r->random << 25;
    r->random ^= r->random >> 27;
    return (r->random * 0x2545f4914f6cdd1du >> 32) % bound;
}

static void set_string(char **at, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    free(*at);
    *at = copy;
}

/* --- time --- */

static void schedule_step(struct reflector *r, int64_t delay_ms)
{
    clock_stop(r->clock, r->next_step);
    r->next_step = clock_start(r->clock, delay_ms, step, r);
}

static int64_t backoff_ms(struct reflector *r)
{
    int64_t ms = FIRST_BACKOFF_MS;

    for (unsigned i = 1; i < r->failures && ms < LONGEST_BACKOFF_MS; i++)
        ms *= 2;
    ms = min_i64(ms, LONGEST_BACKOFF_MS);
    return ms / 2 + (int64_t)random_below(r, (uint64_t)ms + 1);
}

static void step_later(struct reflector *r)
{
    r->failures++;
    schedule_step(r, backoff_ms(r));
}

static void end_list(struct reflector *r)
{
    hurried_lists -= r->is_listing;
    r->is_listing = false;
    r->pauses = 0;
}

static void list_again(struct reflector *r, const struct err *err)
{
    end_list(r);
    r->stream_dead = true;
    set_string(&r->revision, NULL);
    set_string(&r->next_page, NULL);
    step_later(r);
    if (err && r->handler.on_trouble)
        r->handler.on_trouble(r->handler.arg, err);
}

static void list_again_because(struct reflector *r, const char *why)
{
    auto_err err = ERR_INIT;

    err_set(&err, ERR_UNAVAILABLE, "%s", why);
    list_again(r, &err);
}

/* --- revisions --- */

static int64_t number_of(const char *revision)
{
    char *end;
    long long n = strtoll(revision, &end, 10);

    return *revision && !*end && n > 0 ? n : 0;
}

static int advance(struct reflector *r, const char *revision)
{
    set_string(&r->revision, revision);
    r->revision_number = number_of(revision);
    return r->revision ? 0 : -1;
}

static const char *revision_of(const struct json *object)
{
    return json_string(json_at(object, "metadata", "resourceVersion"), "");
}

/* --- watching --- */

static void on_error_event(struct reflector *r, const struct json *status)
{
    auto_err err = ERR_INIT;

    err_set(&err, json_get_int(status, "code", 500) == 410 ? ERR_EXPIRED : ERR_INTERNAL, "%s",
            json_get_string(status, "message", "the watch ended with an error"));
    list_again(r, &err);
}

static void on_change_event(struct reflector *r, const char *type, const struct json *object)
{
    const char *revision = revision_of(object);
    int64_t number = number_of(revision);
    int rc = 0;

    if (number && r->revision_number && number <= r->revision_number)
        return; /* a repeat, or older */
    if (strcmp(type, "DELETED") == 0)
        r->handler.remove(r->handler.arg, object);
    else
        rc = r->handler.put(r->handler.arg, REFLECTOR_WATCH, object);
    if (rc < 0 || advance(r, revision) < 0)
        list_again_because(r, "out of memory");
}

static void on_bookmark(struct reflector *r, const struct json *object)
{
    const char *revision = revision_of(object);

    if (*revision && number_of(revision) >= r->revision_number && advance(r, revision) < 0)
        list_again_because(r, "out of memory");
}

static void on_event(struct reflector *r, const struct json *event)
{
    const char *type = json_get_string(event, "type", "");
    const struct json *object = json_get(event, "object");

    if (strcmp(type, "ERROR") == 0) {
        on_error_event(r, object);
        return;
    }
    r->failures = 0;
    r->progressed = true;
    if (strcmp(type, "BOOKMARK") == 0)
        on_bookmark(r, object);
    else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0 ||
             strcmp(type, "DELETED") == 0)
        on_change_event(r, type, object);
}

/* A line or a frame. */
static void on_piece(struct reflector *r, const char *text, size_t len)
{
    const struct json *event;
    auto_err err = ERR_INIT;

    if (len == 0)
        return;
    event = r->in_frames ? protobuf_parse_event(&r->scratch, r->kind, text, len, &err)
                         : json_parse(&r->scratch, text, len, &err);
    if (event) {
        on_event(r, event);
    } else {
        err_context(&err, "watch");
        list_again(r, &err);
    }
    arena_reset(&r->scratch);
}

/* Of the current frame, including its length prefix. */
static size_t frame_len(const struct reflector *r)
{
    const unsigned char *head = (const unsigned char *)r->line.data;

    if (r->line.len < FRAME_HEAD_BYTES)
        return FRAME_HEAD_BYTES;
    return FRAME_HEAD_BYTES +
           ((size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
}

static bool keep_part(struct reflector *r, const char *data, size_t len)
{
    buf_add(&r->line, data, len);
    if (!r->line.failed && (!r->in_frames || frame_len(r) <= LINE_LIMIT_BYTES))
        return true;
    list_again_because(r, "a watch event is larger than 16 MiB");
    return false;
}

/* Both return how much of data they consumed. */
static size_t take_line(struct reflector *r, const char *data, size_t len)
{
    const char *newline = memchr(data, '\n', len);
    size_t piece = newline ? (size_t)(newline - data) : len;

    if (newline && r->line.len == 0) {
        on_piece(r, data, piece);
    } else if (keep_part(r, data, piece) && newline) {
        on_piece(r, r->line.data, r->line.len);
        buf_clear(&r->line);
    }
    return piece + (newline ? 1 : 0);
}

static size_t take_frame(struct reflector *r, const char *data, size_t len)
{
    size_t piece = min_size(len, frame_len(r) - r->line.len);

    if (keep_part(r, data, piece) && r->line.len == frame_len(r)) {
        on_piece(r, r->line.data + FRAME_HEAD_BYTES, r->line.len - FRAME_HEAD_BYTES);
        buf_clear(&r->line);
    }
    return piece;
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct reflector *r = arg;

    while (len && !r->stream_dead) {
        size_t taken = r->in_frames ? take_frame(r, data, len) : take_line(r, data, len);

        data += taken;
        len -= taken;
    }
}

static void watch_ended_well(struct reflector *r)
{
    int64_t lasted = clock_now_ms(r->clock) - r->watch_started_ms;

    if (r->progressed || lasted >= SHORT_WATCH_MS) {
        r->failures = 0;
        schedule_step(r, 0);
    } else {
        step_later(r); /* a server that hangs up at once is not retried at once */
    }
}

static void on_end(void *arg, const struct api_reply *reply)
{
    struct reflector *r = arg;
    auto_err err = ERR_INIT;

    r->stream = NULL;
    clock_stop(r->clock, r->overdue);
    r->overdue = NULL;
    if (r->stream_dead)
        return; /* the next step is already scheduled */
    if (reply->status == 200) {
        watch_ended_well(r);
        return;
    }
    if (reply->status == 0)
        err_set(&err, ERR_UNAVAILABLE, "%.*s", (int)min_size(reply->body_len, 1024),
                reply->body_len ? reply->body : "");
    else
        status_to_err(reply->status, reply->body, reply->body_len, &err);
    list_again(r, &err);
}

static void on_overdue(void *arg)
{
    struct reflector *r = arg;

    r->overdue = NULL;
    if (!r->stream_dead)
        list_again_because(r, "the watch did not end in time");
}

static void close_stream(struct reflector *r)
{
    clock_stop(r->clock, r->overdue);
    r->overdue = NULL;
    if (r->stream)
        transport_close(r->transport, r->stream);
    r->stream = NULL;
}

static void start_watch(struct reflector *r)
{
    uint64_t seconds = WATCH_SECONDS_MIN +
                       random_below(r, WATCH_SECONDS_MAX - WATCH_SECONDS_MIN + 1);
    struct arena a = ARENA_INIT(QUERY_LIMIT_BYTES);
    const char *path = kind_path(&a, r->kind, r->ns, NULL);
    struct buf url = BUF_INIT(QUERY_LIMIT_BYTES);
    struct api_stream_handler handler = {.on_data = on_data, .on_end = on_end, .arg = r};

    r->in_frames = r->transport->protobuf && protobuf_speaks(r->kind);
    handler.accept = r->in_frames ? PROTOBUF_WATCH : NULL;
    buf_addf(&url, "%s?watch=true&allowWatchBookmarks=true&resourceVersion=", path ? path : "");
    percent_encode(&url, r->revision);
    buf_addf(&url, "&timeoutSeconds=%u%s%s", (unsigned)seconds, r->query ? "&" : "",
             r->query ? r->query : "");
    r->stream_dead = r->progressed = false;
    r->watch_started_ms = clock_now_ms(r->clock);
    buf_clear(&r->line);
    if (path && !url.failed)
        r->stream = transport_open(r->transport, url.data, &handler);
    if (r->stream)
        r->overdue = clock_start(r->clock, (int64_t)seconds * 1000 + WATCH_OVERDUE_MS, on_overdue,
                                 r);
    else
        step_later(r);
    buf_release(&url);
    arena_release(&a);
}

/* --- listing --- */

static void finish_list(struct reflector *r, const struct json *list)
{
    if (advance(r, revision_of(list)) < 0) {
        list_again_because(r, "out of memory");
        return;
    }
    end_list(r);
    r->handler.list_end(r->handler.arg);
    if (strcmp(r->revision, "0") != 0) {
        schedule_step(r, 0);
        return;
    }
    /* Nothing was ever written there. For a watch 0 means "whatever you have", in no usable order:
     * list again instead. */
    set_string(&r->revision, NULL);
    step_later(r);
}

static int on_item(void *arg, const struct json *head, const char *text, size_t len)
{
    struct reflector *r = arg;

    return r->handler.put_text(r->handler.arg, head, text, len);
}

static void on_page(void *arg, const struct json *list, const struct err *err)
{
    struct reflector *r = arg;
    const char *more = json_string(json_at(list, "metadata", "continue"), "");

    if (err) {
        list_again(r, err);
        return;
    }
    if (!*revision_of(list)) {
        list_again_because(r, "the answer to a list has no resourceVersion");
        return;
    }
    json_each (object, json_get(list, "items")) {
        if (r->handler.put(r->handler.arg, REFLECTOR_LIST, object) < 0) {
            list_again_because(r, "out of memory");
            return;
        }
    }
    if (!*more) {
        finish_list(r, list);
        return;
    }
    set_string(&r->next_page, more);
    schedule_step(r, r->unhurried ? PAGE_PAUSE_MS : 0);
}

static void start_page(struct reflector *r)
{
    struct buf query = BUF_INIT(QUERY_LIMIT_BYTES);

    if (!r->is_listing && !r->unhurried) {
        r->is_listing = true;
        hurried_lists++;
    }
    if (!r->next_page)
        r->handler.list_begin(r->handler.arg);
    buf_addf(&query, "limit=%d", r->handler.put_text ? PAGE_TEXTS : PAGE_OBJECTS);
    if (r->next_page) {
        buf_adds(&query, "&continue=");
        percent_encode(&query, r->next_page);
    }
    if (r->query)
        buf_addf(&query, "&%s", r->query);
    if (query.failed)
        list_again_because(r, "out of memory");
    else if (r->handler.put_text)
        client_list_each(r->transport, r->kind, r->ns, query.data, object_head, on_item, on_page,
                         r);
    else
        client_list(r->transport, r->kind, r->ns, query.data, on_page, r);
    set_string(&r->next_page, NULL);
    buf_release(&query);
}

static void step(void *arg)
{
    struct reflector *r = arg;

    r->next_step = NULL;
    close_stream(r);
    if (r->revision)
        start_watch(r);
    else if (r->unhurried && r->next_page && hurried_lists && r->pauses++ < MOST_PAUSES)
        schedule_step(r, PAGE_PAUSE_MS);
    else
        start_page(r);
}

/* --- life --- */

struct reflector *reflector_new(const struct reflector_options *options)
{
    struct reflector *r = calloc(1, sizeof(*r));
    int64_t now = clock_now_ms(options->clock);

    if (!r)
        return NULL;
    r->transport = options->transport;
    r->clock = options->clock;
    r->kind = options->kind;
    r->unhurried = options->unhurried;
    r->handler = options->handler;
    buf_init(&r->line, LINE_LIMIT_BYTES);
    arena_init(&r->scratch, EVENT_LIMIT_BYTES);
    r->random = fnv1a_64(FNV1A_64_START, &now, sizeof(now));
    r->random = fnv1a_64(r->random, r->kind->plural, strlen(r->kind->plural)) | 1;
    set_string(&r->ns, options->ns);
    set_string(&r->query, options->query);
    schedule_step(r, 0);
    if ((options->ns && !r->ns) || (options->query && !r->query) || !r->next_step) {
        reflector_free(r);
        return NULL;
    }
    return r;
}

void reflector_free(struct reflector *r)
{
    if (!r)
        return;
    end_list(r);
    client_forget(r);
    close_stream(r);
    clock_stop(r->clock, r->next_step);
    buf_release(&r->line);
    arena_release(&r->scratch);
    free(r->ns);
    free(r->query);
    free(r->revision);
    free(r->next_page);
    free(r);
}

void reflector_list_again(struct reflector *r)
{
    end_list(r);
    client_forget(r);
    r->stream_dead = true;
    set_string(&r->revision, NULL);
    set_string(&r->next_page, NULL);
    schedule_step(r, 0);
}

int64_t reflector_revision(const struct reflector *r)
{
    return r->revision_number;
}
