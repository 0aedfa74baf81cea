/* gc_kinds.c - see gc_kinds.h. Of an installed kind only what is needed for paths is kept. */
#include "control/gc_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "api/crd_kind.h"
#include "base/log.h"

#define INSTALLED_LIMIT 1024u /* different ones, ever */
#define DEFINITION_MEMORY_BYTES (8u * 1024u * 1024u)

struct gc_kind {
    struct gc_kind *next;
    struct kind kind;
    char text[]; /* its strings */
};

static bool same(const struct kind *a, const struct kind *b)
{
    return strcmp(a->group, b->group) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->plural, b->plural) == 0 &&
           a->namespaced == b->namespaced;
}

static const char *put_text(char **at, const char *text)
{
    char *start = *at;

    *at = stpcpy(start, text) + 1;
    return start;
}

static struct gc_kind *copy(const struct kind *k)
{
    size_t text = strlen(k->group) + strlen(k->version) + strlen(k->name) + strlen(k->plural) + 4;
    struct gc_kind *c = calloc(1, sizeof(*c) + text);
    char *at = c ? c->text : NULL;

    if (!c)
        return NULL;
    c->kind.group = put_text(&at, k->group);
    c->kind.version = put_text(&at, k->version);
    c->kind.name = put_text(&at, k->name);
    c->kind.plural = put_text(&at, k->plural);
    c->kind.singular = "";
    c->kind.namespaced = k->namespaced;
    c->kind.custom = true;
    c->kind.collected = true;
    return c;
}

static const struct kind *keep(struct gc_kinds *all, const struct kind *k)
{
    struct gc_kind *c;

    for (c = all->installed; c; c = c->next)
        if (same(&c->kind, k))
            return &c->kind;
    c = all->installed_len < INSTALLED_LIMIT ? copy(k) : NULL;
    if (!c) {
        log_warn("garbage collection does not follow %s.%s: no room for more kinds", k->plural,
                 k->group);
        return NULL;
    }
    c->next = all->installed;
    all->installed = c;
    all->installed_len++;
    return &c->kind;
}

const struct kind *gc_kinds_install(struct gc_kinds *all, const struct json *definition)
{
    struct arena scratch = ARENA_INIT(DEFINITION_MEMORY_BYTES);
    const struct kind **made = crd_kinds(&scratch, definition), *k = NULL;

    if (made && made[0] && !kind_by_plural(made[0]->group, made[0]->version, made[0]->plural))
        k = keep(all, made[0]);
    arena_release(&scratch);
    return k;
}

const struct kind *gc_kinds_of_owner(const struct gc_kinds *all, const struct json *reference)
{
    const char *api_version = json_get_string(reference, "apiVersion", "");
    const char *name = json_get_string(reference, "kind", "");
    const char *slash = strchr(api_version, '/');
    size_t group_len = slash ? (size_t)(slash - api_version) : 0;
    const struct kind *k = kind_of_object(reference); /* has apiVersion and kind like an object */

    for (const struct gc_kind *c = all->installed; c && !k; c = c->next)
        if (strcmp(c->kind.name, name) == 0 && strlen(c->kind.group) == group_len &&
            memcmp(c->kind.group, api_version, group_len) == 0)
            k = &c->kind;
    return k;
}

void gc_kinds_release(struct gc_kinds *all)
{
    for (struct gc_kind *c = all->installed, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *all = (struct gc_kinds){0};
}
