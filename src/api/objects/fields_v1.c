/* fields_v1.c - see fields_v1.h. */
#include "api/objects/fields_v1.h"

#include <string.h>

#include "api/schema/field_view.h"
#include "base/map.h"

#define KEY_TEXT_LIMIT 8192u
#define MEMBERS_LIMIT 4096u
#define FEW_ELEMENTS 32u /* are compared with each other rather than remembered */

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

/* --- names ------------------------------------------------------------------------------------ */

static bool is_special(unsigned char c)
{
    return c < ' ' || c == 0x7f || strchr("%(),;|'\\", c);
}

static void add_escaped(struct buf *out, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";

    buf_addc(out, '%');
    buf_addc(out, digits[c >> 4]);
    buf_addc(out, digits[c & 15]);
}

static void add_name_text(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"')
            buf_addc(out, '\'');
        else if (is_special(c))
            add_escaped(out, c);
        else
            buf_addc(out, (char)c);
    }
}

static void begin_node(struct buf *out)
{
    if (out->len && out->data[out->len - 1] != '(' && out->data[out->len - 1] != ';')
        buf_addc(out, ',');
}

static void add_member(struct buf *out, const char *name, size_t len)
{
    begin_node(out);
    if (!len) {
        add_escaped(out, 0);
        return;
    }
    if (strchr("!=#.", name[0])) {
        add_escaped(out, (unsigned char)name[0]);
        name++;
        len--;
    }
    add_name_text(out, name, len);
}

/* One step down: a member, or an element of a list. */
struct step {
    const char *name; /* NULL: an element */
    size_t name_len;
    const char *const *keys;
    size_t keys_len; /* 0: of a set */
    const struct json *item;
};

static void add_step(struct buf *out, const struct step *s)
{
    struct buf text = BUF_INIT(KEY_TEXT_LIMIT);

    if (s->name) {
        add_member(out, s->name, s->name_len);
        return;
    }
    begin_node(out);
    buf_addc(out, s->keys_len ? '!' : '=');
    if (s->keys_len)
        write_keys(&text, s->keys, s->keys_len, s->item);
    else
        json_write(&text, s->item);
    if (text.failed)
        out->failed = true;
    else
        add_name_text(out, text.data, text.len);
    buf_release(&text);
}

/* An object that is one field: by its schema, or for its sheer size. */
static bool is_whole(const struct field_view *view, const struct json *object)
{
    return field_view_is_atomic(view) || json_len(object) > MEMBERS_LIMIT;
}

/* --- what a value sets ------------------------------------------------------------------------ */

static void cut(struct buf *out, size_t len)
{
    if (out->failed || !out->data)
        return;
    out->len = len;
    out->data[len] = '\0';
}

struct open_node {
    size_t before, inside;
};

static struct open_node open_node(struct buf *out, const struct step *s)
{
    struct open_node n = {.before = out->len};

    add_step(out, s);
    buf_addc(out, '(');
    n.inside = out->len;
    return n;
}

/* A node nothing is in is a leaf when it is one itself, and else nothing. */
static void close_node(struct buf *out, struct open_node n, bool is_leaf)
{
    if (out->len > n.inside)
        buf_addc(out, ')');
    else
        cut(out, is_leaf ? n.inside - 1 : n.before);
}

static void write_node(struct buf *out, const struct field_view *view, const struct step *s,
                       const struct json *v, bool nodes);

static void write_elements(struct buf *out, const struct field_view *view, const char *const *keys,
                           size_t keys_len, const struct json *list, bool nodes)
{
    const struct field_view below = field_view_item(view);

    json_each (item, list) {
        const struct step s = {.keys = keys, .keys_len = keys_len, .item = item};

        write_node(out, &below, &s, item, nodes);
    }
}

/* Kubernetes' own objects have these from the start: nobody adds them. */
static bool is_always_there(const struct field_view *view)
{
    return view->field && view->field->flags & FIELD_REQUIRED;
}

static void write_children(struct buf *out, const struct field_view *view, const struct json *v,
                           bool nodes)
{
    const char *keys[FIELD_VIEW_KEYS];

    if (json_is(v, JSON_OBJECT) && !is_whole(view, v)) {
        json_each (m, v) {
            const struct field_view below = field_view_member(view, m->key, m->key_len);
            const struct step s = {.name = m->key, .name_len = m->key_len};

            write_node(out, &below, &s, m, nodes);
        }
    } else if (json_is(v, JSON_ARRAY) && fields_v1_is_keyed(view, v)) {
        write_elements(out, view, keys, field_view_keys(view, keys), v, nodes);
    } else if (json_is(v, JSON_ARRAY) && is_plain_set(view, v)) {
        write_elements(out, view, keys, 0, v, nodes);
    }
}

