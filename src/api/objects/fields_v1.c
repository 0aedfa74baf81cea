/* fields_v1.c - see fields_v1.h. */
#include "api/objects/fields_v1.h"

#include <string.h>

#include "api/schema/field_view.h"
#include "base/map.h"

#define KEY_TEXT_LIMIT 8192u
#define MEMBERS_LIMIT 4096u
#define FEW_ELEMENTS 32u /* are compared pairwise rather than by a map */

/* --- elements of lists ------------------------------------------------------------------------ */

static void write_keys(struct buf *out, const char *const *keys, size_t keys_len,
                       const struct json *item)
{
    bool first = true;

    buf_addc(out, '{');
    for (size_t i = 0; i < keys_len; i++) {
        const struct json *v = json_get(item, keys[i]);

        if (!v)
            continue;
        if (!first)
            buf_addc(out, ',');
        first = false;
        json_write_string(out, keys[i], strlen(keys[i]));
        buf_addc(out, ':');
        json_write(out, v);
    }
    buf_addc(out, '}');
}

static bool same_keys(const char *const *keys, size_t keys_len, const struct json *a,
                      const struct json *b)
{
    for (size_t i = 0; i < keys_len; i++)
        if (!json_equal(json_get(a, keys[i]), json_get(b, keys[i])))
            return false;
    return true;
}

static bool is_repeated(const char *const *keys, size_t keys_len, const struct json *list)
{
    json_each (item, list)
        json_each (before, list) {
            if (before == item)
                break;
            if (same_keys(keys, keys_len, before, item))
                return true;
        }
    return false;
}

static bool is_repeated_among_many(const char *const *keys, size_t keys_len,
                                   const struct json *list)
{
    struct map seen = MAP_INIT;
    struct buf text = BUF_INIT(KEY_TEXT_LIMIT);
    bool repeated = false;

    json_each (item, list) {
        buf_clear(&text);
        write_keys(&text, keys, keys_len, item);
        if (text.failed || map_get(&seen, text.data, text.len) ||
            map_put(&seen, text.data, text.len, &seen, NULL) < 0) {
            repeated = true;
            break;
        }
    }
    buf_release(&text);
    map_release(&seen, NULL);
    return repeated;
}

bool fields_v1_is_keyed(const struct field_view *view, const struct json *list)
{
    const char *keys[FIELD_VIEW_KEYS];
    size_t keys_len = field_view_keys(view, keys);

    if (!keys_len || json_len(list) == 0 || json_len(list) > FIELDS_LIST_LIMIT)
        return false;
    json_each (item, list) {
        const struct json *first = json_get(item, keys[0]);

        if (json_is_null(first) || first->type >= JSON_ARRAY)
            return false;
    }
    return json_len(list) > FEW_ELEMENTS ? !is_repeated_among_many(keys, keys_len, list)
                                         : !is_repeated(keys, keys_len, list);
}

static bool is_plain_set(const struct field_view *view, const struct json *list)
{
    if (!field_view_is_set(view) || json_len(list) > FIELDS_LIST_LIMIT)
        return false;
    json_each (item, list)
        if (item->type >= JSON_ARRAY)
            return false;
    return true;
}

/* An object that is one field: by its schema, or because of its size. */
static bool is_whole(const struct field_view *view, const struct json *object)
{
    return field_view_is_atomic(view) || json_len(object) > MEMBERS_LIMIT;
}

/* Of a member or element. Scalars have no view: there is nothing below them to know. */
static struct field_view view_below(const struct field_view *view, const struct json *m)
{
    if (m->type < JSON_ARRAY)
        return (struct field_view){.type = FIELD_ANY};
    return m->key ? field_view_member(view, m->key, m->key_len) : field_view_item(view);
}

/* --- which values are fields ------------------------------------------------------------------ */

