/*
 * write.c - the last steps of every write: stamp the revision, encode once, queue, and answer when
 * it is on disk. The stored bytes are the ones returned and watched.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/managed.h"
#include "server/internal.h"

#define UNCHANGED_WAIT_MS 10000
#define SHOWN_KEPT_BYTES (256u * 1024u)

const char *object_key(struct arena *a, const struct kind *k, const char *ns, const char *name)
{
    return k->namespaced ? arena_printf(a, "%s/%s", ns, name) : name;
}

/* --- how objects are stored -------------------------------------------------------------- */

/* The field managers are the last member (api/managed.h), with the place in the bytes where their
 * list belongs: answers are copied around it, and readers that do not want it need not skip it. */
#define MANAGED_KEY "~managed"
static const char managed_mark[] = ",\"" MANAGED_KEY "\":[";

struct managed_part {
    size_t begin;     /* of the part */
    size_t place;     /* of the list: the end of metadata */
    const char *text; /* NULL: there is none */
    size_t len;
};

static struct managed_part find_managed(const struct blob *b)
{
    static const char tail[] = "\"]}";
    const size_t mark_len = sizeof(managed_mark) - 1, tail_len = sizeof(tail) - 1;
    const struct managed_part none = {.begin = b->len};
    struct managed_part part;
    const char *quote, *at;

    if (b->len < mark_len + tail_len || memcmp(b->data + b->len - tail_len, tail, tail_len) != 0)
        return none;
    quote = memrchr(b->data, '"', b->len - tail_len); /* there is none in the text */
    for (at = quote; at && at > b->data && at[-1] != '['; at--)
        if (at[-1] != ',' && (at[-1] < '0' || at[-1] > '9'))
            return none;
    if (!at || (size_t)(at - b->data) < mark_len ||
        memcmp(at - mark_len, managed_mark, mark_len) != 0)
        return none;
    part.begin = (size_t)(at - mark_len - b->data);
    part.place = strtoul(at, NULL, 10);
    part.text = quote + 1;
    part.len = (size_t)(b->data + b->len - tail_len - part.text);
    return part.place < part.begin && b->data[part.place] == '}' ? part : none;
}

bool stored_is_shown(const struct blob *b)
{
    return !find_managed(b).text;
}

size_t stored_bare_len(const struct blob *b)
{
    return find_managed(b).begin;
}

/* managed: a stored object's field managers become metadata.managedFields; otherwise they are left
 * out. */
static struct json *parse(struct arena *a, const struct blob *b, bool managed, struct err *err)
{
    struct json *object = json_parse(a, b->data, b->len, err);
    struct json *last = json_is(object, JSON_OBJECT) ? object->u.list.last : NULL;
    const struct json *text;

    if (!last || strcmp(last->key, MANAGED_KEY) != 0)
        return object;
    text = json_index(last, 1);
    json_remove_item(object, last);
    if (managed && json_is(text, JSON_STRING))
        managed_load(a, object, text->u.text, text->len);
    return object;
}

void stored_write(struct buf *out, struct arena *a, const struct kind *k, const struct blob *b,
                  bool bare)
{
    const struct managed_part part = find_managed(b);
    const struct json *object = part.text && !bare ? parse(a, b, true, NULL) : NULL;

    if (!part.text) {
        buf_add(out, b->data, b->len);
        return;
    }
    if (bare) {
        buf_add(out, b->data, part.begin);
    } else {
        buf_add(out, b->data, part.place);
        buf_adds(out, ",\"managedFields\":");
        managed_write(out, a, k, object);
        buf_add(out, b->data + part.place, part.begin - part.place);
        out->failed |= !object;
    }
    buf_addc(out, '}');
}

struct blob *stored_shown(struct server_request *r, struct blob *b)
{
    struct server *s = r->server;
    struct blob *shown;

    if (stored_is_shown(b))
        return blob_ref(b);
    buf_clear(&s->shown);
    stored_write(&s->shown, r->arena, r->route.kind, b, r->bare);
    shown = blob_from_buf(&s->shown);
    if (s->shown.cap > SHOWN_KEPT_BYTES)
        buf_release(&s->shown);
    return shown;
}

static void write_metadata(struct buf *out, const struct json *meta, bool leave_out)
{
    bool first = true;

    buf_addc(out, '{');
    json_each (m, meta) {
        if (leave_out && strcmp(m->key, "managedFields") == 0)
            continue;
        if (!first)
            buf_addc(out, ',');
        first = false;
        json_write_string(out, m->key, m->key_len);
        buf_addc(out, ':');
        json_write(out, m);
    }
    buf_addc(out, '}');
}

