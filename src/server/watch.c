/*
 * watch.c - GET of a collection with watch=true: one JSON object per line, or protobuf frames, for
 * as long as the client stays.
 *
 * Without a revision (or with 0) the current collection comes first, each object as ADDED. For a
 * client that takes plain objects nothing is encoded again: it gets {"type":...,"object":<the
 * stored bytes>}. A watcher holds nothing but its position in the window; one that is too slow gets
 * 410. A bookmark is sent only when everything up to its revision has been. An event converted for
 * one watcher (to protobuf, to a Table) is shared by all at the same position, so that many stalled
 * clients cost one copy.
 *
 * Kinds that are computed, not stored, have their own feed (endpoints_watch.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/protobuf.h"
#include "api/status.h"
#include "server/endpoints.h"
#include "server/endpoints_watch.h"
#include "server/internal.h"
#include "server/list.h"

#define BOOKMARK_MS 60000
#define LONGEST_WATCH_S 3600 /* for a client without a timeout */
#define EVENT_LIMIT_BYTES (16u * 1024u * 1024u)
#define STREAM_MEMORY_BYTES (256u * 1024u) /* selectors */
#define SHARED_FROM_BYTES 4096u            /* smaller events are not shared */

enum initial { INITIAL_NONE, INITIAL_ADDED };

/* What an event was converted from, and how; compared bytewise. */
struct frame_key {
    const struct blob *value;
    const struct kind *kind;
    int64_t left_revision; /* see put_event */
    int64_t second;        /* for a Table, whose ages change */
    int type, format, encoding, include;
    char table_version[8];
    bool with_columns, bare;
};

/* A converted event; those in use are in server->frames. */
struct frame {
    struct frame_key key;
    struct blob *value; /* keeps the key's pointer valid */
    struct blob *text;
    size_t refs;
};

struct watch {
    struct stream base;
    struct server *server;
    struct store_collection *collection;
    struct arena arena;
    struct selection selection;
    struct shape shape;
    struct store_watch *events;
    struct endpoints_watch *made; /* instead of events */
    struct clock_timer *end_timer, *bookmark_timer;
    int64_t sent_revision; /* everything up to it was sent */

    struct blob **initial; /* sent first; references */
    size_t initial_count, initial_next, initial_cap;

    bool bookmarks, bookmark_due, mark_initial_end;
    bool columns_sent, ending;

    /* Being sent: a shared frame, or head, then shared bytes of body, then tail. */
    struct frame *frame;
    struct buf head;
    struct blob *body;
    size_t body_len; /* of its bytes, before tail */
    size_t sent;
};

#define HEAD(type) "{\"type\":\"" type "\",\"object\":"
static const struct {
    const char *name, *head;
} types[] = {[STORE_ADDED] = {"ADDED", HEAD("ADDED")},
             [STORE_MODIFIED] = {"MODIFIED", HEAD("MODIFIED")},
             [STORE_DELETED] = {"DELETED", HEAD("DELETED")}};

#define TAIL "}\n"

/* --- output ---------------------------------------------------------------------------- */

/* A bare object's last brace was left out with its field managers. */
static const char *tail_of(const struct watch *w)
{
    return w->body_len < w->body->len ? "}" TAIL : TAIL;
}

static size_t piece_len(const struct watch *w)
{
    return w->frame ? w->frame->text->len
                    : w->head.len + (w->body ? w->body_len + strlen(tail_of(w)) : 0);
}

static bool piece_pending(const struct watch *w)
{
    return w->sent < piece_len(w);
}

static void frame_unref(struct server *s, struct frame *f)
{
    if (!f || --f->refs > 0)
        return;
    (void)map_remove(&s->frames, &f->key, sizeof(f->key));
    blob_unref(f->value);
    blob_unref(f->text);
    free(f);
}

static void piece_clear(struct watch *w)
{
    frame_unref(w->server, w->frame);
    w->frame = NULL;
    buf_clear(&w->head);
    blob_unref(w->body);
    w->body = NULL;
    w->sent = 0;
}

