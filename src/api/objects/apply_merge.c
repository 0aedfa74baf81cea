/*
 * apply_merge.c - see apply_merge.h. The steps: collect the fields the configuration sets; find
 * conflicts; merge; remove what this manager set last time and nobody sets now; record the
 * managers.
 */
#include "api/apply_merge.h"

#include <string.h>

#include "api/objects/fields_v1.h"
#include "api/patch.h"
#include "api/schema/field_view.h"
#include "base/timefmt.h"

#define CONFLICT_PATH_LIMIT 1024u
#define CONFLICTS_SHOWN 64u /* the rest is only counted */
#define MANAGERS_LIMIT 256u

/* --- fields that are set -------------------------------------------------------------------- */

/* Removes the fields that identify the object or belong to the server. */
static void strip_identity(struct json *fields)
{
    static const char *const names[] = {"f:name",
                                        "f:namespace",
                                        "f:generateName",
                                        "f:uid",
                                        "f:resourceVersion",
                                        "f:generation",
                                        "f:creationTimestamp",
                                        "f:deletionTimestamp",
                                        "f:deletionGracePeriodSeconds",
                                        "f:managedFields",
                                        "f:selfLink"};
    struct json *meta = json_get_mut(fields, "f:metadata");

    json_remove(fields, "f:apiVersion");
    json_remove(fields, "f:kind");
    for (size_t i = 0; i < ELEMS(names); i++)
        json_remove(meta, names[i]);
    if (meta && fields_v1_is_leaf(meta))
        json_remove(fields, "f:metadata");
}

struct json *apply_fields(struct arena *a, const struct kind *k, const struct json *object)
{
    const struct field_view view = field_view_of_kind(k);
    struct json *fields = fields_v1_of(a, &view, object);

    strip_identity(fields);
    return fields;
}

/* The half of the object (spec or status) that the endpoint writes. */
static struct json *own_half(struct arena *a, const struct apply *apply, const struct json *config)
{
    struct json *half = json_clone(a, config), *next;
    bool status = strcmp(apply->subresource, "status") == 0;

    if (!apply->kind->has_status)
        return half;
    for (struct json *m = json_first_mut(half); m; m = next) {
        bool is_status = strcmp(m->key, "status") == 0;
        bool is_common = field_find(object_common_fields, m->key, m->key_len) != NULL;

        next = m->next;
        if (is_status != status && !is_common)
            json_remove_item(half, m);
    }
    return half;
}

/* --- managers ------------------------------------------------------------------------------- */

static bool has_fields(const struct json *entry)
{
    return json_is(json_get(entry, "fieldsV1"), JSON_OBJECT);
}

static bool is_own_entry(const struct apply *apply, const struct json *entry)
{
    return has_fields(entry) && json_string_is(json_get(entry, "operation"), apply->operation) &&
           json_string_is(json_get(entry, "manager"), apply->manager) &&
           strcmp(json_get_string(entry, "subresource", ""), apply->subresource) == 0;
}

static struct json *own_entry(const struct apply *apply, struct json *managed)
{
    for (struct json *e = json_first_mut(managed); e; e = e->next)
        if (is_own_entry(apply, e))
            return e;
    return NULL;
}

/* --- conflicts ------------------------------------------------------------------------------ */

struct conflicts {
    struct arena *arena;
    bool force;
    const char *manager; /* being compared with */
    struct buf path;     /* of the node being compared */
    struct buf text;     /* the whole message, as the real server writes it */
    const char *only;    /* path of the first */
    const char *only_manager;
    size_t count;
    struct err *causes;
};

static void add_conflict(struct conflicts *c)
{
    const char *path = arena_strdup(c->arena, c->path.data ? c->path.data : "");
    const char *manager = arena_printf(c->arena, "conflict with \"%s\"", c->manager);

    if (!path || !manager)
        return;
    if (c->count++ == 0) {
        c->only = path;
        c->only_manager = c->manager;
    }
    if (c->count > CONFLICTS_SHOWN)
        return;
    buf_addf(&c->text, "\n- %s", path);
    err_cause(c->causes, "FieldManagerConflict", path, 0, "%s", manager);
}

/* Whether the other manager owns the node itself. */
static bool owns_node(const struct json *node)
{
    return fields_v1_is_leaf(node) || json_get(node, ".");
}

