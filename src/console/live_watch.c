/*
 * live_watch.c - a collection in a tab: a list, page by page as the tab takes them, then changes.
 *
 * A list is sent as messages {t: "list", part: true, items}, the first with first: true, and a last
 * one without part but with the cursor; the page shows it once it is complete. A watch that ends is
 * resumed from its last revision; one that is too old starts over with a list, which the page does
 * not notice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/live_internal.h"

#define PAGE_MEMORY_BYTES (256u * 1024u * 1024u)

static void look(struct live_sub *s);

static void set_text(char **at, const char *text)
{
    free(*at);
    *at = text && *text ? strdup(text) : NULL;
}

/* "PATH?query&more", with the right separator. */
static char *with_query(const struct live_sub *s, const char *more)
{
    char *whole = NULL;

    if (asprintf(&whole, "%s%c%s", s->path, strchr(s->path, '?') ? '&' : '?', more) < 0)
        return NULL;
    return whole;
}

static void on_again(void *arg)
{
    struct live_sub *s = arg;

    s->again = NULL;
    look(s);
}

/* What is forbidden or missing may become available; asking is cheap, but backs off. */
static void later(struct live_sub *s)
{
    unsigned doublings = s->failures < 8 ? s->failures++ : s->failures;
    int64_t ms = min_i64((int64_t)LIVE_RETRY_MS << doublings, LIVE_RETRY_LIMIT_MS);

    if (!s->again)
        s->again = clock_start(loop_clock(s->tab->loop), ms, on_again, s);
}

/* --- the list ---------------------------------------------------------------------------- */

static void begin_anew(struct live_sub *s)
{
    s->first = true;
    set_text(&s->more, NULL);
    set_text(&s->cursor, NULL);
}

static void send_page(struct live_sub *s, const struct json *list)
{
    struct buf b = BUF_INIT(MUX_TEXT_OUTPUT_LIMIT_BYTES);

    buf_addf(&b, "{\"id\":%u,\"t\":\"list\",%s%s\"items\":", s->id,
             s->first ? "\"first\":true," : "", s->more ? "\"part\":true," : "");
    json_write(&b, json_get(list, "items"));
    if (!s->more) {
        buf_adds(&b, ",\"cursor\":");
        json_write_string(&b, s->cursor, strlen(s->cursor));
    }
    buf_adds(&b, "}");
    s->first = false;
    if (b.failed) {
        begin_anew(s);
        live_send_error(s, 500, "InternalError", "the list does not fit into memory");
    }
    live_send(s->tab, &b);
}

static void take_page(struct live_sub *s, const struct api_reply *reply)
{
    struct arena a = ARENA_INIT(PAGE_MEMORY_BYTES);
    const struct json *list = json_parse(&a, reply->body, reply->body_len, NULL);
    const struct json *metadata = json_get(list, "metadata");
    const char *version = json_get_string(metadata, "resourceVersion", "");

    if (!json_is(json_get(list, "items"), JSON_ARRAY) || !*version) {
        begin_anew(s);
        live_send_error(s, 500, "InternalError", "this is not a list that can be watched");
    } else {
        set_text(&s->more, json_get_string(metadata, "continue", ""));
        if (!s->more)
            set_text(&s->cursor, version);
        if (s->more || s->cursor)
            send_page(s, list);
    }
    if (s->more || s->cursor)
        s->failures = 0;
    else
        later(s);
    arena_release(&a);
}

static void on_page(void *arg, const struct api_reply *reply)
{
    struct live_sub *s = arg;
    struct live_tab *t = s->tab;

    s->listing = false;
    t->pages--;
    if (s->gone) {
        live_sub_free(s);
    } else if (reply->status == 200 && reply->body_len > LIVE_PAGE_BYTES && s->page > 1) {
        s->page = s->page > 8 ? s->page / 8 : 1;
    } else if (reply->status == 200) {
        take_page(s, reply);
    } else if (reply->status == 410) { /* the pages took too long: start over */
        begin_anew(s);
    } else {
        begin_anew(s);
        live_refused(s, reply);
        later(s);
    }
    live_go_on(t);
}

