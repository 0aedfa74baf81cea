/*
 * crds.c - the definitions of built-in custom kinds, listed among the installed ones. They are
 * generated from the tables on request, so they can be read but not changed.
 */
#include <string.h>

#include "api/crd_kind.h"
#include "api/schema.h"
#include "server/internal.h"

static bool is_definition_of(const struct kind *k, const char *name)
{
    size_t len = strlen(k->plural);

    return k->custom && strncmp(name, k->plural, len) == 0 && name[len] == '.' &&
           strcmp(name + len + 1, k->group) == 0;
}

static const struct kind *find(const char *name)
{
    for (const struct kind *const *k = kinds; *k; k++)
        if (is_definition_of(*k, name))
            return *k;
    return NULL;
}

static struct json *definition_of(struct server *s, struct arena *a, const struct kind *k)
{
    struct json *crd = schema_crd(a, k), *meta = json_make_object(a, crd, "metadata");

    json_set_stringf(a, meta, "uid", "muster-%s.%s", k->plural, k->group);
    json_set_string(a, meta, "resourceVersion", "1");
    json_set_string(a, meta, "creationTimestamp", "2026-01-01T00:00:00Z");
    object_set_defaults(a, &kind_crd, crd);
    crd_set_status(a, crd, NULL, clock_now_ms(s->clock));
    return crd;
}

struct json *crd_builtin(struct server *s, struct arena *a, const char *name)
{
    const struct kind *k = find(name);

    return k ? definition_of(s, a, k) : NULL;
}

void crd_builtin_each(struct server *s, struct arena *a,
                      bool (*fn)(void *arg, const struct json *crd), void *arg)
{
    for (const struct kind *const *k = kinds; *k; k++)
        if ((*k)->custom && !fn(arg, definition_of(s, a, *k)))
            return;
}

int crd_check_builtin(const struct server_request *r, const char *name, struct err *err)
{
    if (r->route.kind != &kind_crd || !find(name))
        return 0;
    return err_set(err, ERR_FORBIDDEN,
                   "customresourcedefinitions.apiextensions.k8s.io \"%s\" is forbidden: this kind "
                   "is part of the server, its definition cannot be changed",
                   name);
}
