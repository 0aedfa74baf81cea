/* crd_kind.c - see crd_kind.h. */
#include "api/crd_kind.h"

#include "api/columns.h"
#include "api/object.h"
#include "base/timefmt.h"

static const char *const *copy_strings(struct arena *a, const struct json *list)
{
    const char **out = arena_alloc(a, (json_len(list) + 1) * sizeof(*out));
    size_t n = 0;

    json_each (item, list)
        if (out && json_is(item, JSON_STRING))
            out[n++] = arena_strdup(a, item->u.text);
    return out;
}

static const char *copy(struct arena *a, const struct json *object, const char *key)
{
    return arena_strdup(a, json_get_string(object, key, ""));
}

static const struct column name_column = COLUMN_NAME;
static const struct column age_column = {.name = "Age",
                                         .type = "date",
                                         .doc = "Time since it was created.",
                                         .path = ".metadata.creationTimestamp"};

static const struct column *copy_columns(struct arena *a, const struct json *list)
{
    struct column *out = arena_alloc(a, (json_len(list) + 3) * sizeof(*out)), *c = out;

    if (!out)
        return NULL;
    *c++ = name_column;
    json_each (d, list)
        *c++ = (struct column){.name = copy(a, d, "name"),
                               .type = copy(a, d, "type"),
                               .format = copy(a, d, "format"),
                               .doc = copy(a, d, "description"),
                               .priority = (int)json_get_int(d, "priority", 0),
                               .path = copy(a, d, "jsonPath")};
    if (json_len(list) == 0)
        *c = age_column;
    return out;
}

/* ".spec.color" is selected as "spec.color". */
static const char *const *copy_selectable(struct arena *a, const struct json *list)
{
    const char **out = arena_alloc(a, (json_len(list) + 1) * sizeof(*out));
    size_t n = 0;

    json_each (f, list) {
        const char *path = json_get_string(f, "jsonPath", "");

        if (out && *path)
            out[n++] = arena_strdup(a, path + (*path == '.'));
    }
    return out;
}

static const struct kind_scale *copy_scale(struct arena *a, const struct json *scale)
{
    struct kind_scale *out = scale ? arena_alloc(a, sizeof(*out)) : NULL;

    if (out)
        *out = (struct kind_scale){.spec_path = copy(a, scale, "specReplicasPath"),
                                   .status_path = copy(a, scale, "statusReplicasPath"),
                                   .selector_path = copy(a, scale, "labelSelectorPath")};
    return out;
}

/* Versions differ only in name. */
static void set_version(struct arena *a, const struct kind *k, struct json *object)
{
    json_set_string(a, object, "apiVersion", kind_api_version(a, k));
}

static void set_storage_version(struct arena *a, const struct kind *k, struct json *object)
{
    set_version(a, k->stored_as, object);
}

static const char *deprecation(struct arena *a, const struct json *spec, const struct json *version)
{
    const char *text = json_get_string(version, "deprecationWarning", "");

    if (!json_get_bool(version, "deprecated", false))
        return NULL;
    return *text ? arena_strdup(a, text)
                 : arena_printf(a, "%s/%s %s is deprecated", json_get_string(spec, "group", ""),
                                json_get_string(version, "name", ""),
                                json_string(json_at(spec, "names", "kind"), ""));
}

static struct kind *make_kind(struct arena *a, const struct json *crd, const struct json *version)
{
    const struct json *spec = json_get(crd, "spec"), *names = json_get(spec, "names");
    const struct json *schema = json_at(version, "schema", "openAPIV3Schema");
    const struct json *parts = json_get(version, "subresources");
    struct kind *k = arena_alloc(a, sizeof(*k));

