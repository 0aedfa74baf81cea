/*
 * discovery.c - what is served, derived from the list of kinds: the old form, one document per
 * group and version, and the aggregated one. Accept decides.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "server/endpoints.h"
#include "server/internal.h"
#include "server/media.h"

#define VERSION_HASH_BYTES 8

static const char *const object_verbs[] = {"create", "delete", "deletecollection", "get",
                                           "list",   "patch",  "update",           "watch"};
static const char *const status_verbs[] = {"get", "patch", "update"};
static const char *const get_verb[] = {"get"};
static const char *const create_verb[] = {"create"};
static const char *const upgrade_verbs[] = {"create", "get"};
static const char *const proxy_verbs[] = {"create", "delete", "get", "patch", "update"};
static const char *const read_verbs[] = {"get", "list"};
static const char *const watch_verbs[] = {"get", "list", "watch"};
static const char *const refused_verbs[] = {"delete", "deletecollection", "get", "list", "watch"};

struct subresource {
    const char *name;
    const char *kind; /* NULL: the kind itself */
    const char *group, *version;
    const char *const *verbs;
    size_t verb_count;
    const struct kind *only; /* NULL: kinds with a status, or that can be scaled */
};

static const struct subresource subresources[] = {
    {APPROVAL, NULL, NULL, NULL, status_verbs, ELEMS(status_verbs), &kind_certificate_request},
    {"attach", "PodAttachOptions", "", "v1", upgrade_verbs, ELEMS(upgrade_verbs), &kind_pod},
    {"binding", "Binding", "", "v1", create_verb, ELEMS(create_verb), &kind_pod},
    {EPHEMERAL_CONTAINERS, NULL, NULL, NULL, status_verbs, ELEMS(status_verbs), &kind_pod},
    {"eviction", "Eviction", "policy", "v1", create_verb, ELEMS(create_verb), &kind_pod},
    {"exec", "PodExecOptions", "", "v1", upgrade_verbs, ELEMS(upgrade_verbs), &kind_pod},
    {"log", NULL, NULL, NULL, get_verb, ELEMS(get_verb), &kind_pod},
    {"portforward", "PodPortForwardOptions", "", "v1", upgrade_verbs, ELEMS(upgrade_verbs),
     &kind_pod},
    {"proxy", "PodProxyOptions", "", "v1", proxy_verbs, ELEMS(proxy_verbs), &kind_pod},
    {"proxy", "ServiceProxyOptions", "", "v1", proxy_verbs, ELEMS(proxy_verbs), &kind_service},
    {"token", "TokenRequest", "authentication.k8s.io", "v1", create_verb, ELEMS(create_verb),
     &kind_service_account},
    {"scale", "Scale", "autoscaling", "v1", status_verbs, ELEMS(status_verbs), NULL},
    {"status", NULL, NULL, NULL, status_verbs, ELEMS(status_verbs), NULL},
};

static bool has_subresource(const struct kind *k, const struct subresource *s)
{
    if (s->only)
        return s->only == k;
    return strcmp(s->name, "scale") == 0 ? k->scale != NULL : k->has_status;
}

/* Everything served, by index: stored kinds, then the others. NULL at the end. */
static const struct kind *served(const struct server *s, size_t i)
{
    size_t stored = 0;

    while (s->kinds[stored])
        stored++;
    return i < stored ? s->kinds[i] : review_kinds[i - stored];
}

static bool is_stored(const struct kind *k)
{
    return !review_find(k->group, k->version, k->plural);
}

/* Whether it is the first kind of its group, or of its group and version. */
static bool is_first(const struct server *s, size_t at, bool of_version)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(served(s, i)->group, served(s, at)->group) == 0 &&
            (!of_version || strcmp(served(s, i)->version, served(s, at)->version) == 0))
            return false;
    return true;
}

static bool in_version(const struct kind *k, const char *group, const char *version)
{
    return strcmp(k->group, group) == 0 && strcmp(k->version, version) == 0;
}

static void add_strings(struct arena *a, struct json *object, const char *name,
                        const char *const *list, size_t count)
{
    struct json *array = json_make_array(a, object, name);

    for (size_t i = 0; i < count; i++)
        json_append_string(a, array, list[i]);
}