static void ask_page(struct live_sub *s)
{
    char *query = NULL, *path = NULL;

    if (asprintf(&query, "limit=%u%s%s", s->page, s->more ? "&continue=" : "",
                 s->more ? s->more : "") < 0)
        query = NULL;
    path = query ? with_query(s, query) : NULL;
    if (path) {
        const struct api_call call = {.method = "GET", .path = path};

        s->listing = true;
        s->tab->pages++;
        transport_call(s->tab->transport, &call, on_page, s);
    } else {
        later(s);
    }
    free(query);
    free(path);
}

/* --- changes ----------------------------------------------------------------------------- */

/* The event's own members follow ours: it is passed on verbatim. */
static void send_event(struct live_sub *s, const char *line, size_t len)
{
    struct buf b = BUF_INIT(LIVE_MESSAGE_LIMIT_BYTES);

    buf_addf(&b, "{\"id\":%u,\"t\":\"event\",\"cursor\":", s->id);
    json_write_string(&b, s->cursor, strlen(s->cursor));
    buf_adds(&b, ",");
    buf_add(&b, line + 1, len - 1);
    live_send(s->tab, &b);
}

static void take_event(struct live_sub *s, const char *line, size_t len)
{
    struct arena a = ARENA_INIT(LIVE_MESSAGE_LIMIT_BYTES * 4);
    const struct json *event = json_parse(&a, line, len, NULL);
    const struct json *version = json_at(event, "object", "metadata", "resourceVersion");
    const char *type = json_get_string(event, "type", "");

    if (strcmp(type, "ERROR") == 0) {
        begin_anew(s); /* most likely too old: list again */
    } else if (json_is(version, JSON_STRING) && *line == '{') {
        set_text(&s->cursor, json_string(version, ""));
        if (s->cursor && strcmp(type, "BOOKMARK") != 0)
            send_event(s, line, len);
    }
    arena_release(&a);
}

static void pause_when_full(struct live_sub *s)
{
    bool full = !live_has_room(s->tab);

    if (s->stream && full != s->paused) {
        s->paused = full;
        transport_pause(s->tab->transport, s->stream, full);
    }
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct live_sub *s = arg;

    s->silent = false;
    s->failures = 0;
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) : len;

        buf_add(&s->line, data, n);
        if (end && !s->line.failed && s->line.len > 0)
            take_event(s, s->line.data, s->line.len);
        if (end)
            buf_clear(&s->line);
        n += end != NULL;
        data += n;
        len -= n;
    }
    pause_when_full(s);
}

static void on_end(void *arg, const struct api_reply *reply)
{
    struct live_sub *s = arg;

    s->stream = NULL;
    s->paused = false;
    buf_clear(&s->line);
    if (reply->status != 200 && reply->status != 410)
        live_refused(s, reply);
    if (reply->status != 200 && reply->status != 0) /* otherwise it resumes where it was */
        begin_anew(s);
    /* A watch that ends repeatedly without delivering anything must not cause a busy loop. */
    if (reply->status == 410 || (reply->status == 200 && !s->silent))
        look(s);
    else
        later(s);
}

static void open_watch(struct live_sub *s)
{
    const struct api_stream_handler handler = {.on_data = on_data, .on_end = on_end, .arg = s};
    char *query = NULL, *path = NULL;

    if (asprintf(&query, "watch=true&allowWatchBookmarks=true&resourceVersion=%s", s->cursor) < 0)
        query = NULL;
    path = query ? with_query(s, query) : NULL;
    s->silent = true;
    s->stream = path ? transport_open(s->tab->transport, path, &handler) : NULL;
    if (!s->stream)
        later(s);
    free(query);
    free(path);
}

/* Does the next thing, if idle. */
static void look(struct live_sub *s)
{
    if (s->listing || s->stream || s->again)
        return;
    if (s->cursor && !s->more)
        open_watch(s);
    else if (live_has_room(s->tab) && s->tab->pages < LIVE_PAGES_AT_ONCE)
        ask_page(s);
}

static void room(struct live_sub *s)
{
    pause_when_full(s);
    look(s);
}

const struct live_ops live_watch_ops = {.begin = look, .room = room};