static size_t copy_from(char *out, size_t cap, const char *data, size_t len, size_t *skip)
{
    size_t n;

    if (*skip >= len) {
        *skip -= len;
        return 0;
    }
    n = min_size(cap, len - *skip);
    memcpy(out, data + *skip, n);
    *skip = 0;
    return n;
}

static size_t piece_read(struct watch *w, char *out, size_t cap)
{
    size_t skip = w->sent, n = 0;

    if (w->frame)
        n += copy_from(out, cap, w->frame->text->data, w->frame->text->len, &skip);
    else if (w->head.len)
        n += copy_from(out, cap, w->head.data, w->head.len, &skip);
    if (w->body) {
        n += copy_from(out + n, cap - n, w->body->data, w->body_len, &skip);
        n += copy_from(out + n, cap - n, tail_of(w), strlen(tail_of(w)), &skip);
    }
    w->sent += n;
    return n;
}

/* --- events ---------------------------------------------------------------------------- */

static bool is_protobuf(const struct watch *w)
{
    return w->shape.encoding == ENCODING_PROTOBUF;
}

static void put_error(struct watch *w, const struct err *err)
{
    struct json *status;

    arena_reset(&w->shape.scratch);
    status = status_from_err(&w->shape.scratch, err, NULL, NULL);
    piece_clear(w);
    if (is_protobuf(w)) {
        protobuf_write_event(&w->head, &w->shape.scratch, "ERROR", &kind_status, status);
    } else {
        buf_adds(&w->head, HEAD("ERROR"));
        json_write(&w->head, status);
        buf_adds(&w->head, TAIL);
    }
    w->ending = true;
}

static struct frame_key key_of(const struct watch *w, enum store_event_type type,
                               const struct blob *source, int64_t left_revision)
{
    struct frame_key k;

    memset(&k, 0, sizeof(k)); /* including padding */
    k.value = source;
    k.kind = w->shape.kind;
    k.left_revision = left_revision;
    k.type = (int)type;
    k.format = (int)w->shape.format;
    k.encoding = (int)w->shape.encoding;
    k.include = (int)w->shape.include;
    k.bare = w->shape.bare;
    if (w->shape.format == FORMAT_TABLE) {
        k.second = clock_now_ms(w->server->clock) / 1000;
        k.with_columns = !w->columns_sent;
        (void)snprintf(k.table_version, sizeof(k.table_version), "%s", w->shape.table_version);
    }
    return k;
}

/* Turns head into a shared frame; when out of memory it stays this watcher's own. */
static void share(struct watch *w, const struct frame_key *key, struct blob *source)
{
    struct frame *f = w->head.failed ? NULL : calloc(1, sizeof(*f));

    if (!f)
        return;
    f->key = *key;
    f->refs = 1;
    f->text = blob_from_buf(&w->head);
    if (!f->text || map_put(&w->server->frames, &f->key, sizeof(f->key), f, NULL) != 0) {
        if (f->text)
            buf_add(&w->head, f->text->data, f->text->len);
        blob_unref(f->text);
        free(f);
        return;
    }
    f->value = blob_ref(source);
    w->frame = f;
}

static int convert(struct watch *w, enum store_event_type type, const struct blob *value,
                   struct err *err)
{
    int rc;

    if (is_protobuf(w))
        return shape_frame(&w->shape, types[type].name, value, NULL, &w->head, err);
    buf_adds(&w->head, types[type].head);
    rc = shape_event(&w->shape, value, NULL, !w->columns_sent, &w->head, err);
    buf_adds(&w->head, TAIL);
    return rc;
}

static struct blob *last_match(struct watch *w, const struct blob *previous, int64_t revision);

/* left_revision: of the change after which the object no longer matches; 0 for its current
 * state. */
