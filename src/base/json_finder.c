/* json_finder.c - see json_finder.h. */
#include "base/json_finder.h"

#include <string.h>

#define MISSES_SEARCHED 4u /* a table is worth it for more */

struct json_finder json_finder_of(struct arena *a, struct json *object)
{
    struct json *members = json_is(object, JSON_OBJECT) ? object : NULL;

    return (struct json_finder){
        .arena = a, .tables = a, .object = members, .at = json_first_mut(members)};
}

struct json_finder json_finder_over(struct arena *a, const struct json *object)
{
    return json_finder_of(a, (struct json *)(uintptr_t)object);
}

struct json *json_finder_get(struct json_finder *f, const char *key, size_t len)
{
    struct json *m = f->at;

    if (!m || m->key_len != len || memcmp(m->key, key, len) != 0) {
        if (!f->keys.slots && json_len(f->object) >= JSON_KEYS_FROM &&
            f->misses++ >= MISSES_SEARCHED && !json_keys_build(f->tables, &f->keys, f->object))
            return NULL;
        m = json_keys_find(&f->keys, f->object, key, (uint32_t)len);
    }
    if (m)
        f->at = m->next;
    return m;
}

struct json *json_finder_set(struct json_finder *f, const char *key, size_t len, struct json *value)
{
    struct json *m = json_finder_get(f, key, len);

    if (!value || !f->object)
        return value;
    if (m) {
        value->key = m->key;
        value->key_len = m->key_len;
        value->next = m->next;
        *m = *value;
        return m;
    }
    value->key = arena_strndup(f->arena, key, len);
    value->key_len = (uint32_t)len;
    if (!value->key)
        return NULL;
    json_append(f->object, value);
    if (f->keys.slots && !json_keys_add(f->tables, &f->keys, f->object, value))
        return NULL;
    return value;
}

struct json *json_finder_make_object(struct json_finder *f, const char *key, size_t len)
{
    struct json *m = json_finder_get(f, key, len);

    return json_is(m, JSON_OBJECT) ? m : json_finder_set(f, key, len, json_new_object(f->arena));
}

void json_finder_drop(struct json_finder *f, struct json *member)
{
    if (!member)
        return;
    member->key = json_keys_dropped;
    member->key_len = sizeof(json_keys_dropped) - 1;
    f->dropped = true;
}

void json_finder_end(struct json_finder *f)
{
    struct json *next, *m = f->dropped ? f->object->u.list.first : NULL;

    if (!f->dropped)
        return;
    f->object->u.list.first = f->object->u.list.last = NULL;
    f->object->len = 0;
    for (; m; m = next) {
        next = m->next;
        if (m->key != json_keys_dropped)
            json_append(f->object, m);
    }
    f->dropped = false;
}
