/*
 * quota.c - ResourceQuotas and LimitRanges: what a namespace may hold is checked on creation, and
 * its usage is written into the quota's status.
 *
 * Usage is counted from the objects, not stored: a stored count can drift. Creations not yet on
 * disk are counted from a list, so that a gang of pods created in one turn cannot slip through.
 * Without quotas none of this costs anything.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/quantity.h"
#include "base/log.h"
#include "core/resources.h"
#include "server/internal.h"

#define COUNT_MEMORY_BYTES (64u * 1024u * 1024u)
#define OBJECT_MEMORY_BYTES (OBJECT_LIMIT_BYTES * 16)
#define REFRESH_MS 200
#define SILENT_LIMIT_BYTES 4096

/* An accepted creation that is not on disk yet. */
struct underway {
    struct underway *next;
    const struct kind *kind;
    int64_t revision;
    char key[];
};

/* --- usage of one object ---------------------------------------------------------------- */

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int64_t pod_usage(const struct json *pod, const char *key)
{
    const struct json *spec = json_get(pod, "spec");

    if (object_has_ended(pod))
        return 0;
    if (strcmp(key, "pods") == 0)
        return 1000;
    if (has_prefix(key, "requests."))
        return pod_amount_milli(spec, "requests", key + strlen("requests."));
    if (has_prefix(key, "limits."))
        return pod_amount_milli(spec, "limits", key + strlen("limits."));
    return pod_amount_milli(spec, "requests", key);
}

/* The kind counted by the key; NULL: unknown. */
static const struct kind *kind_of_key(const struct server *s, const char *key)
{
    static const struct {
        const char *key;
        const struct kind *kind;
    } known[] = {{"services", &kind_service},
                 {"configmaps", &kind_config_map},
                 {"secrets", &kind_secret},
                 {"persistentvolumeclaims", &kind_persistent_volume_claim},
                 {"requests.storage", &kind_persistent_volume_claim},
                 {"resourcequotas", &kind_resource_quota}};
    const char *plural = has_prefix(key, "count/") ? key + strlen("count/") : NULL;

    for (size_t i = 0; i < ELEMS(known); i++)
        if (strcmp(known[i].key, key) == 0)
            return known[i].kind;
    for (const struct kind *const *k = s->kinds; plural && *k; k++) {
        size_t len = strlen((*k)->plural);

        if (!(*k)->stored_as && strncmp(plural, (*k)->plural, len) == 0 &&
            ((!plural[len] && !*(*k)->group) ||
             (plural[len] == '.' && strcmp(plural + len + 1, (*k)->group) == 0)))
            return *k;
    }
    if (plural)
        return NULL;
    return strcmp(key, "pods") == 0 || strcmp(key, "cpu") == 0 || strcmp(key, "memory") == 0 ||
                   has_prefix(key, "requests.") || has_prefix(key, "limits.")
               ? &kind_pod
               : NULL;
}

static int64_t usage_of(const struct kind *k, const struct json *object, const char *key)
{
    if (strcmp(key, "requests.storage") == 0)
        return quantity_json_milli(json_at(object, "spec", "resources", "requests", "storage"), 0);
    return k == &kind_pod && !has_prefix(key, "count/") ? pod_usage(object, key) : 1000;
}

/* --- usage of a namespace --------------------------------------------------------------- */

struct count {
    const struct kind *kind;
    const char *key;
    struct arena scratch;
    int64_t milli;
};

static bool add_usage(void *arg, const struct store_item *item)
{
    struct count *c = arg;
    const struct json *object;

    arena_reset(&c->scratch);
    object = blob_parse(&c->scratch, item->value, NULL);
    if (object)
        c->milli = add_i64(c->milli, usage_of(c->kind, object, c->key));
    return true;
}

static void drop_settled(struct server *s)
{
    struct underway **at = &s->underway;

    while (*at) {
        struct underway *u = *at;

        if (u->revision > store_revision(s->store)) {
            at = &u->next;
            continue;
        }
        *at = u->next;
        free(u);
    }
}