static void put_event(struct watch *w, enum store_event_type type, struct blob *source,
                      int64_t left_revision)
{
    struct frame_key key = key_of(w, type, source, left_revision);
    bool shared = source->len >= SHARED_FROM_BYTES;
    auto_err err = ERR_INIT;
    struct blob *value;
    int rc;

    piece_clear(w);
    if (!is_protobuf(w) && shape_copies(&w->shape) && !left_revision &&
        (w->shape.bare || stored_is_shown(source))) {
        buf_adds(&w->head, types[type].head);
        w->body = w->head.failed ? NULL : blob_ref(source);
        w->body_len = stored_bare_len(source);
        return;
    }
    w->frame = shared ? map_get(&w->server->frames, &key, sizeof(key)) : NULL;
    if (w->frame) {
        w->frame->refs++;
        w->columns_sent = true;
        return;
    }
    value = left_revision ? last_match(w, source, left_revision) : blob_ref(source);
    rc = value ? convert(w, type, value, &err) : out_of_memory(&err);
    blob_unref(value);
    w->columns_sent = true;
    if (rc < 0)
        put_error(w, &err);
    else if (shared)
        share(w, &key, source);
}

static bool selects(const struct watch *w)
{
    return w->selection.has_labels || w->selection.has_fields;
}

/* Negative: out of memory. */
static int matches(struct watch *w, struct blob *value)
{
    const struct json *object;

    return value ? selection_matches_stored(&w->selection, &w->shape, value, &object, NULL) : 0;
}

/* An object that stops matching is deleted for this client: its last matching state, with the
 * revision of the change. */
static struct blob *last_match(struct watch *w, const struct blob *previous, int64_t revision)
{
    struct json *object = shape_parse(&w->shape, previous, NULL);
    struct buf b = BUF_INIT(EVENT_LIMIT_BYTES);
    struct blob *blob = NULL;

    if (object) {
        json_set_stringf(&w->shape.scratch, json_make_object(&w->shape.scratch, object, "metadata"),
                         "resourceVersion", "%" PRId64, revision);
        if (!arena_failed(&w->shape.scratch)) {
            json_write(&b, object);
            blob = blob_from_buf(&b);
        }
    }
    buf_release(&b);
    return blob;
}

/* [matched before][matches now] for a client with selectors. */
static void put_change(struct watch *w, const struct store_event *e)
{
    auto_err err = ERR_INIT;
    int was, is;

    if (w->selection.prefix &&
        strncmp(e->key, w->selection.prefix, strlen(w->selection.prefix)) != 0)
        return;
    if (!selects(w)) {
        put_event(w, e->type, e->value, 0);
        return;
    }
    was = matches(w, e->previous);
    is = e->type != STORE_DELETED ? matches(w, e->value) : 0;
    if (was < 0 || is < 0) { /* a skipped event would never be sent */
        out_of_memory(&err);
        put_error(w, &err);
    } else if (is)
        put_event(w, was ? STORE_MODIFIED : STORE_ADDED, e->value, 0);
    else if (was && e->type == STORE_DELETED)
        put_event(w, STORE_DELETED, e->value, 0);
    else if (was)
        put_event(w, STORE_DELETED, e->previous, e->revision);
}

static void put_bookmark(struct watch *w)
{
    const struct kind *k = w->selection.kind;
    struct arena *a = &w->shape.scratch;
    int64_t now = w->made ? endpoints_watch_revision(w->made) : store_revision(w->server->store);
    auto_err err = ERR_INIT;
    struct json *mark, *meta;

    w->bookmark_due = false;
    if (now < w->sent_revision)
        return; /* what is computed is not up to date yet */
    w->sent_revision = now;
    piece_clear(w);
    arena_reset(a);
    mark = json_new_object(a);
    json_set_string(a, mark, "kind", k->name);
    json_set_string(a, mark, "apiVersion", kind_api_version(a, k));
    meta = json_make_object(a, mark, "metadata");
    json_set_stringf(a, meta, "resourceVersion", "%" PRId64, w->sent_revision);
    json_set(a, meta, "creationTimestamp", json_new_null(a));
    if (w->mark_initial_end)
        json_set_string(a, json_make_object(a, meta, "annotations"), "k8s.io/initial-events-end",
                        "true");
    w->mark_initial_end = false;
    if (arena_failed(a)) {
        out_of_memory(&err);
        put_error(w, &err);
    } else if (is_protobuf(w)) {
        if (shape_frame(&w->shape, "BOOKMARK", NULL, mark, &w->head, &err) < 0)
            put_error(w, &err);
    } else {
        buf_adds(&w->head, HEAD("BOOKMARK"));
        json_write(&w->head, mark);
        buf_adds(&w->head, TAIL);
    }
}