static size_t count_strings(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static void add_names(struct arena *a, struct json *object, const struct kind *k)
{
    if (count_strings(k->short_names))
        add_strings(a, object, "shortNames", k->short_names, count_strings(k->short_names));
    if (count_strings(k->categories))
        add_strings(a, object, "categories", k->categories, count_strings(k->categories));
}

static void add_verbs(struct arena *a, struct json *object, const struct kind *k)
{
    if (k->refused)
        add_strings(a, object, "verbs", refused_verbs, ELEMS(refused_verbs));
    else if (is_stored(k))
        add_strings(a, object, "verbs", object_verbs, ELEMS(object_verbs));
    else if (strcmp(k->group, METRICS_GROUP) == 0)
        add_strings(a, object, "verbs", read_verbs, ELEMS(read_verbs));
    else if (endpoints_are(k))
        add_strings(a, object, "verbs", watch_verbs, ELEMS(watch_verbs));
    else
        add_strings(a, object, "verbs", create_verb, ELEMS(create_verb));
}

/* --- one document per version ---------------------------------------------------------- */

/* storageVersionHash identifies the stored version; computed as in Kubernetes. */
static void add_version_hash(struct arena *a, struct json *r, const struct kind *k)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 s;
    size_t len;
    const char *text = is_stored(k) ? arena_printf(a, "%s/%s/%s", k->group, k->version, k->name)
                                    : NULL;

    if (!text)
        return;
    sha256_init(&s);
    sha256_add(&s, text, strlen(text));
    sha256_end(&s, digest);
    json_set_string(a, r, "storageVersionHash", base64_encode(a, digest, VERSION_HASH_BYTES, &len));
}

static void add_resource(struct arena *a, struct json *list, const struct kind *k)
{
    struct json *r = json_append(list, json_new_object(a));

    json_set_string(a, r, "name", k->plural);
    json_set_string(a, r, "singularName", k->singular);
    json_set_bool(a, r, "namespaced", k->namespaced);
    json_set_string(a, r, "kind", k->name);
    add_verbs(a, r, k);
    add_names(a, r, k);
    add_version_hash(a, r, k);
    for (size_t i = 0; i < ELEMS(subresources); i++) {
        const struct subresource *s = &subresources[i];

        if (!has_subresource(k, s))
            continue;
        r = json_append(list, json_new_object(a));
        json_set_stringf(a, r, "name", "%s/%s", k->plural, s->name);
        json_set_string(a, r, "singularName", "");
        json_set_bool(a, r, "namespaced", k->namespaced);
        if (s->group && *s->group) {
            json_set_string(a, r, "group", s->group);
            json_set_string(a, r, "version", s->version);
        }
        json_set_string(a, r, "kind", s->kind ? s->kind : k->name);
        add_strings(a, r, "verbs", s->verbs, s->verb_count);
    }
}

static int reply_version(struct server_request *r, const char *group, const char *version,
                         struct err *err)
{
    struct json *d = json_new_object(r->arena), *list;
    bool found = false;

    json_set_string(r->arena, d, "kind", "APIResourceList");
    json_set_string(r->arena, d, "apiVersion", "v1");
    json_set_stringf(r->arena, d, "groupVersion", "%s%s%s", group, *group ? "/" : "", version);
    list = json_make_array(r->arena, d, "resources");
    for (size_t i = 0; served(r->server, i); i++)
        if (in_version(served(r->server, i), group, version)) {
            found = true;
            add_resource(r->arena, list, served(r->server, i));
        }
    if (!found)
        return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
    reply_json(r, 200, d);
    return 0;
}

static struct json *version_entry(struct arena *a, const struct kind *k)
{
    struct json *v = json_new_object(a);

    json_set_stringf(a, v, "groupVersion", "%s/%s", k->group, k->version);
    json_set_string(a, v, "version", k->version);
    return v;
}

static struct json *group_entry(const struct server_request *r, const char *group)
{
    struct arena *a = r->arena;
    struct json *g = json_new_object(a), *versions;

