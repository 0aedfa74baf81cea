/*
 * write.c - the last steps of every write: stamp the revision, encode once, queue, and answer when
 * it is on disk. The stored bytes are the ones returned and watched.
 */
#include <errno.h>
#include <inttypes.h>

#include "server/internal.h"

#define UNCHANGED_WAIT_MS 10000

const char *object_key(struct arena *a, const struct kind *k, const char *ns, const char *name)
{
    return k->namespaced ? arena_printf(a, "%s/%s", ns, name) : name;
}

struct json *blob_parse(struct arena *a, const struct blob *b, struct err *err)
{
    return json_parse(a, b->data, b->len, err);
}

struct json *stored_parse(struct arena *a, const struct kind *k, const struct blob *b,
                          struct err *err)
{
    struct json *object = blob_parse(a, b, err);

    if (object && k->from_stored)
        k->from_stored(a, k, object);
    return object;
}

static struct blob *encode(struct server *s, const struct json *object, struct err *err)
{
    struct blob *b;

    buf_clear(&s->scratch);
    json_write(&s->scratch, object);
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
    const struct json *object; /* the same, in the request's memory; or NULL */
    int code;
};

static void written(void *arg, const struct err *err)
{
    struct pending *p = arg;
    struct blob *answer = p->answer; /* p is in the request's memory, which is gone once it is
                                      * answered */

    if (err)
        reply_err(p->request, err);
    else if (p->object && reply_is_converted(p->request))
        reply_json(p->request, p->code, p->object);
    else
        reply_blob(p->request, p->code, answer);
    blob_unref(answer);
}

static int encode_answer(struct server_request *r, struct pending *p, const struct json *instead,
                         struct err *err)
{
    if (!instead)
        return 0;
    p->answer = encode(r->server, instead, err);
    return p->answer ? 0 : -ENOMEM;
}

int request_write(struct server_request *r, const char *key, struct json *object,
                  enum write_type type, int code, const struct json *instead, bool dry_run,
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
    if (p->answer)
        blob_unref(stored);
    else
        p->answer = stored;
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
                             const struct json **ret, struct err *err)
{
    const struct kind *k = r->route.kind;

    *ret = NULL;
    if (!k->from_stored && !reply_is_converted(r))
        return blob_ref(item->value);
    *ret = stored_parse(r->arena, k, item->value, err);
    return *ret ? encode(r->server, *ret, err) : NULL;
}

int request_unchanged(struct server_request *r, const struct store_item *item, struct err *err)
{
    struct server *s = r->server;
    const struct json *object;
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
    return stored_parse(r->arena, k, item->value, err);
}
