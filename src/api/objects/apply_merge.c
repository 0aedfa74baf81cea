/*
 * apply_merge.c - see apply_merge.h. The steps: collect the fields the configuration sets; find
 * conflicts; merge; remove what this manager set last time and no manager sets now; record the
 * managers.
 */
#include "api/apply_merge.h"

#include <string.h>

#include "api/managed.h"
#include "api/object.h"
#include "api/objects/fields_v1.h"
#include "api/patch.h"
#include "api/schema/field_view.h"
#include "base/timefmt.h"

#define FIELDS_TEXT_LIMIT (8u * 1024u * 1024u)
#define CONFLICT_PATH_LIMIT 1024u
#define CONFLICTS_SHOWN 64u /* the rest is only counted */
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* --- fields that are set -------------------------------------------------------------------- */

static struct fields_part part_of(const struct apply *apply, bool nodes)
{
    return (struct fields_part){
        .kind = apply->kind, .status = strcmp(apply->subresource, "status") == 0, .nodes = nodes};
}

static struct json *fields_of(struct arena *a, const struct fields_part *part,
                              const struct json *object)
{
    struct buf text = BUF_INIT(FIELDS_TEXT_LIMIT);
    struct json *copy = json_clone(a, object), *fields;

    fields_mark(part, copy, 1);
    fields_show(&text, part->kind, copy, 1);
    fields = text.failed ? NULL : json_parse(a, text.data, text.len, NULL);
    buf_release(&text);
    return fields;
}

struct json *apply_fields(struct arena *a, const struct kind *k, const struct json *object)
{
    const struct apply all = {.kind = k, .subresource = ""};
    const struct fields_part part = part_of(&all, false);

    return fields_of(a, &part, object);
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
           (strcmp(apply->operation, "Apply") == 0 ||
            json_string_is(json_get(entry, "apiVersion"), apply->api_version)) &&
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
    size_t own; /* of them that kubectl itself set, applying from the client's side */
    struct err *causes;
};

