/*
 * patch_strategic.c - strategic merge patch: a merge patch that also merges lists, by the keys in
 * the kinds' tables, with directives for what merging cannot express.
 *
 * Works in place on a copy of the target. Lists whose elements have no key are replaced whole.
 */
#include <string.h>

#include "api/patch.h"
#include "api/problem.h"
#include "api/schema/field_view.h"
#include "base/json_finder.h"

#define MERGED_LIST_LIMIT 8192u              /* elements; merging is quadratic */
#define MERGE_COMPARISONS_LIMIT (128u << 20) /* of a whole patch */
#define NOWHERE SIZE_MAX

#define ORDER_PREFIX "$setElementOrder/"
#define DELETE_PREFIX "$deleteFromPrimitiveList/"

struct merger {
    struct arena *arena;
    struct err *err;
    bool all_keys; /* elements are identified by all keys (server-side apply) */
    size_t *compared;
};

static int merge_object(const struct merger *m, const struct field_view *view, struct json *target,
                        const struct json *patch, const struct field_path *at);

static int refuse(const struct merger *m, const struct field_path *at, const char *text)
{
    struct buf path = BUF_INIT(PATH_TEXT_LIMIT * 2);
    int rc;

    if (at)
        field_path_write(&path, at);
    rc = err_set(m->err, ERR_BAD_REQUEST, "strategic merge patch, %s: %s",
                 path.len ? path.data : "the object", text);
    buf_release(&path);
    return rc;
}

static int count_comparisons(const struct merger *m, size_t elements, const struct field_path *at)
{
    *m->compared += elements * elements;
    if (elements > MERGED_LIST_LIMIT || *m->compared > MERGE_COMPARISONS_LIMIT)
        return refuse(m, at, "the list is too long to be merged");
    return 0;
}

static bool has_prefix(const struct json *member, const char *prefix)
{
    return strncmp(member->key, prefix, strlen(prefix)) == 0;
}

static bool is_directive(const struct json *member)
{
    return member->key[0] == '$' &&
           (strcmp(member->key, "$patch") == 0 || strcmp(member->key, "$retainKeys") == 0 ||
            has_prefix(member, ORDER_PREFIX) || has_prefix(member, DELETE_PREFIX));
}

/* --- members a patch sets ------------------------------------------------------------------- */

static bool is_special_element(const struct json *v)
{
    const struct json *directive = json_get(v, "$patch");

    return json_string_is(directive, "delete") || json_string_is(directive, "replace");
}

/* Under the name of m, which no member has yet. */
static void add_member(struct arena *a, struct json *object, const struct json *m,
                       struct json *value)
{
    const char *key = arena_strndup(a, m->key, m->key_len);

    if (!value || !key)
        return; /* the arena failed: detected at the end */
    value->key = key;
    value->key_len = m->key_len;
    json_append(object, value);
}

struct json *patch_strategic_members(struct arena *a, const struct json *patch)
{
    struct json *copy;

    if (!json_is(patch, JSON_OBJECT) && !json_is(patch, JSON_ARRAY))
        return json_clone(a, patch);
    copy = json_is(patch, JSON_OBJECT) ? json_new_object(a) : json_new_array(a);
    json_each (m, patch) {
        if (json_is(patch, JSON_ARRAY) && !is_special_element(m))
            json_append(copy, patch_strategic_members(a, m));
        else if (json_is(patch, JSON_OBJECT) && !is_directive(m))
            add_member(a, copy, m, patch_strategic_members(a, m));
    }
    if (copy)
        copy->line = patch->line;
    return copy;
}

/* --- merged lists --------------------------------------------------------------------------- */

struct item {
    struct json *value;
    const struct json *key; /* the value itself in a set */
    size_t server;          /* position in the target's list, or NOWHERE */
    size_t order;           /* position in the order the patch gives, or NOWHERE */
};

struct items {
    struct item *all;
    size_t count;
    const char *keys[FIELD_VIEW_KEYS];
    size_t keys_len; /* 0: a set of scalars */
};

static const struct json *key_of(const struct items *items, const struct json *v)
{
    return items->keys_len ? json_get(v, items->keys[0]) : v;
}

static void add_item(struct items *items, struct json *value, size_t server)
{
    if (value)
        items->all[items->count++] = (struct item){
            .value = value, .key = key_of(items, value), .server = server, .order = NOWHERE};
}

