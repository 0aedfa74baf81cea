/*
 * webhook_sets.c - the configurations of webhooks, parsed once. They are followed like any watcher
 * would, and read again after a change; one that is unchanged keeps its connections.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/webhooks.h"

#define SET_MEMORY_BYTES (32u * 1024u * 1024u)

static const struct kind *const kind_of[HOOK_TYPES] = {
    [HOOK_MUTATING] = &kind_mutating_webhooks,
    [HOOK_VALIDATING] = &kind_validating_webhooks,
};

struct hook_set *hook_set_ref(struct hook_set *set)
{
    set->refs++;
    return set;
}

void hook_set_unref(struct hook_set *set)
{
    if (!set || --set->refs > 0)
        return;
    for (size_t i = 0; i < set->count; i++)
        http_client_free(set->hooks[i].client);
    arena_release(&set->arena);
    free(set);
}

static void drop_sets(struct hook_set *set)
{
    for (struct hook_set *next; set; set = next) {
        next = set->next;
        hook_set_unref(set);
    }
}

static struct hook_set *set_new(const struct store_item *item)
{
    struct hook_set *set = calloc(1, sizeof(*set));
    const struct json *list;

    if (!set)
        return NULL;
    set->refs = 1;
    set->revision = item->revision;
    arena_init(&set->arena, SET_MEMORY_BYTES);
    set->name = arena_strdup(&set->arena, item->key);
    list = json_get(blob_parse(&set->arena, item->value, NULL), "webhooks");
    set->hooks = arena_alloc(&set->arena, (json_len(list) + 1) * sizeof(*set->hooks));
    if (arena_failed(&set->arena)) {
        hook_set_unref(set);
        return NULL;
    }
    json_each (config, list)
        set->hooks[set->count++] = (struct hook){
            .set = set, .config = config, .name = json_get_string(config, "name", "")};
    return set;
}

struct reading {
    struct hook_set *old, *first, **end;
    bool failed;
};

/* The same configuration as before, taken out of the old list; or NULL. */
static struct hook_set *take_unchanged(struct reading *reading, const struct store_item *item)
{
    for (struct hook_set **at = &reading->old; *at; at = &(*at)->next) {
        struct hook_set *set = *at;

        if (set->revision == item->revision && strcmp(set->name, item->key) == 0) {
            *at = set->next;
            set->next = NULL;
            return set;
        }
    }
    return NULL;
}

static bool read_set(void *arg, const struct store_item *item)
{
    struct reading *reading = arg;
    struct hook_set *set = take_unchanged(reading, item);

    if (!set)
        set = set_new(item);
    reading->failed = !set;
    if (!set)
        return false;
    *reading->end = set;
    reading->end = &set->next;
    return true;
}

static void on_change(void *arg)
{
    *(bool *)arg = false;
}

static int read_sets(struct server *s, enum hook_type type, struct err *err)
{
    struct webhooks *w = s->webhooks;
    struct store_collection *c = server_collection(s, kind_of[type]);
    struct reading reading = {.old = w->sets[type], .end = &reading.first};

    store_watch_free(w->watches[type]);
    w->watches[type] = NULL;
    if (store_watch_open(c, store_revision(s->store), on_change, &w->known[type], &w->watches[type],
                         NULL) < 0)
        return out_of_memory(err);
    store_list(c, NULL, NULL, read_set, &reading);
    drop_sets(reading.old);
    w->sets[type] = reading.first;
    w->known[type] = !reading.failed;
    return reading.failed ? out_of_memory(err) : 0;
}

int hook_sets_get(struct server *s, enum hook_type type, struct hook_set **ret, struct err *err)
{
    int rc = 0;

    *ret = NULL;
    if (!s->webhooks && store_count(server_collection(s, kind_of[type])) == 0)
        return 0;
    if (!s->webhooks)
        s->webhooks = calloc(1, sizeof(*s->webhooks));
    if (!s->webhooks)
        return out_of_memory(err);
    if (!s->webhooks->known[type])
        rc = read_sets(s, type, err);
    *ret = s->webhooks->sets[type];
    return rc;
}

void hook_sets_free(struct webhooks *w)
{
    for (size_t i = 0; i < HOOK_TYPES; i++) {
        store_watch_free(w->watches[i]);
        drop_sets(w->sets[i]);
    }
}
