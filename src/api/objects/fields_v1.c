/* fields_v1.c - see fields_v1.h. */
#include "api/objects/fields_v1.h"

#include <string.h>

#include "api/schema/field_view.h"

#define KEY_TEXT_LIMIT 8192u

static bool same_second_key(const struct field_view *view, const struct json *a,
                            const struct json *b)
{
    const char *key = field_view_second_key(view);

    return !key || json_equal(json_get(a, key), json_get(b, key));
}

bool fields_v1_is_keyed(const struct field_view *view, const struct json *list)
{
    const char *key = field_view_merge_key(view);

    if (!key || json_len(list) == 0 || json_len(list) > FIELDS_LIST_LIMIT)
        return false;
    json_each (item, list) {
        const struct json *mine = json_get(item, key);

        if (json_is_null(mine) || mine->type >= JSON_ARRAY)
            return false;
        json_each (before, list) {
            if (before == item)
                break;
            if (json_equal(json_get(before, key), mine) && same_second_key(view, before, item))
                return false;
        }
    }
    return true;
}

/* "k:" or "v:" and the value as JSON, in the arena; NULL when it is too long. */
static char *value_key(struct arena *a, const char *prefix, const struct json *v)
{
    struct buf text = BUF_INIT(KEY_TEXT_LIMIT);
    char *key;

    buf_adds(&text, prefix);
    json_write(&text, v);
    key = text.failed ? NULL : arena_strndup(a, text.data, text.len);
    if (!key)
        a->failed = true;
    buf_release(&text);
    return key;
}

static void add_keyed(struct arena *a, const struct field_view *view, const struct json *list,
                      struct json *node)
{
    const struct field_view below = field_view_item(view);
    const char *name = field_view_merge_key(view), *second = field_view_second_key(view);

    json_each (item, list) {
        struct json *keys = json_new_object(a), *entry = json_new_object(a), *inner;
        const char *key;

        json_set(a, keys, name, json_clone(a, json_get(item, name)));
        if (second && json_get(item, second))
            json_set(a, keys, second, json_clone(a, json_get(item, second)));
        key = keys ? value_key(a, "k:", keys) : NULL;
        if (!key || !json_set(a, entry, ".", json_new_object(a)))
            return;
        inner = fields_v1_of(a, &below, item);
        json_each (m, inner)
            json_set(a, entry, m->key, json_clone(a, m));
        json_set(a, node, key, entry);
    }
}

static void add_members(struct arena *a, const struct field_view *view, const struct json *object,
                        struct json *node)
{
    json_each (m, object) {
        const struct field_view below = field_view_member(view, m->key, m->key_len);
        const char *key = arena_printf(a, "f:%s", m->key);

        if (key)
            json_set(a, node, key, fields_v1_of(a, &below, m));
    }
}

struct json *fields_v1_of(struct arena *a, const struct field_view *view, const struct json *v)
{
    struct json *node = json_new_object(a);

    if (json_is(v, JSON_OBJECT)) {
        add_members(a, view, v, node);
    } else if (json_is(v, JSON_ARRAY) && fields_v1_is_keyed(view, v)) {
        add_keyed(a, view, v, node);
    } else if (json_is(v, JSON_ARRAY) && field_view_is_set(view) &&
               json_len(v) <= FIELDS_LIST_LIMIT) {
        json_each (item, v) {
            const char *key = value_key(a, "v:", item);

            if (key)
                json_set(a, node, key, json_new_object(a));
        }
    }
    return node;
}

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