static void find_conflicts(struct conflicts *c, const struct json *fields, struct json *config,
                           struct json *live, struct json *other);

static void compare_node(struct conflicts *c, const struct json *node, struct json *config,
                         struct json *live, struct json *other_parent, struct json *other)
{
    struct json *wanted = fields_v1_child(c->arena, node->key, config);
    struct json *is = fields_v1_child(c->arena, node->key, live);

    if (!fields_v1_is_leaf(node)) {
        bool was_leaf = fields_v1_is_leaf(other);

        find_conflicts(c, node, wanted, is, other);
        if (fields_v1_is_leaf(other) && !was_leaf)
            json_remove_item(other_parent, other); /* everything below it was taken over */
        return;
    }
    if (!owns_node(other) || !is || !wanted || json_equal(wanted, is))
        return;
    if (c->force)
        json_remove_item(other_parent, other);
    else
        add_conflict(c);
}

static void find_conflicts(struct conflicts *c, const struct json *fields, struct json *config,
                           struct json *live, struct json *other)
{
    json_each (node, fields) {
        struct json *theirs = strcmp(node->key, ".") == 0 ? NULL : json_get_mut(other, node->key);
        size_t len = c->path.len;

        if (!theirs)
            continue;
        fields_v1_write_step(c->arena, node->key, &c->path);
        compare_node(c, node, config, live, other, theirs);
        if (!c->path.failed && c->path.data) {
            c->path.len = len;
            c->path.data[len] = '\0';
        }
    }
}

static int conflict_error(const struct conflicts *c, struct err *err)
{
    if (c->count == 1)
        return err_set(err, ERR_CONFLICT, "Apply failed with 1 conflict: conflict with \"%s\": %s",
                       c->only_manager, c->only);
    return err_set(err, ERR_CONFLICT, "Apply failed with %zu conflicts: %s", c->count,
                   c->text.failed ? "" : c->text.data);
}

/* Drops the heading again if nothing follows it. */
static void compare_with(struct conflicts *c, const struct json *fields, struct json *config,
                         struct json *live, struct json *entry)
{
    size_t count = c->count, len = c->text.len;

    c->manager = json_get_string(entry, "manager", "");
    buf_addf(&c->text, "%sconflicts with \"%s\":", count ? "\n" : "", c->manager);
    find_conflicts(c, fields, config, live, json_get_mut(entry, "fieldsV1"));
    if (c->count == count && c->text.data) {
        c->text.len = len;
        c->text.data[len] = '\0';
    }
}

static int check_others(struct arena *a, const struct apply *apply, const struct json *fields,
                        struct json *config, struct json *live, struct json *managed,
                        struct err *err)
{
    auto_err causes = ERR_INIT;
    struct conflicts c = {.arena = a,
                          .force = apply->force,
                          .path = BUF_INIT(CONFLICT_PATH_LIMIT),
                          .text = BUF_INIT(ERR_LIMIT_BYTES / 4),
                          .causes = &causes};
    int rc = 0;

    for (struct json *e = json_first_mut(managed); e; e = e->next)
        if (has_fields(e) && !is_own_entry(apply, e))
            compare_with(&c, fields, config, live, e);
    if (c.count) {
        rc = conflict_error(&c, err);
        for (const struct err_cause *cause = causes.causes; cause; cause = cause->next)
            err_cause(err, "FieldManagerConflict", cause->field, 0, "%s", cause->text);
    }
    buf_release(&c.path);
    buf_release(&c.text);
    return rc;
}

/* --- merging -------------------------------------------------------------------------------- */

/* A list with a merge key whose elements are not unique by it is replaced whole, by a directive. */
static void mark_whole_lists(struct arena *a, const struct field_view *view, struct json *v)
{
    if (json_is(v, JSON_OBJECT)) {
        for (struct json *m = json_first_mut(v); m; m = m->next) {
            const struct field_view below = field_view_member(view, m->key, m->key_len);

            mark_whole_lists(a, &below, m);
        }
    } else if (json_is(v, JSON_ARRAY) && fields_v1_is_keyed(view, v)) {
        const struct field_view below = field_view_item(view);

        for (struct json *item = json_first_mut(v); item; item = item->next)
            mark_whole_lists(a, &below, item);
    } else if (json_is(v, JSON_ARRAY) && field_view_merge_key(view)) {
        json_set_string(a, json_append(v, json_new_object(a)), "$patch", "replace");
    }
}