static void write_stored(struct buf *out, struct json *object)
{
    bool first = true, managed = !managed_is_empty(object);
    size_t place = 0;

    json_remove(object, MANAGED_KEY);
    buf_addc(out, '{');
    json_each (m, object) {
        if (!first)
            buf_addc(out, ',');
        first = false;
        json_write_string(out, m->key, m->key_len);
        buf_addc(out, ':');
        if (strcmp(m->key, "metadata") == 0) {
            write_metadata(out, m, managed);
            place = out->len - 1;
        } else {
            json_write(out, m);
        }
    }
    if (managed) {
        buf_addf(out, "%s%zu,\"", managed_mark, place);
        managed_store(out, object);
        buf_adds(out, "\"]");
    }
    buf_addc(out, '}');
}

struct json *blob_parse(struct arena *a, const struct blob *b, struct err *err)
{
    return parse(a, b, false, err);
}

struct json *stored_parse(struct arena *a, const struct kind *k, const struct blob *b, bool bare,
                          struct err *err)
{
    struct json *object = parse(a, b, !bare, err);
    const struct json *list = json_at(object, "metadata", "managedFields");

    if (json_is(list, JSON_ARRAY) && !managed_take(a, k, object, list)) /* from an older version */
        managed_clear(object);
    if (object && k->from_stored)
        k->from_stored(a, k, object);
    return object;
}

static struct blob *encode(struct server *s, struct json *object, struct err *err)
{
    struct blob *b;

    buf_clear(&s->scratch);
    write_stored(&s->scratch, object);
    if (s->scratch.failed && s->scratch.len > OBJECT_LIMIT_BYTES / 2) {
        err_set(err, ERR_TOO_LARGE, "Request entity too large: limit is %u", OBJECT_LIMIT_BYTES);
        return NULL;
    }
    b = blob_from_buf(&s->scratch);
    if (!b)
        out_of_memory(err);
    return b;
}

/* In its stored version, which may differ from the one it was written in. */
static struct blob *encode_stored(struct server *s, struct arena *a, const struct kind *k,
                                  struct json *object, struct err *err)
{
    struct json *stored = k->to_stored ? json_clone(a, object) : object;

    if (k->to_stored && stored)
        k->to_stored(a, k, stored);
    if (arena_failed(a)) {
        out_of_memory(err);
        return NULL;
    }
    return encode(s, stored, err);
}

/* Maps the store's errors to ours. */
static int store_refused(int rc, struct err *err)
{
    if (rc == -ENAMETOOLONG)
        return err_set(err, ERR_BAD_REQUEST, "the name is too long");
    if (rc == -ENOSPC)
        return err_set(
            err, ERR_UNAVAILABLE,
            "the disk is full: nothing new is accepted until there is room; deleting works");
    if (rc == -ESHUTDOWN)
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    return out_of_memory(err);
}

int object_write(struct server *s, struct arena *a, const struct kind *k, const char *key,
                 struct json *object, enum write_type type, store_done_fn *done, void *arg,
                 struct blob **ret, struct err *err)
{
    struct store_collection *c = server_collection(s, k);
    struct blob *b, *shown = NULL;
    int rc;

    json_set_stringf(a, json_make_object(a, object, "metadata"), "resourceVersion", "%" PRId64,
                     store_next_revision(s->store));
    if (!key || arena_failed(a))
        return out_of_memory(err);
    b = encode_stored(s, a, k, object, err);
    if (b && ret && k->to_stored)
        shown = encode(s, object, err);
    if (!b || (ret && k->to_stored && !shown)) {
        blob_unref(b);
        return -ENOMEM;
    }
    rc = type == WRITE_PUT ? store_put(c, key, b, done, arg) : store_delete(c, key, b, done, arg);
    if (rc == 0) {
        quota_written(s, k);
        room_written(s, k, object, type == WRITE_DELETE);
        events_written(s, k);
    }
    if (rc == 0 && ret)
        *ret = blob_ref(shown ? shown : b);
    blob_unref(shown);
    blob_unref(b);
    return rc < 0 ? store_refused(rc, err) : 0;
}

struct pending {
    struct server_request *request;
    struct blob *answer;
    struct json *object; /* the same, in the request's memory; or NULL */
    int code;
};