/* --- the stream ------------------------------------------------------------------------ */

static bool put_initial(struct watch *w)
{
    struct blob *value;

    if (w->initial_next == w->initial_count)
        return false;
    value = w->initial[w->initial_next];
    w->initial[w->initial_next++] = NULL;
    put_event(w, STORE_ADDED, value, 0);
    blob_unref(value);
    return true;
}

static int next_event(struct watch *w, struct store_event *ret)
{
    if (w->made)
        return endpoints_watch_next(w->made, ret);
    return w->events ? store_watch_next(w->events, ret) : 0;
}

/* Prepares the next piece; false when there is none now. */
static bool next_piece(struct watch *w)
{
    struct store_event e;
    auto_err err = ERR_INIT;
    int rc;

    piece_clear(w);
    if (put_initial(w))
        return true;
    while (!w->ending && !piece_pending(w)) {
        rc = next_event(w, &e);
        if (rc == 0)
            break;
        if (rc < 0) {
            err_set(&err, ERR_EXPIRED, "too old resource version: %" PRId64 " (%" PRId64 ")",
                    w->sent_revision, store_revision(w->server->store));
            put_error(w, &err);
            return true;
        }
        w->sent_revision = e.revision;
        put_change(w, &e);
    }
    if (!piece_pending(w) && !w->ending && (w->bookmark_due || w->mark_initial_end))
        put_bookmark(w);
    return piece_pending(w);
}

static ssize_t watch_read(struct stream *s, char *out, size_t cap)
{
    struct watch *w = container_of(s, struct watch, base);
    size_t n = 0;

    while (n < cap) {
        if (piece_pending(w))
            n += piece_read(w, out + n, cap - n);
        else if (w->head.failed || w->ending || !next_piece(w))
            break;
    }
    arena_release(
        &w->shape.scratch); /* a large object's is not kept while the client does not read */
    if (n)
        return (ssize_t)n;
    return w->ending || w->head.failed ? STREAM_END : 0;
}

static void watch_close(struct stream *s)
{
    struct watch *w = container_of(s, struct watch, base);

    clock_stop(w->server->clock, w->end_timer);
    clock_stop(w->server->clock, w->bookmark_timer);
    store_watch_free(w->events);
    endpoints_watch_free(w->made);
    for (size_t i = w->initial_next; i < w->initial_count; i++)
        blob_unref(w->initial[i]);
    free(w->initial);
    piece_clear(w);
    buf_release(&w->head);
    shape_release(&w->shape);
    arena_release(&w->arena);
    free(w);
}

static const struct stream_ops watch_ops = {.read = watch_read, .close = watch_close};

static void events_came(void *arg)
{
    struct watch *w = arg;

    stream_ready(&w->base);
}

static void time_is_over(void *arg)
{
    struct watch *w = arg;

    w->end_timer = NULL;
    w->ending = true; /* what was begun is sent completely */
    stream_ready(&w->base);
}

static void bookmark_time(void *arg)
{
    struct watch *w = arg;

    w->bookmark_due = true;
    w->bookmark_timer = clock_start(w->server->clock, BOOKMARK_MS, bookmark_time, w);
    stream_ready(&w->base);
}

/* --- opening --------------------------------------------------------------------------- */

static bool take_initial(void *arg, const struct store_item *item)
{
    struct watch *w = arg;
    int matching = selects(w) ? matches(w, item->value) : 1;

    if (matching < 0) {
        w->arena.failed = true;
        return false;
    }
    if (!matching)
        return true;
    if (w->initial_count == w->initial_cap) {
        size_t cap = w->initial_cap ? w->initial_cap * 2 : 16;
        struct blob **more = reallocarray(w->initial, cap, sizeof(struct blob *));

        if (!more) {
            w->arena.failed = true;
            return false;
        }
        w->initial = more;
        w->initial_cap = cap;
    }
    w->initial[w->initial_count++] = blob_ref(item->value);
    return true;
}