static void write_node(struct buf *out, const struct field_view *view, const struct step *s,
                       const struct json *v, bool nodes)
{
    struct open_node n;
    size_t begun;

    if (v->type < JSON_ARRAY) {
        add_step(out, s);
        return;
    }
    n = open_node(out, s);
    if (s->keys_len || (nodes && !is_always_there(view)))
        buf_addc(out, '.');
    begun = out->len;
    write_children(out, view, v, nodes);
    if (out->len == begun && !s->keys_len)
        cut(out, n.inside);
    close_node(out, n, true);
}

/* --- whole objects ---------------------------------------------------------------------------- */

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

static bool is_of_part(const struct fields_part *part, const char *key)
{
    bool is_status = strcmp(key, "status") == 0;

    if (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0)
        return false;
    if (!part->kind->has_status || is_status == part->status)
        return true;
    return !part->status && strcmp(key, "metadata") == 0;
}

/* A kind of Kubernetes has its spec as a part, not as something that is added. */
static bool has_own_node(const struct fields_part *part, const struct field_view *view)
{
    return part->nodes && (part->kind->custom || view->type != FIELD_OBJECT);
}

static const struct step metadata_step = {.name = "metadata", .name_len = 8};

static void write_part(struct buf *out, const struct fields_part *part,
                       const struct field_view *view, const struct json *m)
{
    const struct field_view below = field_view_member(view, m->key, m->key_len);
    const struct step s = {.name = m->key, .name_len = m->key_len};
    struct open_node n;
    size_t begun;

    if (m->type < JSON_ARRAY || !json_is(m, JSON_OBJECT)) {
        write_node(out, &below, &s, m, part->nodes);
        return;
    }
    n = open_node(out, &s);
    if (has_own_node(part, &below))
        buf_addc(out, '.');
    begun = out->len;
    write_children(out, &below, m, part->nodes);
    if (out->len == begun)
        cut(out, n.inside);
    close_node(out, n, !part->nodes || has_own_node(part, &below));
}

void fields_write(struct buf *out, const struct fields_part *part, const struct json *object)
{
    const struct field_view view = field_view_of_kind(part->kind);
    const struct field_view meta = field_view_member(&view, "metadata", 8);

    json_each (m, object) {
        if (!is_of_part(part, m->key))
            continue;
        if (strcmp(m->key, "metadata") == 0) {
            struct open_node n = open_node(out, &metadata_step);

            json_each (inner, m) {
                const struct field_view below = field_view_member(&meta, inner->key,
                                                                  inner->key_len);
                const struct step s = {.name = inner->key, .name_len = inner->key_len};

                if (!is_identity(inner->key))
                    write_node(out, &below, &s, inner, part->nodes);
            }
            close_node(out, n, false);
        } else {
            write_part(out, part, &view, m);
        }
    }
}

/* --- differences ------------------------------------------------------------------------------ */

struct diff {
    struct buf *changed, *gone;
};

static void diff_node(const struct diff *d, const struct field_view *view, const struct step *s,
                      const struct json *was, const struct json *is);

/* The member of that name; at: where it is when both have the same order. */
static const struct json *partner(const struct json *object, const struct json **at,
                                  const struct json *m)
{
    const struct json *found = *at;

    if (!found || found->key_len != m->key_len || memcmp(found->key, m->key, m->key_len) != 0)
        found = json_get(object, m->key);
    if (found)
        *at = found->next;
    return found;
}

static void diff_members(const struct diff *d, const struct field_view *view,
                         const struct json *was, const struct json *is,
                         bool (*skips)(const char *key))
{
    const struct json *at = json_first(was);

    json_each (m, is) {
        const struct field_view below = field_view_member(view, m->key, m->key_len);
        const struct step s = {.name = m->key, .name_len = m->key_len};
        const struct json *before = partner(was, &at, m);

        if (!skips || !skips(m->key))
            diff_node(d, &below, &s, before, m);
    }
    at = json_first(is);
    json_each (m, was) {
        const struct field_view below = field_view_member(view, m->key, m->key_len);
        const struct step s = {.name = m->key, .name_len = m->key_len};

        if (!partner(is, &at, m) && (!skips || !skips(m->key)))
            diff_node(d, &below, &s, m, NULL);
    }
}

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

