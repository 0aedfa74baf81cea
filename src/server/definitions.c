/*
 * definitions.c - kinds installed by CustomResourceDefinitions: the current list, and the removal
 * of those whose definition is deleted.
 *
 * A definition takes effect once it is on disk: the collection of definitions is followed like any
 * watcher would. A replaced or removed kind may still be in use by a stream, so its memory is kept
 * until the server stops; if that becomes too much, definitions cannot change until the next start.
 *
 * A deleted definition is held by a finalizer while its objects are deleted, as with a namespace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/crd_kind.h"
#include "base/log.h"
#include "server/internal.h"

#define DEFINITIONS_LIMIT 256u                       /* installed at a time */
#define DEFINITION_MEMORY_BYTES (8u * 1024u * 1024u) /* per definition */
#define ALL_DEFINITIONS_BYTES (64u * 1024u * 1024u)  /* in total, including replaced ones */
#define SWEEP_MEMORY_BYTES (64u * 1024u * 1024u)
#define SWEEP_MS 50
#define CLEANUP_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* The kinds of one definition. */
struct installed {
    struct installed *next;
    struct arena arena;
    char *name;               /* of the definition */
    const struct kind **list; /* in arena */
    bool current;             /* otherwise replaced, and kept for its remaining users */
};

struct definitions {
    struct installed *all;
    struct store_watch *watch;
    struct clock_timer *timer;
    size_t bytes;
};

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* --- the list of kinds ------------------------------------------------------------------ */