/* prefix: "NS/" */
static int64_t count_usage(struct server *s, const struct kind *k, const char *prefix,
                           const char *key)
{
    struct count c = {.kind = k, .key = key, .scratch = ARENA_INIT(OBJECT_MEMORY_BYTES)};
    struct store_collection *collection = server_collection(s, k);

    store_list(collection, prefix, NULL, add_usage, &c);
    drop_settled(s);
    for (const struct underway *u = s->underway; u; u = u->next) {
        const struct store_item *item = u->kind == k && has_prefix(u->key, prefix)
                                            ? store_head(collection, u->key)
                                            : NULL;

        if (item && !store_get(collection, u->key))
            (void)add_usage(&c, item);
    }
    arena_release(&c.scratch);
    return c.milli;
}

static const char *format(const char *key, int64_t milli, char out[QUANTITY_TEXT_SIZE])
{
    bool bytes = strstr(key, "memory") || strstr(key, "storage");

    return bytes && milli % 1000 == 0 ? quantity_format_bytes(milli / 1000, out)
                                      : quantity_format_milli(milli, out);
}

/* --- checking --------------------------------------------------------------------------- */

struct check {
    struct server_request *request;
    const struct json *object;
    const char *prefix, *name;
    struct err *err;
    int rc;
};

static int exceeded(struct check *c, const char *quota, const struct json *hard, int64_t wanted,
                    int64_t used)
{
    char a[QUANTITY_TEXT_SIZE], b[QUANTITY_TEXT_SIZE];
    const char *key = hard->key;

    c->request->route.name = c->name;
    return err_set(c->err, ERR_FORBIDDEN,
                   "%s \"%s\" is forbidden: exceeded quota: %s, requested: %s=%s, used: %s=%s, "
                   "limited: %s=%s",
                   resource_name(c->request->arena, c->request->route.kind), c->name, quota, key,
                   format(key, wanted, a), key, format(key, used, b), key, json_string(hard, ""));
}

static bool container_says(const struct json *container, const char *key)
{
    const char *dot = strchr(key, '.');

    return json_at(container, "resources", has_prefix(key, "limits.") ? "limits" : "requests",
                   dot ? dot + 1 : key) != NULL;
}

/* "limits.cpu for: a,b"; nothing when all containers specify it. */
static void add_silent(struct buf *out, const struct json *spec, const char *key)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool any = false;

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_get(spec, lists[i])) {
            if (container_says(c, key))
                continue;
            if (any)
                buf_addc(out, ',');
            else
                buf_addf(out, "%s%s for: ", out->len ? "; " : "", key);
            buf_addf(out, "%s", json_get_string(c, "name", ""));
            any = true;
        }
}

/* As in Kubernetes every container must specify these, so that none runs uncounted. */
static int check_said(struct check *c, const struct json *quota)
{
    static const char *const keys[] = {"cpu",    "limits.cpu",   "limits.memory",
                                       "memory", "requests.cpu", "requests.memory"};
    const struct json *hard = json_at(quota, "spec", "hard");
    struct buf silent = BUF_INIT(SILENT_LIMIT_BYTES);
    int rc = 0;

    for (size_t i = 0; i < ELEMS(keys); i++)
        if (json_get(hard, keys[i]))
            add_silent(&silent, json_get(c->object, "spec"), keys[i]);
    if (silent.len > 0) {
        c->request->route.name = c->name;
        rc = err_set(c->err, ERR_FORBIDDEN,
                     "%s \"%s\" is forbidden: failed quota: %s: must specify %s",
                     resource_name(c->request->arena, c->request->route.kind), c->name,
                     object_name(quota), silent.data);
    }
    buf_release(&silent);
    return rc;
}

static bool check_quota(void *arg, const struct store_item *item)
{
    struct check *c = arg;
    struct server *s = c->request->server;
    const struct kind *k = c->request->route.kind;
    const struct json *quota = blob_parse(c->request->arena, item->value, NULL);

    if (k == &kind_pod)
        c->rc = check_said(c, quota);
    if (c->rc < 0)
        return false;
    json_each (hard, json_at(quota, "spec", "hard")) {
        int64_t wanted, used;

        if (kind_of_key(s, hard->key) != k)
            continue;
        wanted = usage_of(k, c->object, hard->key);
        used = wanted > 0 ? count_usage(s, k, c->prefix, hard->key) : 0;
        if (wanted > 0 && add_i64(used, wanted) > quantity_json_milli(hard, INT64_MAX)) {
            c->rc = exceeded(c, object_name(quota), hard, wanted, used);
            return false;
        }
    }
    return true;
}