static void diff_elements(const struct diff *d, const struct field_view *view,
                          const struct json *was, const struct json *is)
{
    const struct field_view below = field_view_item(view);
    const char *keys[FIELD_VIEW_KEYS];
    size_t keys_len = field_view_keys(view, keys);
    const struct json *at = json_first(was);

    json_each (item, is) {
        const struct step s = {.keys = keys, .keys_len = keys_len, .item = item};

        diff_node(d, &below, &s, same_element(keys, keys_len, was, &at, item), item);
    }
    at = json_first(is);
    json_each (item, was) {
        const struct step s = {.keys = keys, .keys_len = keys_len, .item = item};

        if (!same_element(keys, keys_len, is, &at, item))
            diff_node(d, &below, &s, item, NULL);
    }
}

static bool are_elements(const struct field_view *view, const struct json *was,
                         const struct json *is)
{
    if (!json_is(was, JSON_ARRAY) || !json_is(is, JSON_ARRAY))
        return false;
    return (fields_v1_is_keyed(view, was) && fields_v1_is_keyed(view, is)) ||
           (json_len(was) && json_len(is) && is_plain_set(view, was) && is_plain_set(view, is));
}

static void diff_node(const struct diff *d, const struct field_view *view, const struct step *s,
                      const struct json *was, const struct json *is)
{
    struct open_node changed, gone;
    bool objects = json_is(was, JSON_OBJECT) && json_is(is, JSON_OBJECT) && !is_whole(view, was) &&
                   !is_whole(view, is);

    if (was && is && json_equal(was, is))
        return;
    if (!was || !is || (!objects && !are_elements(view, was, is))) {
        if (is)
            write_node(d->changed, view, s, is, true);
        if (was)
            write_node(d->gone, view, s, was, true);
        return;
    }
    changed = open_node(d->changed, s);
    gone = open_node(d->gone, s);
    if (objects)
        diff_members(d, view, was, is, NULL);
    else
        diff_elements(d, view, was, is);
    close_node(d->changed, changed, false);
    close_node(d->gone, gone, false);
}

void fields_diff(struct buf *changed, struct buf *gone, const struct fields_part *part,
                 const struct json *was, const struct json *is)
{
    const struct field_view view = field_view_of_kind(part->kind);
    const struct diff d = {.changed = changed, .gone = gone};

    json_each (m, is) {
        const struct field_view below = field_view_member(&view, m->key, m->key_len);
        const struct step s = {.name = m->key, .name_len = m->key_len};
        const struct json *before = json_get(was, m->key);
        struct open_node in, out;

        if (!is_of_part(part, m->key))
            continue;
        if (strcmp(m->key, "metadata") != 0) {
            diff_node(&d, &below, &s, before, m);
            continue;
        }
        in = open_node(changed, &s);
        out = open_node(gone, &s);
        diff_members(&d, &below, before, m, is_identity);
        close_node(changed, in, false);
        close_node(gone, out, false);
    }
    json_each (m, was) {
        const struct field_view below = field_view_member(&view, m->key, m->key_len);
        const struct step s = {.name = m->key, .name_len = m->key_len};

        if (!json_get(is, m->key) && is_of_part(part, m->key))
            diff_node(&d, &below, &s, m, NULL);
    }
}

/* --- from text -------------------------------------------------------------------------------- */

struct reader {
    const char *at, *end;
};

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool ends_name(char c)
{
    return c == ',' || c == '(' || c == ')';
}

/* As FieldsV1 has it, in out. */
static bool read_name(struct reader *r, struct buf *out)
{
    const char *begun;

    buf_clear(out);
    switch (r->at < r->end ? *r->at : '\0') {
    case '!':
        buf_adds(out, "k:");
        r->at++;
        break;
    case '=':
        buf_adds(out, "v:");
        r->at++;
        break;
    case '#':
        buf_adds(out, "i:");
        r->at++;
        break;
    case '.':
        break;
    default:
        buf_adds(out, "f:");
    }
    for (begun = r->at; r->at < r->end && !ends_name(*r->at); r->at++) {
        if (*r->at == '\'') {
            buf_addc(out, '"');
        } else if (*r->at != '%') {
            buf_addc(out, *r->at);
        } else {
            int high = r->end - r->at > 2 ? hex_value(r->at[1]) : -1;
            int low = high >= 0 ? hex_value(r->at[2]) : -1;

            if (low < 0)
                return false;
            if (high || low)
                buf_addc(out, (char)(high << 4 | low));
            r->at += 2;
        }
    }
    return r->at > begun && !out->failed;
}