static size_t count_kinds(const struct kind *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

static void collection_name(const struct kind *k, char out[512])
{
    const struct kind *stored = k->stored_as ? k->stored_as : k;

    (void)snprintf(out, 512, "%s/%s", stored->group, stored->plural);
}

static struct store_collection *collection_of(const struct server *s, const struct kind *k)
{
    char name[512];

    collection_name(k, name);
    return store_collection(s->store, name);
}

struct store_collection *server_collection(const struct server *s, const struct kind *k)
{
    for (size_t i = 0; s->kinds[i]; i++)
        if (s->kinds[i] == k)
            return s->collections[i];
    return collection_of(s, k); /* replaced while a request was under way: its collection already
                                 * exists */
}

const struct kind *server_kind(const struct server *s, const char *group, const char *version,
                               const char *plural)
{
    for (const struct kind *const *k = s->kinds; *k; k++)
        if (same_text((*k)->plural, plural) && same_text((*k)->group, group) &&
            same_text((*k)->version, version))
            return *k;
    return NULL;
}

static int fill_lists(struct server *s, const struct kind **list, struct store_collection **stored,
                      struct err *err)
{
    size_t n = count_kinds(kinds);

    memcpy(list, kinds, n * sizeof(*list));
    for (const struct installed *i = s->definitions ? s->definitions->all : NULL; i; i = i->next)
        for (size_t v = 0; i->current && i->list[v]; v++)
            list[n++] = i->list[v];
    for (size_t i = 0; i < n; i++) {
        stored[i] = collection_of(s, list[i]);
        if (!stored[i])
            return out_of_memory(err);
    }
    return 0;
}

static size_t count_all(const struct server *s)
{
    size_t n = count_kinds(kinds);

    for (const struct installed *i = s->definitions ? s->definitions->all : NULL; i; i = i->next)
        n += i->current ? count_kinds(i->list) : 0;
    return n;
}

/* Some kinds that are not stored have fields too. */
static const struct kind **describe(const struct kind *const *list)
{
    size_t n = count_kinds(list);
    const struct kind **all = calloc(n + count_kinds(review_kinds) + 1, sizeof(*all));

    if (!all)
        return NULL;
    memcpy(all, list, n * sizeof(*all));
    for (size_t i = 0; review_kinds[i]; i++)
        if (review_kinds[i]->fields)
            all[n++] = review_kinds[i];
    return all;
}

/* Rebuilds the lists; the old ones are freed. */
int server_list_kinds(struct server *s, struct err *err)
{
    size_t n = count_all(s) + 1;
    const struct kind **list = calloc(n, sizeof(*list)), **described = NULL;
    struct store_collection **stored = calloc(n, sizeof(struct store_collection *));
    uint64_t *hashes = calloc(n + count_kinds(review_kinds), sizeof(*hashes));
    bool full = list && stored && hashes && fill_lists(s, list, stored, err) == 0;

    if (full)
        described = describe(list);
    if (!described) {
        int rc = out_of_memory(err); /* fill_lists' own error, if set, is kept */

        free(list);
        free(stored);
        free(hashes);
        return rc;
    }
    server_forget_kinds(s);
    s->kinds = list;
    s->collections = stored;
    s->described = described;
    s->openapi_hashes = hashes;
    return 0;
}

void server_forget_kinds(struct server *s)
{
    free(s->kinds);
    free(s->collections);
    free(s->described);
    free(s->openapi_hashes);
}

/* --- names ------------------------------------------------------------------------------ */

static bool is_one_of(const char *const *list, const char *word)
{
    for (; list && *list; list++)
        if (same_text(*list, word))
            return true;
    return false;
}

static bool is_called(const struct kind *k, const char *word)
{
    return same_text(k->plural, word) || same_text(k->singular, word) ||
           is_one_of(k->short_names, word);
}

/* Names must be unique within the group. */
static const char *name_conflict(const struct server *s, struct arena *a, const struct json *crd)
{
    const struct json *names = json_at(crd, "spec", "names");
    const char *group = json_string(json_at(crd, "spec", "group"), "");
    const char *plural = json_get_string(names, "plural", "");
    const char *words[] = {plural, json_get_string(names, "singular", "")};

    for (const struct kind *const *k = s->kinds; *k; k++) {
        if (!same_text((*k)->group, group))
            continue;
        if (same_text((*k)->plural, plural) && (*k)->schema)
            continue; /* itself */
        for (size_t i = 0; i < ELEMS(words); i++)
            if (is_called(*k, words[i]))
                return arena_printf(a, "\"%s\" is already in use", words[i]);
        json_each (w, json_get(names, "shortNames"))
            if (is_called(*k, json_string(w, "")))
                return arena_printf(a, "\"%s\" is already in use", json_string(w, ""));
        if (same_text((*k)->name, json_get_string(names, "kind", "")))
            return arena_printf(a, "\"%s\" is already in use", (*k)->name);
    }
    return NULL;
}

void definition_prepare(struct server_request *r, struct json *crd)
{
    struct arena *a = r->arena;
    struct json *meta = json_make_object(a, crd, "metadata"), *finalizers;

    crd_set_status(a, crd, name_conflict(r->server, a, crd), request_now_ms(r));
    finalizers = json_make_array(a, meta, "finalizers");
    json_each (f, finalizers)
        if (json_string_is(f, CLEANUP_FINALIZER))
            return;
    json_append_string(a, finalizers, CLEANUP_FINALIZER);
}

/* --- installing ------------------------------------------------------------------------- */

static struct installed *find_current(const struct definitions *d, const char *name)
{
    for (struct installed *i = d->all; i; i = i->next)
        if (i->current && same_text(i->name, name))
            return i;
    return NULL;
}

static void installed_free(struct installed *i)
{
    arena_release(&i->arena);
    free(i->name);
    free(i);
}

static void uninstall(struct definitions *d, const char *name)
{
    struct installed *i = find_current(d, name);

    if (i)
        i->current = false;
}

/* Groups in alphabetical order, as the real server lists them: among equal short names clients take
 * the first. */
static void insert(struct definitions *d, struct installed *i)
{
    struct installed **at = &d->all;

    while (*at && i->list[0] && (*at)->list[0] &&
           strcmp((*at)->list[0]->group, i->list[0]->group) < 0)
        at = &(*at)->next;
    i->next = *at;
    *at = i;
}

static void install(struct server *s, const char *name, const struct blob *value)
{
    struct definitions *d = s->definitions;
    struct arena scratch = ARENA_INIT(DEFINITION_MEMORY_BYTES);
    struct json *crd = blob_parse(&scratch, value, NULL);
    struct installed *i = crd ? calloc(1, sizeof(*i)) : NULL;

    if (i) {
        arena_init(&i->arena, DEFINITION_MEMORY_BYTES);
        i->name = strdup(name);
        i->list = crd_kinds(&i->arena, crd);
    }
    if (!i || !i->name || !i->list || d->bytes + i->arena.used_bytes > ALL_DEFINITIONS_BYTES) {
        log_warn("custom resource definition %s is not served: no memory left for definitions "
                 "before the next start",
                 name);
        if (i)
            installed_free(i);
    } else {
        uninstall(d, name);
        d->bytes += i->arena.used_bytes;
        i->current = true;
        insert(d, i);
    }
    arena_release(&scratch);
}

static bool install_item(void *arg, const struct store_item *item)
{
    install(arg, item->key, item->value);
    return true;
}

int definition_check_room(const struct server *s, struct err *err)
{
    size_t n = 0;

    for (const struct installed *i = s->definitions->all; i; i = i->next)
        n += i->current;
    if (n < DEFINITIONS_LIMIT)
        return 0;
    return err_set(err, ERR_FORBIDDEN,
                   "no more than %u custom resource definitions can be installed",
                   DEFINITIONS_LIMIT);
}

/* --- uninstalling ----------------------------------------------------------------------- */

struct keys {
    struct arena *arena;
    const char **all;
    size_t count;
    bool ending_only;
};

static bool take_key(void *arg, const struct store_item *item)
{
    struct keys *k = arg;

    if (!k->ending_only || (strstr(item->value->data, "\"deletionTimestamp\"") &&
                            object_is_deleting(blob_parse(k->arena, item->value, NULL))))
        k->all[k->count++] = arena_strdup(k->arena, item->key);
    return !arena_failed(k->arena);
}

static struct keys keys_of(struct store_collection *c, struct arena *a, bool ending_only)
{
    struct keys k = {.arena = a, .ending_only = ending_only};

    k.all = arena_alloc(a, (store_count(c) + 1) * sizeof(*k.all));
    if (k.all)
        store_list(c, NULL, NULL, take_key, &k);
    return k;
}

/* Whether no object of the kind is left. */
static bool empty_kind(struct server *s, struct arena *a, const struct kind *k, struct err *err)
{
    struct keys keys = keys_of(collection_of(s, k), a, false);
    bool empty = keys.all != NULL;

    for (size_t i = 0; keys.all && i < keys.count && keys.all[i]; i++) {
        bool gone;

        if (removal_sweep(s, k, keys.all[i], &removal_plain, &gone, err) < 0 || !gone)
            empty = false;
    }
    return empty;
}

static void end_definition(struct server *s, struct arena *a, const char *name, struct err *err)
{
    const struct store_item *item = store_head(server_collection(s, &kind_crd), name);
    struct json *crd = item ? stored_parse(a, &kind_crd, item->value, false, err) : NULL;
    struct json *finalizers = json_get_mut(json_get_mut(crd, "metadata"), "finalizers");
    bool last = json_len(finalizers) <= 1;

    json_each (f, finalizers)
        if (json_string_is(f, CLEANUP_FINALIZER)) {
            json_remove_item(finalizers, f);
            if (object_write(s, a, &kind_crd, name, crd, last ? WRITE_DELETE : WRITE_PUT, NULL,
                             NULL, NULL, err) < 0)
                log_warn("custom resource definition %s: %s", name, err->text);
            return;
        }
}

static void sweep(void *arg)
{
    struct server *s = arg;
    struct arena a = ARENA_INIT(SWEEP_MEMORY_BYTES);
    struct keys names = keys_of(server_collection(s, &kind_crd), &a, true);
    auto_err err = ERR_INIT;

    s->definitions->timer = NULL;
    for (size_t i = 0; i < names.count && names.all[i]; i++) {
        const struct installed *in = find_current(s->definitions, names.all[i]);
        bool empty = true;

        for (size_t v = 0; in && in->list[v]; v++)
            if (!in->list[v]->stored_as)
                empty = empty_kind(s, &a, in->list[v], &err) && empty;
        if (empty)
            end_definition(s, &a, names.all[i], &err);
    }
    if (err_is_set(&err))
        log_warn("uninstalling a kind: %s", err.text);
    if (names.count)
        s->definitions->timer = clock_start(s->clock, SWEEP_MS, sweep, s);
    arena_release(&a);
}

/* --- following the collection ----------------------------------------------------------- */

static void lists_changed(struct server *s)
{
    auto_err err = ERR_INIT;

    if (server_list_kinds(s, &err) < 0)
        log_warn("installing a kind: %s", err.text); /* the old list stays in use */
    if (!s->definitions->timer)
        s->definitions->timer = clock_start(s->clock, 0, sweep, s);
}

static void follow(struct server *s);

static void reinstall_all(struct server *s)
{
    for (struct installed *i = s->definitions->all; i; i = i->next)
        i->current = false;
    store_list(server_collection(s, &kind_crd), NULL, NULL, install_item, s);
    follow(s);
}

static void definitions_came(void *arg)
{
    struct server *s = arg;
    struct store_event e;
    bool any = false;
    int rc;

    while ((rc = store_watch_next(s->definitions->watch, &e)) > 0) {
        any = true;
        if (e.type == STORE_DELETED)
            uninstall(s->definitions, e.key);
        else
            install(s, e.key, e.value);
    }
    if (rc < 0)
        reinstall_all(s);
    if (any || rc < 0)
        lists_changed(s);
}

static void follow(struct server *s)
{
    struct definitions *d = s->definitions;
    auto_err err = ERR_INIT;

    store_watch_free(d->watch);
    d->watch = NULL;
    if (store_watch_open(server_collection(s, &kind_crd), store_revision(s->store),
                         definitions_came, s, &d->watch, &err) < 0)
        log_warn("kinds cannot be installed: %s", err.text);
}

int definitions_start(struct server *s, struct err *err)
{
    s->definitions = calloc(1, sizeof(*s->definitions));
    if (!s->definitions)
        return out_of_memory(err);
    reinstall_all(s);
    if (!s->definitions->watch)
        return out_of_memory(err);
    if (!s->definitions->all)
        return 0;
    s->definitions->timer = clock_start(s->clock, 0, sweep, s);
    return server_list_kinds(s, err);
}

void definitions_free(struct server *s)
{
    struct definitions *d = s->definitions;

    if (!d)
        return;
    clock_stop(s->clock, d->timer);
    store_watch_free(d->watch);
    for (struct installed *i = d->all, *next; i; i = next) {
        next = i->next;
        installed_free(i);
    }
    free(d);
    s->definitions = NULL;
}