static bool same_other_keys(const struct items *items, const struct json *a, const struct json *b)
{
    for (size_t i = 1; i < items->keys_len; i++)
        if (!json_equal(json_get(a, items->keys[i]), json_get(b, items->keys[i])))
            return false;
    return true;
}

static struct item *find_item(const struct items *items, const struct json *element)
{
    const struct json *key = key_of(items, element);

    for (size_t i = 0; i < items->count; i++)
        if (items->all[i].key && json_equal(items->all[i].key, key) &&
            same_other_keys(items, items->all[i].value, element))
            return &items->all[i];
    return NULL;
}

static void drop_item(struct items *items, const struct item *item)
{
    size_t i = (size_t)(item - items->all);

    memmove(&items->all[i], &items->all[i + 1], (items->count - i - 1) * sizeof(*item));
    items->count--;
}

static int merge_element(const struct merger *m, const struct field_view *view, struct items *items,
                         const struct json *element, const struct field_path *at)
{
    const struct field_view below = field_view_item(view);
    const struct json *key = key_of(items, element);
    struct item *found;
    struct json *value;
    int rc;

    if (json_is_null(key))
        return refuse(m, at,
                      arena_printf(m->arena, "the element has no %s, by which the list is merged",
                                   items->keys_len ? items->keys[0] : "value"));
    found = find_item(items, element);
    if (json_string_is(json_get(element, "$patch"), "delete")) {
        for (; found; found = find_item(items, element))
            drop_item(items, found);
        return 0;
    }
    if (!items->keys_len) {
        if (!found)
            add_item(items, json_clone(m->arena, element), NOWHERE);
        return 0;
    }
    value = found ? found->value : json_new_object(m->arena);
    rc = value ? merge_object(m, &below, value, element, at) : 0;
    if (!found)
        add_item(items, value, NOWHERE);
    else
        found->key = key_of(items, value);
    return rc;
}

/* A list with $patch: replace becomes the patch's other elements. */
static void replace_list(const struct merger *m, struct json *target, const struct json *patch)
{
    target->u.list.first = target->u.list.last = NULL;
    target->len = 0;
    json_each (element, patch)
        if (!is_special_element(element))
            json_append(target, patch_strategic_members(m->arena, element));
}

static int merge_elements(const struct merger *m, const struct field_view *view,
                          struct items *items, const struct json *patch,
                          const struct field_path *at)
{
    size_t i = 0;
    int rc = 0;

    json_each (element, patch) {
        const struct field_path *here = PATH_INDEX(at, i++);

        if (json_is(element, JSON_OBJECT) != (items->keys_len > 0) || json_is(element, JSON_ARRAY))
            rc = refuse(m, here,
                        items->keys_len ? "the element must be an object"
                                        : "the element must be a plain value");
        else
            rc = merge_element(m, view, items, element, here);
        if (rc < 0)
            break;
    }
    return rc;
}

/* --- the order of a merged list ------------------------------------------------------------- */

/* Gives each item its position in the patch's order. */
static void number_items(struct items *items, const struct json *order)
{
    size_t n = 0;

    json_each (element, order) {
        const struct json *key = key_of(items, element);
        struct item *found = json_is_null(key) ? NULL : find_item(items, element);

        if (found && found->order == NOWHERE)
            found->order = n;
        n++;
    }
}

static const struct item *next_ordered(const struct items *items, size_t from)
{
    const struct item *best = NULL;

    for (size_t i = 0; i < items->count; i++)
        if (items->all[i].order != NOWHERE && items->all[i].order >= from &&
            (!best || items->all[i].order < best->order))
            best = &items->all[i];
    return best;
}

static const struct item *next_other(const struct items *items, const struct item *after)
{
    const struct item *item = after ? after + 1 : items->all;

    for (; item < items->all + items->count; item++)
        if (item->order == NOWHERE)
            return item;
    return NULL;
}

/* Items named by the patch come in its order, the others in the target's; between the two groups
 * the target's order decides, and new items come last. */
static void relink(const struct items *items, struct json *target)
{
    const struct item *named = next_ordered(items, 0), *other = next_other(items, NULL);

    target->u.list.first = target->u.list.last = NULL;
    target->len = 0;
    while (named || other) {
        bool take_other = other && (!named || named->server == NOWHERE ||
                                    other->server == NOWHERE || other->server < named->server);

        json_append(target, take_other ? other->value : named->value);
        if (take_other)
            other = next_other(items, other);
        else
            named = next_ordered(items, named->order + 1);
    }
}

