/*
 * list.c - GET of a collection: selectors, pages, tables.
 *
 * Pages after the first show the collection as it was when the first was read (snapshot.c); a token
 * too old for that gets 410, along with another that continues with the current collection.
 */
#include "server/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/status.h"
#include "base/base64.h"
#include "server/internal.h"
#include "server/snapshot.h"
#include "server/traits.h"

#define LIST_LIMIT_BYTES (256u * 1024u * 1024u)
#define FUTURE_WAIT_MS 3000

int selection_init(struct selection *s, const struct server_request *r, struct arena *a,
                   struct err *err)
{
    const struct kind *k = r->route.kind;
    const char *labels = query_get(r, "labelSelector"), *fields = query_get(r, "fieldSelector");
    int rc;

    s->kind = k;
    s->has_labels = labels && *labels;
    s->has_fields = fields && *fields;
    labels = s->has_labels ? arena_strdup(a, labels) : NULL; /* a may outlive the request */
    fields = s->has_fields ? arena_strdup(a, fields) : NULL;
    if (arena_failed(a))
        return out_of_memory(err);
    rc = label_selector_parse(a, labels, &s->labels, err);
    if (rc == 0)
        rc = field_selector_parse(a, k, fields, &s->fields, err);
    if (rc < 0)
        return rc;
    s->prefix = k->namespaced && *r->route.ns ? arena_printf(a, "%s/", r->route.ns) : NULL;
    return arena_failed(a) ? out_of_memory(err) : 0;
}

bool selection_matches(const struct selection *s, const struct json *object)
{
    return (!s->has_labels || label_selector_matches(s->labels, object_labels(object))) &&
           (!s->has_fields || field_selector_matches(s->fields, object));
}

int selection_matches_stored(const struct selection *s, struct shape *shape, struct blob *b,
                             const struct json **ret, struct err *err)
{
    const struct traits *t = traits_of(s->kind, b, &shape->scratch);

    *ret = t ? NULL : shape_parse(shape, b, err);
    if (t)
        return traits_match(t, s->labels, s->fields);
    return *ret ? selection_matches(s, *ret) : -EIO;
}

int revision_parse(const char *text, int64_t *ret, struct err *err)
{
    char *end;

    *ret = 0;
    if (!text || !*text)
        return 0;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno)
        return 0;
    return err_set(
        err, ERR_BAD_REQUEST,
        "resourceVersion: Invalid value: \"%s\": must be a version that a server returned", text);
}

/* --- pages ----------------------------------------------------------------------------- */

struct list {
    struct server_request *request;
    struct store_collection *collection;
    struct selection selection;
    struct shape shape;
    struct buf out;
    int64_t limit, count; /* limit 0: none */
    int64_t revision;
    int64_t remaining; /* after this page; only known without selectors */
    const char *after, *last_key;
    bool more, exact;
    struct err *err;
    int rc;
};