static void add_conflict(struct conflicts *c)
{
    const char *path = arena_strdup(c->arena, c->path.data ? c->path.data : "");
    const char *manager = arena_printf(c->arena, "conflict with %s", c->manager);

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

/* The same object in three states, or a part of them. */
struct states {
    struct json *wanted, *live, *last; /* last: as kubectl applied it; NULL: it did not */
};

/* What is below them, and the nodes of another manager there. */
struct compared {
    struct fields_v1_children wanted, live, last;
    struct json_finder others;
};

static void find_conflicts(struct conflicts *c, const struct json *fields, struct states s,
                           struct json *other);

static void compare_node(struct conflicts *c, const struct json *node, struct compared *at,
                         struct json *other)
{
    struct json *wanted = fields_v1_child(&at->wanted, node);
    struct json *is = fields_v1_child(&at->live, node);
    struct json *last = fields_v1_child(&at->last, node);

    if (!fields_v1_is_leaf(node)) {
        bool was_leaf = fields_v1_is_leaf(other);

        find_conflicts(c, node, (struct states){wanted, is, last}, other);
        if (fields_v1_is_leaf(other) && !was_leaf)
            json_finder_drop(&at->others, other); /* everything below it was taken over */
        return;
    }
    if (!owns_node(other) || !is || !wanted || json_equal(wanted, is))
        return;
    if (c->force) {
        json_finder_drop(&at->others, other);
        return;
    }
    add_conflict(c);
    c->own += last && json_equal(last, is);
}

static void find_conflicts(struct conflicts *c, const struct json *fields, struct states s,
                           struct json *other)
{
    struct compared at = {.wanted = fields_v1_children(c->arena, s.wanted),
                          .live = fields_v1_children(c->arena, s.live),
                          .last = fields_v1_children(c->arena, s.last),
                          .others = json_finder_of(c->arena, other)};

    json_each (node, fields) {
        struct json *theirs = strcmp(node->key, ".") == 0
                                  ? NULL
                                  : json_finder_get(&at.others, node->key, node->key_len);
        size_t len = c->path.len;

        if (!theirs)
            continue;
        fields_v1_write_step(c->arena, node->key, &c->path);
        compare_node(c, node, &at, theirs);
        if (!c->path.failed && c->path.data) {
            c->path.len = len;
            c->path.data[len] = '\0';
        }
    }
    fields_v1_end(&at.wanted);
    fields_v1_end(&at.live);
    fields_v1_end(&at.last);
    json_finder_end(&at.others);
}

static int conflict_error(const struct conflicts *c, struct err *err)
{
    if (c->count == 1)
        return err_set(err, ERR_CONFLICT, "Apply failed with 1 conflict: conflict with %s: %s",
                       c->only_manager, c->only);
    return err_set(err, ERR_CONFLICT, "Apply failed with %zu conflicts: %s", c->count,
                   c->text.failed ? "" : c->text.data);
}

static const char *name_of(struct arena *a, const struct json *entry)
{
    const char *part = json_get_string(entry, "subresource", "");
    bool applied = json_string_is(json_get(entry, "operation"), "Apply");
    const char *name = arena_printf(a, "\"%s\"%s%s%s%s%s", json_get_string(entry, "manager", ""),
                                    *part ? " with subresource \"" : "", part, *part ? "\"" : "",
                                    applied ? "" : " using ",
                                    applied ? "" : json_get_string(entry, "apiVersion", ""));

    return name ? name : "";
}

/* Drops the heading again if nothing follows it. */
static void compare_with(struct conflicts *c, const struct json *fields, struct states s,
                         struct json *entry)
{
    size_t count = c->count, len = c->text.len;

    c->manager = name_of(c->arena, entry);
    buf_addf(&c->text, "%sconflicts with %s:", count ? "\n" : "", c->manager);
    find_conflicts(c, fields, s, json_get_mut(entry, "fieldsV1"));
    if (c->count == count && c->text.data) {
        c->text.len = len;
        c->text.data[len] = '\0';
    }
}

static int check_others(struct arena *a, const struct apply *apply, const struct json *fields,
                        struct states s, struct json *managed, bool force, struct err *err)
{
    auto_err causes = ERR_INIT;
    struct conflicts c = {.arena = a,
                          .force = force,
                          .path = BUF_INIT(CONFLICT_PATH_LIMIT),
                          .text = BUF_INIT(ERR_LIMIT_BYTES / 4),
                          .causes = &causes};
    int rc = 0;

    for (struct json *e = json_first_mut(managed); e; e = e->next)
        if (has_fields(e) && !is_own_entry(apply, e))
            compare_with(&c, fields, s, e);
    if (c.count && c.own == c.count) {
        rc = check_others(a, apply, fields, s, managed, true, err);
    } else if (c.count) {
        rc = conflict_error(&c, err);
        for (const struct err_cause *cause = causes.causes; cause; cause = cause->next)
            err_cause(err, "FieldManagerConflict", cause->field, 0, "%s", cause->text);
    }
    buf_release(&c.path);
    buf_release(&c.text);
    return rc;
}

/* --- merging -------------------------------------------------------------------------------- */

/* Values that are one field are replaced whole, by a directive: a list with elements not unique by
 * its keys, an atomic object. */
static void mark_whole(struct arena *a, const struct field_view *view, struct json *v)
{
    const char *keys[FIELD_VIEW_KEYS];

    if (json_is(v, JSON_OBJECT)) {
        for (struct json *m = json_first_mut(v); m; m = m->next) {
            const struct field_view below = field_view_member(view, m->key, m->key_len);

            mark_whole(a, &below, m);
        }
        if (field_view_is_atomic(view))
            json_set_string(a, v, "$patch", "replace");
    } else if (json_is(v, JSON_ARRAY) && fields_v1_is_keyed(view, v)) {
        const struct field_view below = field_view_item(view);

        for (struct json *item = json_first_mut(v); item; item = item->next)
            mark_whole(a, &below, item);
    } else if (json_is(v, JSON_ARRAY) && field_view_keys(view, keys)) {
        json_set_string(a, json_append(v, json_new_object(a)), "$patch", "replace");
    }
}

/* Port 80 is port 80/TCP: a missing key gets its default before comparing. */
static void fill_keys(struct arena *a, const struct field_view *view, struct json *v)
{
    const char *keys[FIELD_VIEW_KEYS];
    size_t keys_len = json_is(v, JSON_ARRAY) ? field_view_keys(view, keys) : 0;

    for (struct json *m = json_first_mut(v); m; m = m->next) {
        const struct field_view below = json_is(v, JSON_ARRAY)
                                            ? field_view_item(view)
                                            : field_view_member(view, m->key, m->key_len);

        for (size_t i = 0; i < keys_len; i++)
            if (json_is(m, JSON_OBJECT) && !json_get(m, keys[i]))
                json_set(a, m, keys[i], field_view_key_default(a, view, keys[i]));
        fill_keys(a, &below, m);
    }
}

static struct json *merge(struct arena *a, const struct kind *k, const struct json *live,
                          const struct json *config, struct err *err)
{
    const struct field_view view = field_view_of_kind(k);
    struct json *patch = json_clone(a, config);

    if (!patch)
        return NULL;
    mark_whole(a, &view, patch);
    return patch_by_all_keys(a, k, live, patch, err);
}

/* --- fields no longer set ------------------------------------------------------------------- */

/* Removes from v the fields in had that are neither in now nor owned by others. */
static void take_away(struct arena *a, const struct json *had, const struct json *now,
                      const struct json *others, struct json *v)
{
    struct fields_v1_children values = fields_v1_children(a, v);
    struct json_finder in_now = json_finder_over(a, now), in_others = json_finder_over(a, others);

    json_each (node, had) {
        const struct json *kept = json_finder_get(&in_now, node->key, node->key_len);
        const struct json *theirs = json_finder_get(&in_others, node->key, node->key_len);
        struct json *child = strcmp(node->key, ".") == 0 ? NULL : fields_v1_child(&values, node);

        if (!child)
            continue;
        if (!kept && !theirs && owns_node(node)) {
            fields_v1_drop(&values, child);
            continue;
        }
        if (fields_v1_is_leaf(node))
            continue;
        take_away(a, node, kept, theirs, child);
        if (!kept && !theirs && child->type >= JSON_ARRAY && json_len(child) == 0)
            fields_v1_drop(&values, child);
    }
    fields_v1_end(&values);
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
    json_set_string(a, entry, "apiVersion", apply->api_version);
    json_set_string(a, entry, "time", time_format(apply->now_ms, now));
    json_set_string(a, entry, "fieldsType", "FieldsV1");
    json_set(a, entry, "fieldsV1", fields);
    if (*apply->subresource)
        json_set_string(a, entry, "subresource", apply->subresource);
}

/* The fields of an object from before they were tracked belong to an unknown manager. */
static void add_first_owner(struct arena *a, const struct apply *apply, const struct json *live,
                            struct json *managed)
{
    struct apply first = *apply;
    const struct fields_part part = part_of(apply, true);

    first.manager = "before-first-apply";
    first.operation = "Update";
    write_entry(a, &first, managed, fields_of(a, &part, live));
}

static struct json *managed_of(struct arena *a, const struct apply *apply, const struct json *live)
{
    const struct json *v = json_at(live, "metadata", "managedFields");
    struct json *list = json_is(v, JSON_ARRAY) ? json_clone(a, v)
                                               : managed_list(a, apply->kind, live);

    if (live && json_len(list) == 0 && !*apply->subresource)
        add_first_owner(a, apply, live, list);
    return list;
}

static bool is_kubectl(const struct apply *apply)
{
    return strcmp(apply->manager, "kubectl") == 0 && !*apply->subresource;
}

/* kubectl must not conflict with itself when moving from client-side to server-side apply: its own
 * record of what it applied last. */
static struct json *last_applied(struct arena *a, const struct apply *apply,
                                 const struct json *live)
{
    const char *text = object_annotation(live, LAST_APPLIED);

    return text && is_kubectl(apply) ? json_parse(a, text, strlen(text), NULL) : NULL;
}

/* Keeps that record up to date, so that users can return to client-side apply. */
static void renew_last_applied(struct arena *a, const struct apply *apply,
                               const struct json *config, struct json *next)
{
    struct json *notes = json_get_mut(json_get_mut(next, "metadata"), "annotations"), *copy;
    struct buf text = BUF_INIT(FIELDS_TEXT_LIMIT);

    if (!is_kubectl(apply) || !*json_get_string(notes, LAST_APPLIED, ""))
        return;
    copy = json_clone(a, config);
    json_remove(json_get_mut(json_get_mut(copy, "metadata"), "annotations"), LAST_APPLIED);
    json_write(&text, copy);
    buf_addc(&text, '\n');
    if (!text.failed)
        json_set(a, notes, LAST_APPLIED, json_new_string_len(a, text.data, text.len));
    buf_release(&text);
}

static int too_long(struct err *err)
{
    return err_set(err, ERR_TOO_LARGE,
                   "metadata.managedFields would have more than %u MiB: apply fewer fields, or "
                   "under fewer names of managers",
                   MANAGED_LIMIT_MIB);
}

int apply_merge(struct arena *a, const struct apply *apply, const struct json *live,
                const struct json *config, struct json **ret_next, struct json **ret_managed,
                struct err *err)
{
    struct json *managed = managed_of(a, apply, live), *wanted = own_half(a, apply, config);
    struct json *is = live ? json_clone(a, live) : json_new_object(a), *next, *fields;
    const struct field_view view = field_view_of_kind(apply->kind);
    const struct fields_part part = part_of(apply, false);
    const struct json *had;
    int rc;

    fill_keys(a, &view, wanted);
    fields = fields_of(a, &part, wanted);

    if (arena_failed(a))
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    if (!managed)
        return too_long(err);
    rc = check_others(a, apply, fields, (struct states){wanted, is, last_applied(a, apply, is)},
                      managed, apply->force, err);
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
    if (json_len(managed) > MANAGED_LIMIT)
        return err_set(err, ERR_BAD_REQUEST, "an object can have at most %u field managers",
                       MANAGED_LIMIT);
    if (!managed_fits(managed))
        return too_long(err);
    renew_last_applied(a, apply, config, next);
    *ret_next = next;
    *ret_managed = managed;
    return arena_failed(a) ? err_set(err, ERR_UNAVAILABLE, "out of memory") : 0;
}