    json_set_string(a, g, "name", group);
    versions = json_make_array(a, g, "versions");
    for (size_t i = 0; served(r->server, i); i++) {
        if (strcmp(served(r->server, i)->group, group) != 0 || !is_first(r->server, i, true))
            continue;
        json_append(versions, version_entry(a, served(r->server, i)));
        if (!json_get(g, "preferredVersion"))
            json_set(a, g, "preferredVersion", version_entry(a, served(r->server, i)));
    }
    return g;
}

static int reply_group(struct server_request *r, const char *group, struct err *err)
{
    struct json *g = group_entry(r, group);

    if (!*group || !json_len(json_get(g, "versions")))
        return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
    json_set_string(r->arena, g, "kind", "APIGroup");
    json_set_string(r->arena, g, "apiVersion", "v1");
    reply_json(r, 200, g);
    return 0;
}

int discover_group(struct server_request *r, const char *group, const char *version,
                   struct err *err)
{
    return version ? reply_version(r, group, version, err) : reply_group(r, group, err);
}

/* --- aggregated ------------------------------------------------------------------------ */

static void add_response_kind(struct arena *a, struct json *object, const struct kind *k,
                              const struct subresource *s)
{
    struct json *r = json_make_object(a, object, "responseKind");

    json_set_string(a, r, "group", s && s->group ? s->group : k->group);
    json_set_string(a, r, "version", s && s->version ? s->version : k->version);
    json_set_string(a, r, "kind", s && s->kind ? s->kind : k->name);
}

static void add_aggregated_resource(struct arena *a, struct json *list, const struct kind *k)
{
    struct json *r = json_append(list, json_new_object(a)), *subs;

    json_set_string(a, r, "resource", k->plural);
    add_response_kind(a, r, k, NULL);
    json_set_string(a, r, "scope", k->namespaced ? "Namespaced" : "Cluster");
    json_set_string(a, r, "singularResource", k->singular);
    add_verbs(a, r, k);
    add_names(a, r, k);
    for (size_t i = 0; i < ELEMS(subresources); i++) {
        if (!has_subresource(k, &subresources[i]))
            continue;
        subs = json_append(json_make_array(a, r, "subresources"), json_new_object(a));
        json_set_string(a, subs, "subresource", subresources[i].name);
        add_response_kind(a, subs, k, &subresources[i]);
        add_strings(a, subs, "verbs", subresources[i].verbs, subresources[i].verb_count);
    }
}

static void add_aggregated_version(const struct server_request *r, struct json *versions,
                                   const struct kind *first)
{
    struct arena *a = r->arena;
    struct json *v = json_append(versions, json_new_object(a)), *list;

    json_set_string(a, v, "version", first->version);
    json_set_string(a, v, "freshness", "Current");
    list = json_make_array(a, v, "resources");
    for (size_t i = 0; served(r->server, i); i++)
        if (in_version(served(r->server, i), first->group, first->version))
            add_aggregated_resource(a, list, served(r->server, i));
}

static void add_aggregated_group(const struct server_request *r, struct json *items,
                                 const char *group)
{
    struct arena *a = r->arena;
    struct json *g = json_append(items, json_new_object(a));
    struct json *meta = json_make_object(a, g, "metadata"), *versions;

    if (*group)
        json_set_string(a, meta, "name", group);
    json_set(a, meta, "creationTimestamp", json_new_null(a));
    versions = json_make_array(a, g, "versions");
    for (size_t i = 0; served(r->server, i); i++)
        if (strcmp(served(r->server, i)->group, group) == 0 && is_first(r->server, i, true))
            add_aggregated_version(r, versions, served(r->server, i));
}