/* With patch NULL only the order changes. */
static int merge_list(const struct merger *m, const struct field_view *view, struct json *target,
                      const struct json *patch, const struct json *order,
                      const struct field_path *at)
{
    size_t room = json_len(target) + json_len(patch), place = 0;
    struct items items = {.keys_len = 0};
    struct json *next;
    int rc;

    items.keys_len = field_view_keys(view, items.keys);
    if (!m->all_keys)
        items.keys_len = min_size(items.keys_len, 1);
    if (json_find(patch, "$patch", "replace")) {
        replace_list(m, target, patch);
        return 0;
    }
    rc = count_comparisons(m, room + json_len(order), at);
    if (rc < 0)
        return rc;
    items.all = arena_alloc(m->arena, (room + 1) * sizeof(*items.all));
    if (!items.all)
        return 0; /* the arena failed: detected at the end */
    for (struct json *v = json_first_mut(target); v; v = next) {
        next = v->next;
        add_item(&items, v, place++);
    }
    rc = merge_elements(m, view, &items, patch, at);
    if (rc < 0)
        return rc;
    number_items(&items, order ? order : patch);
    relink(&items, target);
    return 0;
}

/* --- objects -------------------------------------------------------------------------------- */

static bool has_value(const struct json *list, const struct json *v)
{
    json_each (item, list)
        if (json_equal(item, v))
            return true;
    return false;
}

static int delete_values(const struct merger *m, struct json_finder *target,
                         const struct json *directive, const struct field_path *at)
{
    const char *name = directive->key + strlen(DELETE_PREFIX);
    struct json *list = json_finder_get(target, name, strlen(name)), *next;
    int rc;

    if (!json_is(directive, JSON_ARRAY))
        return refuse(m, PATH_MEMBER(at, directive->key), "must be a list of values");
    if (!json_is(list, JSON_ARRAY))
        return 0;
    rc = count_comparisons(m, json_len(list) + json_len(directive),
                           PATH_MEMBER(at, directive->key));
    if (rc < 0)
        return rc;
    for (struct json *v = json_first_mut(list); v; v = next) {
        next = v->next;
        if (has_value(directive, v))
            json_remove_item(list, v);
    }
    return 0;
}

static int retain_keys(const struct merger *m, struct json_finder *target, const struct json *patch,
                       const struct field_path *at)
{
    const struct json *keys = json_get(patch, "$retainKeys");
    struct json_finder named;

    if (!keys)
        return 0;
    if (!json_is(keys, JSON_ARRAY))
        return refuse(m, PATH_MEMBER(at, "$retainKeys"), "must be a list of names");
    named = json_finder_of(m->arena, json_new_object(m->arena));
    json_each (key, keys)
        if (json_is(key, JSON_STRING))
            json_finder_set(&named, key->u.text, key->len, json_new_null(m->arena));
    json_each (p, patch)
        if (!is_directive(p) && !json_is(p, JSON_NULL) &&
            !json_finder_get(&named, p->key, p->key_len))
            return refuse(m, PATH_MEMBER(at, p->key), "is set, but not named in $retainKeys");
    for (struct json *v = json_first_mut(target->object); v; v = v->next)
        if (!json_finder_get(&named, v->key, v->key_len))
            json_finder_drop(target, v);
    return 0;
}

/* An object's $patch. *ret_done: there is nothing left to merge. */
static int whole_object(const struct merger *m, struct json *target, const struct json *patch,
                        const struct field_path *at, bool *ret_done)
{
    const struct json *directive = json_get(patch, "$patch");

    *ret_done = false;
    if (!directive || json_string_is(directive, "merge"))
        return 0;
    if (!json_string_is(directive, "replace") && !json_string_is(directive, "delete"))
        return refuse(m, PATH_MEMBER(at, "$patch"), "must be merge, replace or delete");
    target->u.list.first = target->u.list.last = NULL;
    target->len = 0;
    *ret_done = json_string_is(directive, "delete");
    return 0;
}

static bool is_merged_list(const struct field_view *view)
{
    const char *keys[FIELD_VIEW_KEYS];

    return field_view_keys(view, keys) || field_view_is_set(view);
}