/* Port 80 is port 80/TCP: a missing second key gets its default before comparing. */
static void fill_second_keys(struct arena *a, const struct field_view *view, struct json *v)
{
    const char *key = json_is(v, JSON_ARRAY) ? field_view_second_key(view) : NULL;
    const struct field *f = key ? field_find(view->field->fields, key, strlen(key)) : NULL;
    const char *text = f ? f->default_json : NULL;

    for (struct json *m = json_first_mut(v); m; m = m->next) {
        const struct field_view below = json_is(v, JSON_ARRAY)
                                            ? field_view_item(view)
                                            : field_view_member(view, m->key, m->key_len);

        if (text && json_is(m, JSON_OBJECT) && !json_get(m, key))
            json_set(a, m, key, json_parse(a, text, strlen(text), NULL));
        fill_second_keys(a, &below, m);
    }
}

static struct json *merge(struct arena *a, const struct kind *k, const struct json *live,
                          const struct json *config, struct err *err)
{
    const struct field_view view = field_view_of_kind(k);
    struct json *patch = json_clone(a, config);

    if (!patch)
        return NULL;
    mark_whole_lists(a, &view, patch);
    return patch_by_all_keys(a, k, live, patch, err);
}

/* --- fields no longer set ------------------------------------------------------------------- */

/* Removes from v the fields in had that are neither in now nor owned by others. */
static void take_away(struct arena *a, const struct json *had, const struct json *now,
                      const struct json *others, struct json *v)
{
    json_each (node, had) {
        const struct json *kept = json_get(now, node->key), *theirs = json_get(others, node->key);
        struct json *child = strcmp(node->key, ".") == 0 ? NULL : fields_v1_child(a, node->key, v);

        if (!child)
            continue;
        if (!kept && !theirs && owns_node(node)) {
            json_remove_item(v, child);
            continue;
        }
        if (fields_v1_is_leaf(node))
            continue;
        take_away(a, node, kept, theirs, child);
        if (!kept && !theirs && child->type >= JSON_ARRAY && json_len(child) == 0)
            json_remove_item(v, child);
    }
}

static struct json *fields_of_others(struct arena *a, const struct apply *apply,
                                     const struct json *managed)
{
    struct json *all = json_new_object(a);

    json_each (e, managed)
        if (has_fields(e) && !is_own_entry(apply, e) && all)
            all = patch_merge(a, all, json_get(e, "fieldsV1"));
    return all;
}

/* --- recording managers --------------------------------------------------------------------- */

static void drop_empty_entries(struct json *managed)
{
    struct json *next;

    for (struct json *e = json_first_mut(managed); e; e = next) {
        next = e->next;
        if (json_len(json_get(e, "fieldsV1")) == 0)
            json_remove_item(managed, e);
    }
}

static void write_entry(struct arena *a, const struct apply *apply, struct json *managed,
                        struct json *fields)
{
    struct json *entry = own_entry(apply, managed);
    char now[TIME_TEXT_SIZE];

    if (!entry)
        entry = json_append(managed, json_new_object(a));
    json_set_string(a, entry, "manager", apply->manager);
    json_set_string(a, entry, "operation", apply->operation);
    json_set_string(a, entry, "apiVersion", kind_api_version(a, apply->kind));
    json_set_string(a, entry, "time", time_format(apply->now_ms, now));
    json_set_string(a, entry, "fieldsType", "FieldsV1");
    json_set(a, entry, "fieldsV1", fields);
    if (*apply->subresource)
        json_set_string(a, entry, "subresource", apply->subresource);
}

static struct json *managed_of(struct arena *a, const struct json *live)
{
    const struct json *list = json_at(live, "metadata", "managedFields");

    return json_is(list, JSON_ARRAY) ? json_clone(a, list) : json_new_array(a);
}

int apply_merge(struct arena *a, const struct apply *apply, const struct json *live,
                const struct json *config, struct json **ret_next, struct json **ret_managed,
                struct err *err)
{
    struct json *managed = managed_of(a, live), *wanted = own_half(a, apply, config);
    struct json *is = live ? json_clone(a, live) : json_new_object(a), *next, *fields;
    const struct field_view view = field_view_of_kind(apply->kind);
    const struct json *had;
    int rc;