static int note_underway(struct server *s, const struct kind *k, const char *key, struct err *err)
{
    struct underway *u = calloc(1, sizeof(*u) + strlen(key) + 1);

    if (!u)
        return out_of_memory(err);
    u->kind = k;
    u->revision = store_next_revision(s->store);
    memcpy(u->key, key, strlen(key) + 1);
    u->next = s->underway;
    s->underway = u;
    return 0;
}

int quota_check(struct server_request *r, const struct json *object, const char *key, bool dry_run,
                struct err *err)
{
    struct server *s = r->server;
    struct store_collection *quotas = server_collection(s, &kind_resource_quota);
    struct check c = {.request = r, .object = object, .name = object_name(object), .err = err};

    if (!r->route.kind->namespaced || store_count(quotas) == 0)
        return 0;
    c.prefix = arena_printf(r->arena, "%s/", r->route.ns);
    if (!c.prefix)
        return out_of_memory(err);
    store_list(quotas, c.prefix, NULL, check_quota, &c);
    if (c.rc < 0 || dry_run)
        return c.rc;
    return note_underway(s, r->route.kind, key, err);
}

/* --- the status of quotas --------------------------------------------------------------- */

struct keys {
    struct arena *arena;
    const char **all;
    size_t count;
};

static bool take_key(void *arg, const struct store_item *item)
{
    struct keys *k = arg;

    k->all[k->count++] = arena_strdup(k->arena, item->key);
    return !arena_failed(k->arena);
}

static struct json *status_of(struct server *s, struct arena *a, const struct json *quota)
{
    const char *prefix = arena_printf(a, "%s/", object_namespace(quota));
    const struct json *hard = json_at(quota, "spec", "hard");
    struct json *status = json_new_object(a), *used;
    char text[QUANTITY_TEXT_SIZE];

    if (hard)
        json_set(a, status, "hard", json_clone(a, hard));
    used = json_make_object(a, status, "used");
    json_each (h, hard) {
        const struct kind *k = kind_of_key(s, h->key);

        if (k && prefix)
            json_set_string(a, used, h->key,
                            format(h->key, count_usage(s, k, prefix, h->key), text));
    }
    return status;
}

static void refresh_one(struct server *s, struct arena *a, const char *key)
{
    const struct store_item *item = store_head(server_collection(s, &kind_resource_quota), key);
    struct json *quota = item ? stored_parse(a, &kind_resource_quota, item->value, false, NULL)
                              : NULL;
    struct json *status = quota ? status_of(s, a, quota) : NULL;
    auto_err err = ERR_INIT;

    if (!status || json_equal(status, json_get(quota, "status")))
        return;
    json_set(a, quota, "status", status);
    if (object_write(s, a, &kind_resource_quota, key, quota, WRITE_PUT, NULL, NULL, NULL, &err) < 0)
        log_warn("the status of quota %s: %s", key, err.text);
}

static void refresh(void *arg)
{
    struct server *s = arg;
    struct store_collection *c = server_collection(s, &kind_resource_quota);
    struct arena a = ARENA_INIT(COUNT_MEMORY_BYTES);
    struct keys keys = {.arena = &a,
                        .all = arena_alloc(&a, (store_count(c) + 1) * sizeof(*keys.all))};

    s->quota_timer = NULL;
    if (keys.all)
        store_list(c, NULL, NULL, take_key, &keys);
    for (size_t i = 0; i < keys.count && keys.all[i]; i++)
        refresh_one(s, &a, keys.all[i]);
    arena_release(&a);
}

void quota_written(struct server *s, const struct kind *k)
{
    if (s->quota_timer || !k->namespaced || k == &kind_event || k == &kind_lease)
        return;
    if (k == &kind_resource_quota || store_count(server_collection(s, &kind_resource_quota)) > 0)
        s->quota_timer = clock_start(s->clock, REFRESH_MS, refresh, s);
}

void quota_free(struct server *s)
{
    clock_stop(s->clock, s->quota_timer);
    for (struct underway *u = s->underway, *next; u; u = next) {
        next = u->next;
        free(u);
    }
    s->underway = NULL;
}