/* As the client is to see it, in the request's memory. */
static void show_object(struct server_request *r, struct json *object)
{
    if (r->bare)
        managed_clear(object);
    else
        managed_show(r->arena, r->route.kind, object);
}

static void written(void *arg, const struct err *err)
{
    struct pending *p = arg;
    struct blob *answer = p->answer; /* p is in the request's memory, which is gone once it is
                                      * answered */

    if (err) {
        reply_err(p->request, err);
    } else if (p->object && reply_is_converted(p->request)) {
        show_object(p->request, p->object);
        reply_json(p->request, p->code, p->object);
    } else {
        reply_blob(p->request, p->code, answer); /* without a body, if there was no memory */
    }
    blob_unref(answer);
}

static int encode_answer(struct server_request *r, struct pending *p, struct json *instead,
                         struct err *err)
{
    if (!instead)
        return 0;
    p->answer = encode(r->server, instead, err);
    return p->answer ? 0 : -ENOMEM;
}

int request_write(struct server_request *r, const char *key, struct json *object,
                  enum write_type type, int code, struct json *instead, bool dry_run,
                  struct err *err)
{
    struct pending *p = arena_alloc(r->arena, sizeof(*p));
    struct blob *stored = NULL;
    int rc;

    if (!p || arena_failed(r->arena))
        return out_of_memory(err);
    rc = type == WRITE_PUT ? own_lease_check(r, key, err) : 0;
    if (rc < 0)
        return rc;
    if (dry_run) {
        show_object(r, object);
        reply_json(r, code, instead ? instead : object);
        return 0;
    }
    *p = (struct pending){.request = r, .code = code, .object = instead ? instead : object};
    rc = encode_answer(r, p, instead, err);
    if (rc == 0)
        rc = object_write(r->server, r->arena, r->route.kind, key, object, type, written, p,
                          &stored, err);
    if (rc < 0) {
        blob_unref(p->answer);
        return rc;
    }
    if (!p->answer)
        p->answer = stored_shown(r, stored);
    blob_unref(stored);
    return 0;
}

static void unchanged_committed(void *arg, bool reached)
{
    auto_err err = ERR_INIT;

    if (!reached)
        err_set(&err, ERR_TIMEOUT, "the write that this one repeats did not finish");
    written(arg, reached ? NULL : &err);
}

static struct blob *as_shown(struct server_request *r, const struct store_item *item,
                             struct json **ret, struct err *err)
{
    const struct kind *k = r->route.kind;
    struct blob *stored, *shown;

    *ret = NULL;
    if (!k->from_stored && !reply_is_converted(r))
        return stored_shown(r, item->value);
    *ret = stored_parse(r->arena, k, item->value, false, err);
    stored = *ret ? encode(r->server, *ret, err) : NULL;
    shown = stored ? stored_shown(r, stored) : NULL;
    blob_unref(stored);
    return shown;
}

int request_unchanged(struct server_request *r, const struct store_item *item, struct err *err)
{
    struct server *s = r->server;
    struct json *object;
    struct blob *shown = as_shown(r, item, &object, err);
    struct pending *p = shown ? arena_alloc(r->arena, sizeof(*p)) : NULL;

    if (!p) {
        blob_unref(shown);
        return out_of_memory(err);
    }
    *p = (struct pending){.request = r, .code = 200, .answer = shown, .object = object};
    if (item->revision <= store_revision(s->store)) {
        written(p, NULL);
        return 0;
    }
    /* Equal to a write still under way: not answered before that one is on disk. If it fails,
     * another may get its revision. */
    if (wait_for_write(s, server_collection(s, r->route.kind), item->revision, item->value,
                       UNCHANGED_WAIT_MS, unchanged_committed, p) < 0) {
        blob_unref(p->answer);
        return out_of_memory(err);
    }
    return 0;
}

struct json *request_load(struct server_request *r, const char **ret_key,
                          const struct store_item **ret_item, struct err *err)
{
    const struct kind *k = r->route.kind;
    const char *key = object_key(r->arena, k, r->route.ns, r->route.name);
    const struct store_item *item = key ? store_head(server_collection(r->server, k), key) : NULL;

    if (!key) {
        out_of_memory(err);
        return NULL;
    }
    if (crd_check_builtin(r, r->route.name, err) < 0)
        return NULL;
    if (!item) {
        (void)object_missing(r->server, k, key, r->route.name, err);
        return NULL;
    }
    *ret_key = key;
    *ret_item = item;
    return stored_parse(r->arena, k, item->value, false, err);
}