static int merge_member(const struct merger *m, const struct field_view *view,
                        struct json_finder *target, struct json_finder *patch, const struct json *p,
                        const struct field_path *at)
{
    const struct field_view below = field_view_member(view, p->key, p->key_len);

    if (json_is(p, JSON_NULL)) {
        json_finder_drop(target, json_finder_get(target, p->key, p->key_len));
    } else if (json_is(p, JSON_OBJECT)) {
        struct json *under = json_finder_make_object(target, p->key, p->key_len);

        return under ? merge_object(m, &below, under, p, PATH_MEMBER(at, p->key)) : 0;
    } else if (json_is(p, JSON_ARRAY) && is_merged_list(&below)) {
        struct json *list = json_finder_get(target, p->key, p->key_len);
        const char *name = arena_printf(m->arena, ORDER_PREFIX "%s", p->key);

        if (!json_is(list, JSON_ARRAY))
            list = json_finder_set(target, p->key, p->key_len, json_new_array(m->arena));
        return list && name
                   ? merge_list(m, &below, list, p, json_finder_get(patch, name, strlen(name)),
                                PATH_MEMBER(at, p->key))
                   : 0;
    } else {
        json_finder_set(target, p->key, p->key_len, patch_strategic_members(m->arena, p));
    }
    return 0;
}

/* $setElementOrder of a list that the patch does not otherwise change. */
static int order_member(const struct merger *m, const struct field_view *view,
                        struct json_finder *target, struct json_finder *patch,
                        const struct json *directive, const struct field_path *at)
{
    const char *name = directive->key + strlen(ORDER_PREFIX);
    const struct field_view below = field_view_member(view, name, strlen(name));
    struct json *list = json_finder_get(target, name, strlen(name));

    if (!json_is(directive, JSON_ARRAY))
        return refuse(m, PATH_MEMBER(at, directive->key), "must be a list");
    if (json_finder_get(patch, name, strlen(name)) || !json_is(list, JSON_ARRAY) ||
        !is_merged_list(&below))
        return 0;
    return merge_list(m, &below, list, NULL, directive, PATH_MEMBER(at, name));
}

static int merge_object(const struct merger *m, const struct field_view *view, struct json *target,
                        const struct json *patch, const struct field_path *at)
{
    struct json_finder in_patch = json_finder_over(m->arena, patch), in_target;
    bool done;
    int rc = whole_object(m, target, patch, at, &done);

    if (rc < 0 || done)
        return rc;
    in_target = json_finder_of(m->arena, target);
    rc = retain_keys(m, &in_target, patch, at);
    json_finder_end(&in_target);
    json_each (p, patch)
        if (rc == 0 && has_prefix(p, DELETE_PREFIX))
            rc = delete_values(m, &in_target, p, at);
    json_each (p, patch) {
        if (rc < 0 || arena_failed(m->arena))
            break;
        if (!is_directive(p))
            rc = merge_member(m, view, &in_target, &in_patch, p, at);
        else if (has_prefix(p, ORDER_PREFIX))
            rc = order_member(m, view, &in_target, &in_patch, p, at);
    }
    json_finder_end(&in_target);
    return rc;
}

static struct json *merge_whole(const struct merger *m, const struct kind *k,
                                const struct json *target, const struct json *patch)
{
    const struct field_view view = field_view_of_kind(k);
    struct json *result = json_clone(m->arena, target);

    if (!json_is(patch, JSON_OBJECT)) {
        refuse(m, NULL, "the patch must be an object");
        return NULL;
    }
    if (!result || merge_object(m, &view, result, patch, NULL) < 0)
        return NULL;
    return arena_failed(m->arena) ? NULL : result;
}

struct json *patch_strategic(struct arena *a, const struct kind *k, const struct json *target,
                             const struct json *patch, struct err *err)
{
    size_t compared = 0;
    const struct merger m = {.arena = a, .err = err, .compared = &compared};

    return merge_whole(&m, k, target, patch);
}

struct json *patch_by_all_keys(struct arena *a, const struct kind *k, const struct json *target,
                               const struct json *patch, struct err *err)
{
    size_t compared = 0;
    const struct merger m = {.arena = a, .err = err, .all_keys = true, .compared = &compared};

    return merge_whole(&m, k, target, patch);
}