static bool is_identity(const char *key)
{
    static const char *const names[] = {"name",
                                        "namespace",
                                        "generateName",
                                        "uid",
                                        "resourceVersion",
                                        "generation",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "managedFields",
                                        "selfLink"};

    for (size_t i = 0; i < ELEMS(names); i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return false;
}

enum place { ROOT, METADATA, INSIDE };

static bool is_field(enum place place, const struct json *m)
{
    if (place == ROOT)
        return strcmp(m->key, "apiVersion") != 0 && strcmp(m->key, "kind") != 0;
    return place != METADATA || !is_identity(m->key);
}

static enum place place_below(enum place place, const struct json *m)
{
    return place == ROOT && strcmp(m->key, "metadata") == 0 ? METADATA : INSIDE;
}

typedef void field_fn(void *arg, struct json *field);

static void each_below(struct json *v, enum place place, field_fn *fn, void *arg)
{
    for (struct json *m = json_first_mut(v); m; m = m->next) {
        if (!is_field(place, m))
            continue;
        fn(arg, m);
        if (m->type >= JSON_ARRAY)
            each_below(m, place_below(place, m), fn, arg);
    }
}

static void each_field(struct json *object, field_fn *fn, void *arg)
{
    each_below(object, ROOT, fn, arg);
}

static void add_owners(void *arg, struct json *field)
{
    *(uint16_t *)arg |= field->owners;
}

uint16_t fields_owners(struct json *object)
{
    uint16_t all = 0;

    each_field(object, add_owners, &all);
    return all;
}

static void map_owners(void *arg, struct json *field)
{
    const uint16_t *to = arg;
    unsigned all = 0;

    for (unsigned rest = field->owners; rest; rest &= rest - 1)
        all |= to[__builtin_ctz(rest)];
    field->owners = (uint16_t)all;
}

void fields_map_owners(struct json *object, uint16_t to[FIELDS_OWNERS])
{
    each_field(object, map_owners, to);
}

static void disown(void *arg, struct json *field)
{
    (void)arg;
    field->owners = 0;
}

void fields_disown(struct json *object)
{
    each_field(object, disown, NULL);
}

/* --- what a write sets ------------------------------------------------------------------------ */

/* Kubernetes' own objects always have these. */
static bool is_always_there(const struct field_view *view)
{
    return view->field && view->field->flags & FIELD_REQUIRED;
}

struct mark {
    struct arena *arena;
    uint16_t owner;
    bool nodes, active; /* active: within the part that is written */
    bool any;
};

static void mark_node(struct mark *mark, const struct field_view *view, struct json *v, bool keyed);

/* False: there are none. */
static bool mark_children(struct mark *mark, const struct field_view *view, struct json *v)
{
    bool keyed = json_is(v, JSON_ARRAY) && fields_v1_is_keyed(view, v);

    if (json_is(v, JSON_OBJECT) ? is_whole(view, v) : !keyed && !is_plain_set(view, v))
        return false;
    for (struct json *m = json_first_mut(v); m; m = m->next) {
        const struct field_view below = view_below(view, m);

        mark_node(mark, &below, m, keyed);
    }
    return json_len(v) > 0;
}

static void mark_node(struct mark *mark, const struct field_view *view, struct json *v, bool keyed)
{
    if (v->type < JSON_ARRAY || !mark_children(mark, view, v) || keyed ||
        (mark->nodes && !is_always_there(view)))
        v->owners = mark->owner;
    mark->any = true;
}

static bool is_of_part(const struct fields_part *part, const struct json *m)
{
    bool is_status = strcmp(m->key, "status") == 0;

    if (!part->kind->has_status || is_status == part->status)
        return true;
    return !part->status && strcmp(m->key, "metadata") == 0;
}

/* In built-in kinds the spec is not a field of its own. */
static void mark_part(struct mark *mark, const struct fields_part *part,
                      const struct field_view *view, struct json *m)
{
    bool below;

    if (!json_is(m, JSON_OBJECT)) {
        mark_node(mark, view, m, false);
        return;
    }
    below = mark_children(mark, view, m);
    if (part->nodes ? part->kind->custom || view->type != FIELD_OBJECT : !below)
        m->owners = mark->owner;
}

void fields_mark(const struct fields_part *part, struct json *object, uint16_t owner)
{
    struct mark mark = {.owner = owner, .nodes = part->nodes, .active = true};
    const struct field_view view = field_view_of_kind(part->kind);

    fields_disown(object);
    for (struct json *m = json_first_mut(object); m; m = m->next) {
        const struct field_view below = field_view_member(&view, m->key, m->key_len);
        enum place place = place_below(ROOT, m);

        if (!is_field(ROOT, m) || !is_of_part(part, m))
            continue;
        if (place != METADATA)
            mark_part(&mark, part, &below, m);
        for (struct json *n = place == METADATA ? json_first_mut(m) : NULL; n; n = n->next) {
            const struct field_view inner = view_below(&below, n);

            if (is_field(METADATA, n))
                mark_node(&mark, &inner, n, false);
        }
    }
}

/* --- what a write changes --------------------------------------------------------------------- */

static const struct json *same_element(const char *const *keys, size_t keys_len,
                                       const struct json *list, const struct json **at,
                                       const struct json *item)
{
    const struct json *found = *at;

    if (!found || !(keys_len ? same_keys(keys, keys_len, found, item) : json_equal(found, item)))
        for (found = json_first(list); found; found = found->next)
            if (keys_len ? same_keys(keys, keys_len, found, item) : json_equal(found, item))
                break;
    if (found)
        *at = found->next;
    return found;
}

static bool are_elements(const struct field_view *view, const struct json *was,
                         const struct json *is)
{
    if (!json_is(was, JSON_ARRAY) || !json_is(is, JSON_ARRAY))
        return false;
    return (fields_v1_is_keyed(view, was) && fields_v1_is_keyed(view, is)) ||
           (json_len(was) && json_len(is) && is_plain_set(view, was) && is_plain_set(view, is));
}

static void follow_node(struct mark *mark, const struct field_view *view, const struct json *was,
                        struct json *is, bool keyed, enum place place);

static void follow_children(struct mark *mark, const struct field_view *view,
                            const struct json *was, struct json *is, enum place place)
{
    struct json_finder members = json_finder_over(mark->arena, was);
    const struct json *at = json_first(was);
    const char *keys[FIELD_VIEW_KEYS];
    bool is_list = json_is(is, JSON_ARRAY);
    size_t keys_len = is_list ? field_view_keys(view, keys) : 0;

    for (struct json *m = json_first_mut(is); m; m = m->next) {
        const struct field_view below = view_below(view, m);
        const struct json *before = is_list ? same_element(keys, keys_len, was, &at, m)
                                            : json_finder_get(&members, m->key, m->key_len);

        if (is_field(place, m))
            follow_node(mark, &below, before, m, keys_len, place_below(place, m));
    }
}

static void follow_node(struct mark *mark, const struct field_view *view, const struct json *was,
                        struct json *is, bool keyed, enum place place)
{
    bool objects = json_is(was, JSON_OBJECT) && json_is(is, JSON_OBJECT) && !is_whole(view, was) &&
                   !is_whole(view, is);

    if (objects || are_elements(view, was, is)) {
        is->owners = was->owners;
        follow_children(mark, view, was, is, place);
    } else if (was && (!mark->active || json_equal(was, is))) {
        is->owners = was->owners;
    } else if (mark->active) {
        mark_node(mark, view, is, keyed);
    }
}

bool fields_follow(struct arena *a, const struct fields_part *part, const struct json *was,
                   struct json *is, uint16_t owner)
{
    struct mark mark = {.arena = a, .owner = owner, .nodes = true};
    const struct field_view view = field_view_of_kind(part->kind);

    fields_disown(is);
    for (struct json *m = json_first_mut(is); m; m = m->next) {
        const struct field_view below = field_view_member(&view, m->key, m->key_len);

        mark.active = is_of_part(part, m);
        if (is_field(ROOT, m))
            follow_node(&mark, &below, json_get(was, m->key), m, false, place_below(ROOT, m));
    }
    return mark.any;
}

/* --- FieldsV1 --------------------------------------------------------------------------------- */

/* One step down: a member, or an element of a list. */
static void add_step(struct buf *out, const struct json *v, const char *const *keys,
                     size_t keys_len)
{
    struct buf text = BUF_INIT(KEY_TEXT_LIMIT);
    size_t colon;

    if (out->len && out->data[out->len - 1] != '{')
        buf_addc(out, ',');
    buf_adds(out, v->key ? "\"f" : keys_len ? "\"k" : "\"v");
    colon = out->len;
    if (v->key) {
        json_write_string(out, v->key, v->key_len);
    } else {
        if (keys_len)
            write_keys(&text, keys, keys_len, v);
        else
            json_write(&text, v);
        out->failed |= text.failed;
        json_write_string(out, text.data ? text.data : "", text.len);
        buf_release(&text);
    }
    if (!out->failed)
        out->data[colon] = ':'; /* in place of the quotation mark */
    buf_adds(out, ":{");
}

static void cut(struct buf *out, size_t len)
{
    if (out->failed || !out->data)
        return;
    out->len = len;
    out->data[len] = '\0';
}

struct show {
    struct buf *out;
    uint16_t owner;
};

static void show_children(const struct show *show, const struct field_view *view,
                          const struct json *v, enum place place);

static void show_node(const struct show *show, const struct field_view *view, const struct json *v,
                      const char *const *keys, size_t keys_len, enum place place)
{
    struct buf *out = show->out;
    size_t before = out->len, inside, begun;
    bool owned = v->owners & show->owner;

    if (v->type < JSON_ARRAY && !owned)
        return;
    add_step(out, v, keys, keys_len);
    inside = begun = out->len;
    if (v->type >= JSON_ARRAY && owned) {
        buf_adds(out, "\".\":{}");
        begun = out->len;
    }
    if (v->type >= JSON_ARRAY)
        show_children(show, view, v, place);
    if (out->len == begun && !keys_len)
        cut(out, inside);
    if (out->len == inside && !owned)
        cut(out, before);
    else
        buf_addc(out, '}');
}

static bool has_owner(const struct json *v, uint16_t owner)
{
    if (v->owners & owner)
        return true;
    json_each (m, v)
        if (has_owner(m, owner))
            return true;
    return false;
}

static void show_children(const struct show *show, const struct field_view *view,
                          const struct json *v, enum place place)
{
    const char *keys[FIELD_VIEW_KEYS];
    bool is_list = json_is(v, JSON_ARRAY);
    size_t keys_len = is_list ? field_view_keys(view, keys) : 0;

    json_each (m, v) {
        struct field_view below;

        /* Objects in a list whose elements no longer have keys cannot be named. */
        if ((is_list && !keys_len && m->type >= JSON_ARRAY) || !is_field(place, m) ||
            (m->type >= JSON_ARRAY && !has_owner(m, show->owner)))
            continue;
        below = view_below(view, m);
        show_node(show, &below, m, keys, keys_len, place_below(place, m));
    }
}

void fields_show(struct buf *out, const struct kind *k, const struct json *object, uint16_t owner)
{
    const struct field_view view = field_view_of_kind(k);

    buf_addc(out, '{');
    show_children(&(struct show){.out = out, .owner = owner}, &view, object, ROOT);
    buf_addc(out, '}');
}

static void match_node(struct arena *a, const struct field_view *view, struct json *v,
                       const struct json *tree, uint16_t owner, enum place place)
{
    struct buf key = BUF_INIT(KEY_TEXT_LIMIT);
    struct json_finder nodes = json_finder_over(a, tree);
    const char *keys[FIELD_VIEW_KEYS];
    bool is_list = json_is(v, JSON_ARRAY);
    size_t keys_len = is_list ? field_view_keys(view, keys) : 0;

    for (struct json *m = json_len(tree) ? json_first_mut(v) : NULL; m; m = m->next) {
        const struct json *node;

        if (!is_field(place, m))
            continue;
        buf_clear(&key);
        buf_adds(&key, !is_list ? "f:" : keys_len ? "k:" : "v:");
        if (!is_list)
            buf_add(&key, m->key, m->key_len);
        else if (keys_len)
            write_keys(&key, keys, keys_len, m);
        else
            json_write(&key, m);
        node = key.failed ? NULL : json_finder_get(&nodes, key.data, key.len);
        if (node) {
            const struct field_view below = view_below(view, m);

            if (fields_v1_is_leaf(node) || json_get(node, "."))
                m->owners |= owner;
            match_node(a, &below, m, node, owner, place_below(place, m));
        }
    }
    buf_release(&key);
}

void fields_match(struct arena *a, const struct kind *k, struct json *object,
                  const struct json *tree, uint16_t owner)
{
    const struct field_view view = field_view_of_kind(k);

    match_node(a, &view, object, tree, owner, ROOT);
}

bool fields_is_tree(const struct json *v)
{
    if (!json_is(v, JSON_OBJECT))
        return false;
    json_each (node, v)
        if ((strcmp(node->key, ".") != 0 &&
             (node->key_len < 2 || node->key[1] != ':' || !strchr("fkvi", node->key[0]))) ||
            !fields_is_tree(node))
            return false;
    return true;
}

/* --- stored: lengths of runs of fields that are not in the set, then that are ------------------
 */

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
#define DIGIT_BITS 5u /* and one for "more follow" */

struct runs {
    struct buf *out;
    uint16_t owner;
    bool owned;
    size_t len;
};

static void end_run(struct runs *r)
{
    size_t rest = r->len;

    for (; rest >> DIGIT_BITS; rest >>= DIGIT_BITS)
        buf_addc(r->out, digits[(rest & 31) | 32]);
    buf_addc(r->out, digits[rest]);
    r->len = 0;
    r->owned = !r->owned;
}

static void count_field(void *arg, struct json *field)
{
    struct runs *r = arg;

    if (((field->owners & r->owner) != 0) != r->owned)
        end_run(r);
    r->len++;
}

void fields_store(struct buf *out, struct json *object, uint16_t owner)
{
    struct runs r = {.out = out, .owner = owner};

    each_field(object, count_field, &r);
    if (r.owned)
        end_run(&r);
}

struct run_reader {
    const char *at, *end;
    uint16_t owner;
    bool owned;
    size_t left;
};

static void begin_run(struct run_reader *r)
{
    const char *digit;
    unsigned shift = 0;

    r->owned = !r->owned;
    r->left = SIZE_MAX; /* nothing after the last run is in the set */
    if (r->at == r->end) {
        r->owned = false;
        return;
    }
    r->left = 0;
    do {
        digit = strchr(digits, *r->at++);
        if (!digit || shift > 30) {
            r->at = r->end;
            return;
        }
        r->left |= (size_t)((digit - digits) & 31) << shift;
        shift += DIGIT_BITS;
    } while ((digit - digits) & 32 && r->at < r->end);
}

static void load_field(void *arg, struct json *field)
{
    struct run_reader *r = arg;

    while (!r->left)
        begin_run(r);
    if (r->owned)
        field->owners |= r->owner;
    r->left--;
}

void fields_load(struct json *object, const char *text, size_t len, uint16_t owner)
{
    struct run_reader r = {.at = text, .end = text + len, .owner = owner, .owned = true};

    each_field(object, load_field, &r);
}

/* --- trees and values ------------------------------------------------------------------------- */

static bool has_keys(const struct json *item, const struct json *keys)
{
    if (!json_is(item, JSON_OBJECT))
        return false;
    json_each (k, keys)
        if (!json_get(item, k->key) || !json_equal(json_get(item, k->key), k))
            return false;
    return true;
}

struct fields_v1_children fields_v1_children(struct arena *a, struct json *v)
{
    return (struct fields_v1_children){.members = json_finder_of(a, v),
                                       .list = json_is(v, JSON_ARRAY) ? v : NULL};
}

/* What tells an element apart: the values of those keys; of a set, the whole. */
static void write_element(struct buf *out, const struct json *keys, const struct json *item)
{
    buf_clear(out);
    if (!json_is(keys, JSON_OBJECT))
        json_write(out, item);
    json_each (k, keys) {
        buf_addc(out, ',');
        json_write(out, json_get(item, k->key));
    }
}

static void index_elements(struct fields_v1_children *c, const struct json *keys)
{
    struct buf text = BUF_INIT(KEY_TEXT_LIMIT);

    for (struct json *item = json_first_mut(c->list); item; item = item->next) {
        write_element(&text, keys, item);
        if (!text.failed && !map_get(&c->elements, text.data, text.len) &&
            map_put(&c->elements, text.data, text.len, item, NULL) < 0)
            break;
    }
    c->keys = keys;
    buf_release(&text);
}

static struct json *indexed_element(const struct fields_v1_children *c, const struct json *wanted)
{
    struct buf text = BUF_INIT(KEY_TEXT_LIMIT);
    struct json *found;

    write_element(&text, c->keys, wanted);
    found = text.failed ? NULL : map_get(&c->elements, text.data, text.len);
    buf_release(&text);
    return found;
}

struct json *fields_v1_child(struct fields_v1_children *c, const struct json *node)
{
    const char *key = node->key;
    bool keyed = key[0] == 'k';
    struct json *wanted, *item;

    if (strncmp(key, "f:", 2) == 0)
        return json_finder_get(&c->members, key + 2, node->key_len - 2);
    if (!c->list || (strncmp(key, "k:", 2) != 0 && strncmp(key, "v:", 2) != 0))
        return NULL;
    wanted = json_parse(c->members.arena, key + 2, node->key_len - 2, NULL);
    if (!wanted || (keyed && !json_is(wanted, JSON_OBJECT)))
        return NULL;
    if (!c->keys && json_len(c->list) > FEW_ELEMENTS)
        index_elements(c, wanted);
    item = c->keys ? indexed_element(c, wanted) : NULL;
    if (item && (keyed ? has_keys(item, wanted) : json_equal(item, wanted)))
        return item;
    if (c->keys && json_len(c->keys) == json_len(wanted))
        return NULL;
    for (item = json_first_mut(c->list); item; item = item->next)
        if (keyed ? has_keys(item, wanted) : json_equal(item, wanted))
            return item;
    return NULL;
}

void fields_v1_drop(struct fields_v1_children *c, struct json *child)
{
    if (c->list)
        json_remove_item(c->list, child);
    else
        json_finder_drop(&c->members, child);
}

void fields_v1_end(struct fields_v1_children *c)
{
    json_finder_end(&c->members);
    map_release(&c->elements, NULL);
}

void fields_v1_write_step(struct arena *a, const char *key, struct buf *out)
{
    const struct json *keys;

    if (strncmp(key, "f:", 2) == 0) {
        buf_addf(out, ".%s", key + 2);
    } else if (strncmp(key, "k:", 2) == 0) {
        keys = json_parse(a, key + 2, strlen(key + 2), NULL);
        buf_addc(out, '[');
        json_each (k, keys) {
            buf_addf(out, "%s%s=", k == json_first(keys) ? "" : ",", k->key);
            json_write(out, k);
        }
        buf_addc(out, ']');
    } else if (strncmp(key, "v:", 2) == 0) {
        buf_addf(out, "[=%s]", key + 2);
    }
}