static int start_timers(struct watch *w, const struct server_request *r, struct err *err)
{
    int64_t seconds;
    int rc = query_int(r, "timeoutSeconds", LONGEST_WATCH_S, &seconds, err);

    if (rc < 0)
        return rc;
    if (seconds == 0 || seconds > LONGEST_WATCH_S)
        seconds = LONGEST_WATCH_S;
    w->end_timer = clock_start(w->server->clock, seconds * 1000, time_is_over, w);
    if (w->bookmarks)
        w->bookmark_timer = clock_start(w->server->clock, BOOKMARK_MS, bookmark_time, w);
    return w->end_timer && (w->bookmark_timer || !w->bookmarks) ? 0 : out_of_memory(err);
}

/* From now, or from a revision; if that is too old, or of a later state of the database than this
 * one, an error is the stream's only event. */
static int open_events(struct watch *w, int64_t from, enum initial initial, struct err *err)
{
    int64_t newest = store_revision(w->server->store);
    auto_err refused = ERR_INIT;
    int rc;

    if (from > newest) {
        (void)err_set(&refused, ERR_EXPIRED,
                      "too large resource version: %" PRId64 ", current: %" PRId64, from, newest);
        rc = -ESTALE;
    } else if (endpoints_are(w->selection.kind)) {
        w->sent_revision = from;
        rc = endpoints_watch_open(w->server, w->selection.kind, initial == INITIAL_ADDED ? 0 : from,
                                  events_came, w, &w->made, &refused);
    } else {
        if (initial == INITIAL_ADDED) {
            from = newest;
            store_list(w->collection, w->selection.prefix, NULL, take_initial, w);
        }
        w->sent_revision = from;
        rc = store_watch_open(w->collection, from, events_came, w, &w->events, &refused);
    }
    if (rc == -ESTALE)
        put_error(w, &refused);
    else if (rc < 0 || arena_failed(&w->arena))
        return out_of_memory(err);
    return 0;
}

static int check_options(const struct server_request *r, struct err *err)
{
    static const char at[] = "resourceVersionMatch";
    const char *match = query_get(r, at), *send_initial = query_get(r, "sendInitialEvents");

    if (send_initial && (!match || strcmp(match, "NotOlderThan") != 0))
        return option_invalid(
            r, "FieldValueForbidden", at,
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            err);
    if (match && *match && !send_initial)
        return option_invalid(r, "FieldValueForbidden", at,
                              "Forbidden: resourceVersionMatch is forbidden for watch unless "
                              "sendInitialEvents is provided",
                              err);
    return 0;
}

static int open_watch(struct watch *w, const struct server_request *r, struct err *err)
{
    const char *send_initial = query_get(r, "sendInitialEvents");
    enum initial initial;
    int64_t from = 0;
    int rc = shape_init(&w->shape, r, err);

    if (rc == 0)
        rc = check_options(r, err);
    if (rc == 0)
        rc = selection_init(&w->selection, r, &w->arena, err);
    if (rc == 0)
        rc = revision_parse(query_get(r, "resourceVersion"), &from, err);
    if (rc < 0)
        return rc;
    w->bookmarks = query_is_true(r, "allowWatchBookmarks");
    w->mark_initial_end = w->bookmarks && send_initial && query_is_true(r, "sendInitialEvents");
    initial = from == 0 || w->mark_initial_end ? INITIAL_ADDED : INITIAL_NONE;
    if (send_initial && !query_is_true(r, "sendInitialEvents")) {
        initial = INITIAL_NONE;
        from = from ? from : store_revision(w->server->store);
    }
    rc = start_timers(w, r, err);
    return rc < 0 ? rc : open_events(w, from, initial, err);
}

int verb_watch(struct server_request *r, struct err *err)
{
    struct watch *w = calloc(1, sizeof(*w));
    int rc;

    if (!w)
        return out_of_memory(err);
    w->base.ops = &watch_ops;
    w->server = r->server;
    if (!endpoints_are(r->route.kind))
        w->collection = server_collection(r->server, r->route.kind);
    arena_init(&w->arena, STREAM_MEMORY_BYTES);
    buf_init(&w->head, EVENT_LIMIT_BYTES);
    rc = open_watch(w, r, err);
    if (rc < 0)
        watch_close(&w->base);
    else
        reply_stream(r, is_protobuf(w) ? PROTOBUF_TYPE ";stream=watch" : JSON_TYPE, &w->base);
    return rc;
}