static bool takes(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool read_set(struct arena *a, struct reader *r, struct json *node, struct buf *name,
                     unsigned depth)
{
    if (r->at == r->end)
        return depth == 0;
    do {
        struct json *child = json_new_object(a);

        if (!read_name(r, name) || !child)
            return false;
        child->key = arena_strndup(a, name->data, name->len);
        child->key_len = (uint32_t)name->len;
        if (!child->key)
            return false;
        json_append(node, child);
        if (takes(r, '(') && (depth == JSON_DEPTH_LIMIT ||
                              !read_set(a, r, child, name, depth + 1) || !takes(r, ')')))
            return false;
    } while (takes(r, ','));
    return true;
}

struct json *fields_unpack(struct arena *a, const char *text, size_t len)
{
    struct reader r = {.at = text, .end = text + len};
    struct json *tree = json_new_object(a);
    struct buf name = BUF_INIT(KEY_TEXT_LIMIT * 4);
    bool good = tree && read_set(a, &r, tree, &name, 0) && r.at == r.end;

    buf_release(&name);
    return good && !arena_failed(a) ? tree : NULL;
}

bool fields_pack(struct buf *out, const struct json *tree)
{
    json_each (node, tree) {
        const char *text = node->key;
        size_t len = node->key_len;

        if (!json_is(node, JSON_OBJECT))
            return false;
        if (strcmp(text, ".") == 0) {
            begin_node(out);
            buf_addc(out, '.');
        } else if (len >= 2 && memcmp(text, "f:", 2) == 0) {
            add_member(out, text + 2, len - 2);
        } else if (len > 2 && text[1] == ':' && strchr("kvi", text[0])) {
            begin_node(out);
            buf_addc(out, text[0] == 'k' ? '!' : text[0] == 'v' ? '=' : '#');
            add_name_text(out, text + 2, len - 2);
        } else {
            return false;
        }
        if (fields_v1_is_leaf(node))
            continue;
        buf_addc(out, '(');
        if (!fields_pack(out, node))
            return false;
        buf_addc(out, ')');
    }
    return !out->failed;
}

void fields_expand(struct buf *out, const char *text, size_t len)
{
    struct reader r = {.at = text, .end = text + len};
    struct buf name = BUF_INIT(KEY_TEXT_LIMIT * 4);
    size_t begun = out->len, depth = 0;
    bool good = true;

    buf_addc(out, '{');
    while (good && r.at < r.end) {
        good = read_name(&r, &name);
        if (!good)
            break;
        json_write_string(out, name.data, name.len);
        buf_adds(out, ":{");
        if (takes(&r, '(')) {
            depth++;
            good = r.at < r.end;
            continue;
        }
        buf_addc(out, '}');
        for (; depth && takes(&r, ')'); depth--)
            buf_addc(out, '}');
        if (r.at == r.end)
            break;
        good = takes(&r, ',') && r.at < r.end;
        buf_addc(out, ',');
    }
    if (!good || depth) { /* not one of ours */
        cut(out, begun);
        buf_addc(out, '{');
    }
    buf_addc(out, '}');
    buf_release(&name);
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

struct json *fields_v1_child(struct arena *a, const char *key, struct json *v)
{
    struct json *wanted;

    if (strncmp(key, "f:", 2) == 0)
        return json_get_mut(v, key + 2);
    if (!json_is(v, JSON_ARRAY) || (strncmp(key, "k:", 2) != 0 && strncmp(key, "v:", 2) != 0))
        return NULL;
    wanted = json_parse(a, key + 2, strlen(key + 2), NULL);
    if (!wanted || (key[0] == 'k' && !json_is(wanted, JSON_OBJECT)))
        return NULL;
    for (struct json *item = json_first_mut(v); item; item = item->next)
        if (key[0] == 'k' ? has_keys(item, wanted) : json_equal(item, wanted))
            return item;
    return NULL;
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