    fill_second_keys(a, &view, wanted);
    fields = apply_fields(a, apply->kind, wanted);

    if (arena_failed(a))
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    if (json_len(managed) > MANAGERS_LIMIT)
        return err_set(err, ERR_BAD_REQUEST, "the object has more than %u field managers",
                       MANAGERS_LIMIT);
    rc = check_others(a, apply, fields, wanted, is, managed, err);
    if (rc < 0)
        return rc;
    next = merge(a, apply->kind, is, wanted, err);
    if (!next)
        return err_is_set(err) ? -1 : err_set(err, ERR_UNAVAILABLE, "out of memory");
    had = json_get(own_entry(apply, managed), "fieldsV1");
    take_away(a, had, fields, fields_of_others(a, apply, managed), next);
    if (!had || !json_equal(had, fields)) /* otherwise its time would make every apply a change */
        write_entry(a, apply, managed, fields);
    drop_empty_entries(managed);
    *ret_next = next;
    *ret_managed = managed;
    return arena_failed(a) ? err_set(err, ERR_UNAVAILABLE, "out of memory") : 0;
}

/* --- other writes --------------------------------------------------------------------------- */

/* Removes from the fields of next those that did not change. */
static void keep_changed(struct arena *a, struct json *fields, struct json *old, struct json *next)
{
    struct json *after;

    for (struct json *node = json_first_mut(fields); node; node = after) {
        struct json *was = fields_v1_child(a, node->key, old);
        struct json *is = fields_v1_child(a, node->key, next);
        bool is_leaf = fields_v1_is_leaf(node);

        after = node->next;
        if (strcmp(node->key, ".") == 0)
            continue;
        if (!is_leaf && was)
            keep_changed(a, node, was, is);
        if (is_leaf ? was && json_equal(was, is)
                    : json_len(node) == 0 || (was && json_len(node) == 1 && json_get(node, ".")))
            json_remove_item(fields, node);
    }
}

/* Fields that are gone, or changed by another manager, no longer belong to this one. */
static void give_up(struct arena *a, struct json *owned, const struct json *changed,
                    struct json *next)
{
    struct json *after;

    for (struct json *node = json_first_mut(owned); node; node = after) {
        const struct json *theirs = json_get(changed, node->key);
        struct json *is = fields_v1_child(a, node->key, next);
        bool is_leaf = fields_v1_is_leaf(node);

        after = node->next;
        if (strcmp(node->key, ".") == 0)
            continue;
        if (is && !is_leaf)
            give_up(a, node, theirs, is);
        if (!is || (is_leaf ? theirs && fields_v1_is_leaf(theirs) : json_len(node) == 0))
            json_remove_item(owned, node);
    }
}

static struct json *own_changes(struct arena *a, const struct apply *update, struct json *managed,
                                const struct json *changed)
{
    const struct json *had = json_get(own_entry(update, managed), "fieldsV1");

    return had ? patch_merge(a, had, changed) : json_clone(a, changed);
}

struct json *apply_track_update(struct arena *a, const struct apply *update, const struct json *old,
                                const struct json *next)
{
    struct json *managed, *was, *is, *changed, *mine;

    if (json_len(json_at(old, "metadata", "managedFields")) == 0)
        return NULL;
    managed = managed_of(a, old);
    was = json_clone(a, old);
    is = own_half(a, update, next);
    changed = is ? apply_fields(a, update->kind, is) : NULL;
    if (arena_failed(a) || json_len(managed) > MANAGERS_LIMIT)
        return NULL;
    keep_changed(a, changed, was, is);
    for (struct json *e = json_first_mut(managed); e; e = e->next)
        if (has_fields(e) && !is_own_entry(update, e) && !*json_get_string(e, "subresource", ""))
            give_up(a, json_get_mut(e, "fieldsV1"), changed, is);
    if (json_len(changed)) {
        mine = own_changes(a, update, managed, changed);
        write_entry(a, update, managed, mine);
    }
    drop_empty_entries(managed);
    return arena_failed(a) || json_equal(managed, json_at(old, "metadata", "managedFields"))
               ? NULL
               : managed;
}
