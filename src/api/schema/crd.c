/* crd.c - the CustomResourceDefinition of a kind, for clusters and for kubectl. */
#include "api/schema.h"

#include <string.h>

static void add_strings(struct arena *a, struct json *object, const char *key,
                        const char *const *list)
{
    struct json *array;

    if (!list || !*list)
        return;
    array = json_set(a, object, key, json_new_array(a));
    for (; *list; list++)
        json_append_string(a, array, *list);
}

static struct json *names_of(struct arena *a, const struct kind *k)
{
    struct json *names = json_new_object(a);

    json_set_string(a, names, "kind", k->name);
    json_set_stringf(a, names, "listKind", "%sList", k->name);
    json_set_string(a, names, "plural", k->plural);
    json_set_string(a, names, "singular", k->singular);
    add_strings(a, names, "shortNames", k->short_names);
    add_strings(a, names, "categories", k->categories);
    return names;
}

/* Without Name, which is the server's own column. */
static struct json *columns_of(struct arena *a, const struct kind *k)
{
    struct json *list = json_new_array(a);

    for (const struct column *c = k->columns + 1; c->name; c++) {
        struct json *column = json_append(list, json_new_object(a));

        json_set_string(a, column, "name", c->name);
        /* Age is a string here; other servers compute it from the time. */
        json_set_string(a, column, "type",
                        strcmp(c->path, ".metadata.creationTimestamp") == 0 ? "date" : c->type);
        json_set_string(a, column, "description", c->doc);
        json_set_string(a, column, "jsonPath", c->path);
        if (c->priority)
            json_set_int(a, column, "priority", c->priority);
    }
    return list;
}

static struct json *scale_of(struct arena *a, const struct kind_scale *s)
{
    struct json *scale = json_new_object(a);

    json_set_string(a, scale, "specReplicasPath", s->spec_path);
    json_set_string(a, scale, "statusReplicasPath", s->status_path);
    if (*s->selector_path)
        json_set_string(a, scale, "labelSelectorPath", s->selector_path);
    return scale;
}

static struct json *version_of(struct arena *a, const struct kind *k)
{
    struct json *version = json_new_object(a);

    json_set_string(a, version, "name", k->version);
    json_set_bool(a, version, "served", true);
    json_set_bool(a, version, "storage", true);
    if (k->has_status)
        json_make_object(a, json_make_object(a, version, "subresources"), "status");
    if (k->scale)
        json_set(a, json_make_object(a, version, "subresources"), "scale", scale_of(a, k->scale));
    json_set(a, version, "additionalPrinterColumns", columns_of(a, k));
    json_set(a, json_make_object(a, version, "schema"), "openAPIV3Schema", schema_of_kind(a, k));
    return version;
}

struct json *schema_crd(struct arena *a, const struct kind *k)
{
    struct json *crd = json_new_object(a), *spec;

    json_set_string(a, crd, "apiVersion", "apiextensions.k8s.io/v1");
    json_set_string(a, crd, "kind", "CustomResourceDefinition");
    json_set_stringf(a, json_make_object(a, crd, "metadata"), "name", "%s.%s", k->plural, k->group);
    spec = json_make_object(a, crd, "spec");
    json_set_string(a, spec, "group", k->group);
    json_set(a, spec, "names", names_of(a, k));
    json_set_string(a, spec, "scope", k->namespaced ? "Namespaced" : "Cluster");
    json_append(json_make_array(a, spec, "versions"), version_of(a, k));
    return crd;
}