static void reply_aggregated(struct server_request *r, bool core, const char *version)
{
    struct json *d = json_new_object(r->arena), *items;
    struct buf b = BUF_INIT(OBJECT_LIMIT_BYTES);
    const char *type;

    json_set_string(r->arena, d, "kind", "APIGroupDiscoveryList");
    json_set_stringf(r->arena, d, "apiVersion", "apidiscovery.k8s.io/%s", version);
    (void)json_make_object(r->arena, d, "metadata");
    items = json_make_array(r->arena, d, "items");
    for (size_t i = 0; served(r->server, i); i++)
        if (is_first(r->server, i, false) && !*served(r->server, i)->group == core)
            add_aggregated_group(r, items, served(r->server, i)->group);
    type = arena_printf(
        r->arena, "application/json;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList", version);
    if (type && !arena_failed(r->arena))
        json_write(&b, d);
    else
        b.failed = true;
    reply_buf(r, 200, type ? type : JSON_TYPE, &b);
}

/* The aggregated version the client prefers to the plain form, or NULL. */
static const char *aggregated_version(const struct server_request *r)
{
    static const char *const served[] = {"v2", "v2beta1"};
    const char *at = r->accept ? r->accept : "";
    struct media m;

    while (media_next(r->arena, &at, &m)) {
        if (!media_is_json(&m))
            continue;
        if (!*m.as)
            return NULL;
        if (strcmp(m.as, "APIGroupDiscoveryList") != 0 ||
            strcmp(m.group, "apidiscovery.k8s.io") != 0)
            continue;
        for (size_t i = 0; i < ELEMS(served); i++)
            if (strcmp(m.version, served[i]) == 0)
                return served[i];
    }
    return NULL;
}

int verb_discover_core(struct server_request *r, struct err *err)
{
    const char *version = aggregated_version(r);
    struct json *d;

    (void)err;
    if (version) {
        reply_aggregated(r, true, version);
        return 0;
    }
    d = json_new_object(r->arena);
    json_set_string(r->arena, d, "kind", "APIVersions");
    json_append_string(r->arena, json_make_array(r->arena, d, "versions"), "v1");
    /* Python's client requires the field; it is otherwise unused. */
    (void)json_make_array(r->arena, d, "serverAddressByClientCIDRs");
    reply_json(r, 200, d);
    return 0;
}

int verb_discover_groups(struct server_request *r, struct err *err)
{
    const char *version = aggregated_version(r);
    struct json *d, *groups;

    (void)err;
    if (version) {
        reply_aggregated(r, false, version);
        return 0;
    }
    d = json_new_object(r->arena);
    json_set_string(r->arena, d, "kind", "APIGroupList");
    json_set_string(r->arena, d, "apiVersion", "v1");
    groups = json_make_array(r->arena, d, "groups");
    for (size_t i = 0; served(r->server, i); i++)
        if (*served(r->server, i)->group && is_first(r->server, i, false))
            json_append(groups, group_entry(r, served(r->server, i)->group));
    reply_json(r, 200, d);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* GET /: lists the paths served. */
int verb_paths(struct server_request *r, struct err *err)
{
    static const char *const fixed[] = {"/api",        "/api/v1",    "/apis",   "/healthz",
                                        "/livez",      "/metrics",   "/readyz", "/version",
                                        "/openapi/v2", "/openapi/v3"};
    struct json *answer = json_new_object(r->arena), *paths;
    const char **all;
    size_t n = 0, count = 0;

    if (strcmp(r->path, "/") != 0)
        return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
    while (served(r->server, count))
        count++;
    all = arena_alloc(r->arena, (ELEMS(fixed) + 2 * count) * sizeof(*all));
    if (!all)
        return out_of_memory(err);
    for (; n < ELEMS(fixed); n++)
        all[n] = fixed[n];
    for (size_t i = 0; i < count; i++) {
        const struct kind *k = served(r->server, i);

        if (*k->group && is_first(r->server, i, false))
            all[n++] = arena_printf(r->arena, "/apis/%s", k->group);
        if (*k->group && is_first(r->server, i, true))
            all[n++] = arena_printf(r->arena, "/apis/%s/%s", k->group, k->version);
    }
    if (arena_failed(r->arena))
        return out_of_memory(err);
    qsort(all, n, sizeof(*all), by_text);
    paths = json_make_array(r->arena, answer, "paths");
    for (size_t i = 0; i < n; i++)
        json_append_string(r->arena, paths, all[i]);
    reply_json(r, 200, answer);
    return 0;
}