    if (!k)
        return NULL;
    *k = (struct kind){
        .group = copy(a, spec, "group"),
        .version = copy(a, version, "name"),
        .name = copy(a, names, "kind"),
        .plural = copy(a, names, "plural"),
        .singular = copy(a, names, "singular"),
        .short_names = copy_strings(a, json_get(names, "shortNames")),
        .categories = copy_strings(a, json_get(names, "categories")),
        .namespaced = json_string_is(json_get(spec, "scope"), "Namespaced"),
        .has_status = json_get(parts, "status") != NULL,
        .custom = true,
        .collected = true,
        .deprecation = deprecation(a, spec, version),
        .from_stored = json_len(json_get(spec, "versions")) > 1 ? set_version : NULL,
        .ending = object_is_deleting(crd),
        .doc = copy(a, schema, "description"),
        .columns = copy_columns(a, json_get(version, "additionalPrinterColumns")),
        .field_selectors = copy_selectable(a, json_get(version, "selectableFields")),
        .scale = copy_scale(a, json_get(parts, "scale")),
        .schema = json_clone(a, schema),
    };
    return k;
}

/* Names accepted and established: it is served. */
static bool is_established(const struct json *crd)
{
    return object_condition_is(crd, "Established");
}

const struct kind **crd_kinds(struct arena *a, const struct json *crd)
{
    const struct json *versions = json_at(crd, "spec", "versions");
    struct kind **out = arena_alloc(a, (json_len(versions) + 1) * sizeof(*out)), *stored = NULL;
    size_t n = 0;

    json_each (v, versions) {
        struct kind *k = is_established(crd) ? make_kind(a, crd, v) : NULL;

        if (out && k && json_get_bool(v, "storage", false))
            stored = k;
        if (out && k && json_get_bool(v, "served", false))
            out[n++] = k;
    }
    for (size_t i = 0; i < n; i++) {
        if (out[i] == stored || !stored)
            continue;
        out[i]->stored_as = stored;
        out[i]->to_stored = set_storage_version;
    }
    return arena_failed(a) ? NULL : (const struct kind **)out;
}

/* --- status --------------------------------------------------------------------------------- */

static void set_condition(struct arena *a, struct json *status, const char *type, bool holds,
                          const char *reason, const char *message, int64_t now_ms)
{
    struct json *list = json_make_array(a, status, "conditions"), *c;
    const char *word = holds ? "True" : "False";
    char now[TIME_TEXT_SIZE];

    for (c = json_first_mut(list); c; c = c->next)
        if (json_string_is(json_get(c, "type"), type))
            break;
    if (!c)
        c = json_append(list, json_new_object(a));
    if (!json_string_is(json_get(c, "status"), word))
        json_set_string(a, c, "lastTransitionTime", time_format(now_ms, now));
    json_set_string(a, c, "type", type);
    json_set_string(a, c, "status", word);
    json_set_string(a, c, "reason", reason);
    json_set_string(a, c, "message", message);
}

void crd_set_status(struct arena *a, struct json *crd, const char *conflict, int64_t now_ms)
{
    struct json *status = json_make_object(a, crd, "status");

    set_condition(a, status, "NamesAccepted", !conflict, conflict ? "NameConflict" : "NoConflicts",
                  conflict ? conflict : "no conflicts found", now_ms);
    set_condition(
        a, status, "Established", !conflict, conflict ? "NotAccepted" : "InitialNamesAccepted",
        conflict ? "not all names are accepted" : "the initial names have been accepted", now_ms);
    if (!conflict)
        json_set(a, status, "acceptedNames", json_clone(a, json_at(crd, "spec", "names")));
    crd_note_storage(a, crd);
}

void crd_note_storage(struct arena *a, struct json *crd)
{
    struct json *stored = json_make_array(a, json_make_object(a, crd, "status"), "storedVersions");

    json_each (v, json_at(crd, "spec", "versions")) {
        const char *name = json_get_string(v, "name", "");
        bool known = false;

        if (!json_get_bool(v, "storage", false))
            continue;
        json_each (s, stored)
            known = known || json_string_is(s, name);
        if (!known)
            json_append_string(a, stored, name);
    }
}