/* "REVISION KEY" in a URL-safe alphabet; revision 0: the current state. */
static char *token_make(struct list *l, int64_t revision, const char *key)
{
    struct arena *a = l->request->arena;
    const char *text = arena_printf(a, "%" PRId64 " %s", revision, key);
    char *token = text ? base64_encode(a, text, strlen(text), &(size_t){0}) : NULL;

    for (char *c = token; c && *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c == '=' ? '.' : *c;
    return token;
}

static int token_read(struct list *l, const char *token, struct err *err)
{
    struct arena *a = l->request->arena;
    char *copy = arena_strdup(a, token), *text, *space;
    int64_t revision;
    size_t len;

    if (!copy)
        return out_of_memory(err);
    for (char *c = copy; *c; c++)
        *c = *c == '-' ? '+' : *c == '_' ? '/' : *c == '.' ? '=' : *c;
    text = base64_decode(a, copy, strlen(copy), &len);
    space = text ? strchr(text, ' ') : NULL;
    if (space)
        *space = '\0';
    if (!space || revision_parse(text, &revision, NULL) < 0)
        return err_set(err, ERR_BAD_REQUEST, "continue key is not valid");
    l->after = space + 1;
    l->exact = revision != 0;
    if (revision)
        l->revision = revision;
    return 0;
}

static bool selects(const struct list *l)
{
    return l->selection.has_labels || l->selection.has_fields;
}

static bool is_full(const struct list *l)
{
    return l->limit && l->count == l->limit;
}

/* False to stop: the page is full, or an error occurred. */
static bool add_item(struct list *l, const char *key, struct blob *value)
{
    const struct json *object = NULL;

    if (selects(l)) {
        int rc = selection_matches_stored(&l->selection, &l->shape, value, &object, l->err);

        l->rc = rc < 0 ? rc : 0;
        if (rc <= 0)
            return rc == 0;
    }
    if (is_full(l)) {
        l->more = true;
        return false;
    }
    l->count++;
    l->last_key = key;
    l->rc = shape_item(&l->shape, value, object, &l->out, l->err);
    return l->rc == 0 && !l->out.failed;
}

static bool visit(void *arg, const struct store_item *item)
{
    return add_item(arg, item->key, item->value);
}

/* The key may be gone when the walk is over. */
static bool add_kept(void *arg, const char *key, struct blob *value)
{
    struct list *l = arg;
    const char *last = l->last_key;
    bool goes_on = add_item(l, key, value);

    if (l->last_key != last)
        l->last_key = arena_strdup(l->request->arena, l->last_key);
    return goes_on;
}

static void list_snapshot(struct list *l)
{
    int rc = snapshot_each(l->collection, l->revision, l->selection.prefix, l->after, add_kept, l,
                           l->err);

    if (rc < 0)
        l->rc = rc;
}

/* metadata.name= in a known namespace is a lookup, not a search: kubectl uses it all the time. */
static bool list_one(struct list *l)
{
    const char *name = field_selector_name(l->selection.fields);
    const struct kind *k = l->request->route.kind;
    const struct store_item *item;
    const char *key;

    if (!l->selection.has_fields || !name || (k->namespaced && !l->selection.prefix))
        return false;
    key = object_key(l->request->arena, k, l->request->route.ns, name);
    item = key ? store_get(l->collection, key) : NULL;
    if (item)
        (void)visit(l, item);
    else if (key && object_may_be_damaged(l->request->server, k, key))
        l->rc = object_missing(l->request->server, k, key, name, l->err);
    return true;
}

static bool add_builtin(void *arg, const struct json *crd)
{
    struct list *l = arg;

    if (!selection_matches(&l->selection, crd))
        return true;
    l->count++;
    l->rc = shape_item(&l->shape, NULL, crd, &l->out, l->err);
    return l->rc == 0;
}

/* Definitions of built-in kinds come first, on the first page, beyond its limit. */
static void list_builtin(struct list *l)
{
    struct server_request *r = l->request;

    if (r->route.kind != &kind_crd || l->after)
        return;
    crd_builtin_each(r->server, r->arena, add_builtin, l);
    if (l->limit)
        l->limit += l->count;
}

static void run(struct list *l)
{
    shape_list_begin(&l->shape, &l->out);
    list_builtin(l);
    if (l->rc < 0)
        return;
    if (l->exact && l->revision != store_revision(l->request->server->store))
        list_snapshot(l);
    else if (!list_one(l))
        store_list(l->collection, l->selection.prefix, l->after, visit, l);
}

static int finish(struct list *l)
{
    const char *token = NULL;

    if (l->rc < 0)
        return l->rc;
    if (l->more && !selects(l))
        l->remaining = (int64_t)store_count_after(l->collection, l->selection.prefix, l->last_key);
    if (l->more && !(token = token_make(l, l->revision, l->last_key)))
        return out_of_memory(l->err);
    shape_list_end(&l->shape, l->revision, token, l->remaining, &l->out);
    if (!l->out.failed)
        return 0;
    (void)err_set(l->err, ERR_UNAVAILABLE, "the list is too large for one answer");
    err_hint(l->err, "request it in pages, with limit");
    return -ENOMEM;
}

/* --- revisions ------------------------------------------------------------------------- */

/* The token is too old: the answer has another one, for clients that accept two states in one
 * list. */
static int reply_expired(struct list *l)
{
    struct server_request *r = l->request;
    const char *token = token_make(l, 0, l->after);
    auto_err err = ERR_INIT;
    struct json *status;

    err_set(
        &err, ERR_EXPIRED,
        "The provided continue parameter is too old to display a consistent list result. You "
        "can start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in the list.");
    status = token ? status_from_err(r->arena, &err, NULL, NULL) : NULL;
    json_set_string(r->arena, json_make_object(r->arena, status, "metadata"), "continue", token);
    if (!status || arena_failed(r->arena))
        return out_of_memory(l->err);
    reply_json(r, err_http_code(ERR_EXPIRED), status);
    return 0;
}

static int bad_option(const struct server_request *r, struct err *err, const char *option,
                      const char *problem)
{
    return option_invalid(r, "FieldValueForbidden", option, problem, err);
}

static int check_options(const struct server_request *r, struct err *err)
{
    static const char at[] = "resourceVersionMatch";
    const char *match = query_get(r, at), *token = query_get(r, "continue");
    const char *version = query_get(r, "resourceVersion");
    bool has_version = version && *version;

    if (query_get(r, "sendInitialEvents"))
        return bad_option(r, err, "sendInitialEvents",
                          "Forbidden: sendInitialEvents is forbidden for list");
    if (token && *token && has_version && strcmp(version, "0") != 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "specifying resource version is not allowed when using continue");
    if (!match || !*match)
        return 0;
    if (token && *token)
        return bad_option(r, err, at,
                          "Forbidden: resourceVersionMatch is forbidden when continue is provided");
    if (!has_version)
        return bad_option(
            r, err, at,
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0)
        return option_invalid(r, "FieldValueNotSupported", at,
                              arena_printf(r->arena,
                                           "Unsupported value: \"%s\": supported values: "
                                           "\"Exact\", \"NotOlderThan\", \"\"",
                                           match),
                              err);
    if (strcmp(match, "Exact") == 0 && strcmp(version, "0") == 0)
        return bad_option(r, err, at,
                          "Forbidden: resourceVersionMatch \"Exact\" is forbidden for "
                          "resourceVersion \"0\"");
    return 0;
}

static int list_now(struct server_request *r, struct err *err)
{
    struct list l = {.request = r,
                     .collection = server_collection(r->server, r->route.kind),
                     .revision = store_revision(r->server->store),
                     .out = BUF_INIT(LIST_LIMIT_BYTES),
                     .err = err};
    const char *token = query_get(r, "continue"), *match = query_get(r, "resourceVersionMatch");
    int rc = shape_init(&l.shape, r, err);

    if (rc == 0)
        rc = selection_init(&l.selection, r, r->arena, err);
    if (rc == 0)
        rc = query_int(r, "limit", 0, &l.limit, err);
    if (rc == 0 && token && *token) {
        rc = token_read(&l, token, err);
    } else if (rc == 0 && match && strcmp(match, "Exact") == 0) {
        rc = revision_parse(query_get(r, "resourceVersion"), &l.revision, err);
        l.exact = true;
    }
    if (rc == 0) {
        run(&l);
        rc = finish(&l);
    }
    if (rc < 0 && l.after && err && err->reason == ERR_EXPIRED)
        rc = reply_expired(&l);
    else if (rc == 0)
        reply_shaped(r, &l.shape, &l.out);
    buf_release(&l.out);
    shape_release(&l.shape);
    return rc;
}

static void revision_came(void *arg, bool reached)
{
    struct server_request *r = arg;
    auto_err err = ERR_INIT;
    int rc;

    if (reached) {
        rc = list_now(r, &err);
    } else {
        rc = err_set(&err, ERR_TIMEOUT, "Too large resource version: %s, current: %" PRId64,
                     query_get(r, "resourceVersion"), store_revision(r->server->store));
        err_cause(&err, "ResourceVersionTooLarge", "", 0, "Too large resource version");
    }
    if (rc < 0)
        reply_err(r, &err);
}

int verb_list(struct server_request *r, struct err *err)
{
    struct server *s = r->server;
    int64_t asked;
    int rc = revision_parse(query_get(r, "resourceVersion"), &asked, err);

    if (rc == 0)
        rc = check_options(r, err);
    if (rc < 0)
        return rc;
    if (asked <= store_revision(s->store))
        return list_now(r, err);
    rc = wait_for_revision(s, server_collection(s, r->route.kind), asked, FUTURE_WAIT_MS,
                           revision_came, r);
    return rc < 0 ? out_of_memory(err) : 0;
}
