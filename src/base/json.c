/* json.c - reading, building and comparing values. See json.h. */
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json_finder.h"
#include "base/reserve.h"

#define SCRATCH_LIMIT_BYTES (64u * 1024u * 1024u)

struct json *json_get_mut(struct json *object, const char *key)
{
    size_t len = strlen(key);

    if (!json_is(object, JSON_OBJECT))
        return NULL;
    for (struct json *m = object->u.list.first; m; m = m->next)
        if (m->key_len == len && memcmp(m->key, key, len) == 0)
            return m;
    return NULL;
}

const struct json *json_get(const struct json *object, const char *key)
{
    size_t len = strlen(key);

    if (!json_is(object, JSON_OBJECT))
        return NULL;
    json_each (m, object)
        if (m->key_len == len && memcmp(m->key, key, len) == 0)
            return m;
    return NULL;
}

const struct json *json_walk(const struct json *v, ...)
{
    const char *key;
    va_list args;

    va_start(args, v);
    while (v && (key = va_arg(args, const char *)))
        v = json_get(v, key);
    va_end(args);
    return v;
}

const struct json *json_index(const struct json *array, size_t index)
{
    if (!json_is(array, JSON_ARRAY))
        return NULL;
    json_each (item, array)
        if (index-- == 0)
            return item;
    return NULL;
}

const char *const *json_strings(struct arena *a, const struct json *list)
{
    const char **strings = arena_alloc(a, (json_len(list) + 1) * sizeof(*strings));
    size_t n = 0;

    json_each (item, list)
        if (strings)
            strings[n++] = json_string(item, "");
    return strings;
}

const char *json_get_string(const struct json *object, const char *key, const char *otherwise)
{
    return json_string(json_get(object, key), otherwise);
}

int64_t json_get_int(const struct json *object, const char *key, int64_t otherwise)
{
    return json_int(json_get(object, key), otherwise);
}

bool json_get_bool(const struct json *object, const char *key, bool otherwise)
{
    return json_bool(json_get(object, key), otherwise);
}

bool json_string_is(const struct json *v, const char *text)
{
    return json_is(v, JSON_STRING) && strcmp(v->u.text, text) == 0;
}

bool json_has(const struct json *array, const char *text)
{
    json_each (item, array)
        if (json_string_is(item, text))
            return true;
    return false;
}

const struct json *json_find(const struct json *array, const char *key, const char *text)
{
    json_each (item, array)
        if (json_string_is(json_get(item, key), text))
            return item;
    return NULL;
}

static bool lists_equal(const struct json *a, const struct json *b)
{
    struct arena scratch = ARENA_INIT(SCRATCH_LIMIT_BYTES);
    struct json_finder members = json_finder_over(&scratch, b);
    const struct json *y = json_first(b);
    bool equal = a->len == b->len;

    for (const struct json *x = json_first(a); x && equal; x = x->next) {
        const struct json *other = a->type == JSON_OBJECT
                                       ? json_finder_get(&members, x->key, x->key_len)
                                       : y;

        equal = other && json_equal(x, other);
        y = y ? y->next : NULL;
    }
    arena_release(&scratch);
    return equal;
}

bool json_equal(const struct json *a, const struct json *b)
{
    if (json_type_of(a) != json_type_of(b))
        return false;
    switch (json_type_of(a)) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->u.boolean == b->u.boolean;
    case JSON_INT:
        return a->u.integer == b->u.integer;
    case JSON_REAL:
    case JSON_STRING:
        return a->len == b->len && memcmp(a->u.text, b->u.text, a->len) == 0;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return lists_equal(a, b);
    }
    unreachable();
}

static struct json *new_value(struct arena *a, enum json_type type)
{
    struct json *v = arena_alloc(a, sizeof(*v));

    if (v)
        v->type = (uint8_t)type;
    return v;
}

struct json *json_new_null(struct arena *a)
{
    return new_value(a, JSON_NULL);
}

struct json *json_new_bool(struct arena *a, bool value)
{
    struct json *v = new_value(a, JSON_BOOL);

    if (v)
        v->u.boolean = value;
    return v;
}

struct json *json_new_int(struct arena *a, int64_t value)
{
    struct json *v = new_value(a, JSON_INT);

    if (v)
        v->u.integer = value;
    return v;
}

static struct json *new_text(struct arena *a, enum json_type type, const char *text, size_t len)
{
    struct json *v = new_value(a, type);
    char *copy = len < UINT32_MAX ? arena_strndup(a, text, len) : NULL;

    if (!v || !copy) {
        a->failed = true;
        return NULL;
    }
    v->u.text = copy;
    v->len = (uint32_t)len;
    return v;
}

struct json *json_new_string_len(struct arena *a, const char *text, size_t len)
{
    return new_text(a, JSON_STRING, text, len);
}

struct json *json_new_string(struct arena *a, const char *text)
{
    return text ? new_text(a, JSON_STRING, text, strlen(text)) : NULL;
}

struct json *json_new_real(struct arena *a, const char *number)
{
    return new_text(a, JSON_REAL, number, strlen(number));
}

printf_like(2, 0) static struct json *new_formatted(struct arena *a, const char *fmt, va_list args)
{
    struct json *v = new_value(a, JSON_STRING);
    va_list again;
    char *text;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    text = n >= 0 ? arena_alloc(a, (size_t)n + 1) : NULL;
    if (!v || !text) {
        a->failed = true;
        return NULL;
    }
    (void)vsnprintf(text, (size_t)n + 1, fmt, args);
    v->u.text = text;
    v->len = (uint32_t)n;
    return v;
}

struct json *json_new_stringf(struct arena *a, const char *fmt, ...)
{
    struct json *v;
    va_list args;

    va_start(args, fmt);
    v = new_formatted(a, fmt, args);
    va_end(args);
    return v;
}

struct json *json_new_array(struct arena *a)
{
    return new_value(a, JSON_ARRAY);
}

struct json *json_new_object(struct arena *a)
{
    return new_value(a, JSON_OBJECT);
}

/* --- packing --- */

static const char **word_slot(struct json_words *w, const char *text, size_t len)
{
    uint64_t at = fnv1a_64(FNV1A_64_START, text, len);

    while (w->slots[at % JSON_WORDS_SLOTS] &&
           (strncmp(w->slots[at % JSON_WORDS_SLOTS], text, len) != 0 ||
            w->slots[at % JSON_WORDS_SLOTS][len]))
        at++;
    return &w->slots[at % JSON_WORDS_SLOTS];
}

/* NULL: the word is not shared. Half of the slots stay empty to keep probing short. */
static const char *shared_word(struct json_words *w, const char *text, size_t len)
{
    const char **slot;

    if (!w || len > JSON_WORD_BYTES || memchr(text, '\0', len))
        return NULL;
    slot = word_slot(w, text, len);
    if (!*slot && w->used < JSON_WORDS_SLOTS / 2) {
        *slot = strndup(text, len);
        w->used += *slot != NULL;
    }
    return *slot;
}

struct packing {
    struct json_words *words;
    struct json *node;
    char *text;
    size_t nodes, bytes; /* required */
};

static bool has_text(const struct json *v)
{
    return v->type == JSON_STRING || v->type == JSON_REAL;
}

static void measure(struct packing *p, const struct json *v)
{
    p->nodes++;
    p->bytes += v->key && !shared_word(p->words, v->key, v->key_len) ? v->key_len + 1u : 0;
    p->bytes += has_text(v) ? v->len + 1u : 0;
    json_each (child, v)
        measure(p, child);
}

static const char *pack_text(struct packing *p, const char *text, size_t len)
{
    char *at = memcpy(p->text, text, len);

    at[len] = '\0';
    p->text += len + 1;
    return at;
}

static struct json *pack(struct packing *p, const struct json *v)
{
    struct json *copy = p->node++;

    *copy = *v;
    copy->next = NULL;
    if (v->key)
        copy->key = shared_word(p->words, v->key, v->key_len);
    if (v->key && !copy->key)
        copy->key = pack_text(p, v->key, v->key_len);
    if (has_text(v))
        copy->u.text = pack_text(p, v->u.text, v->len);
    if (v->type < JSON_ARRAY)
        return copy;
    copy->u.list.first = copy->u.list.last = NULL;
    json_each (child, v) {
        struct json *c = pack(p, child);

        if (copy->u.list.last)
            copy->u.list.last->next = c;
        else
            copy->u.list.first = c;
        copy->u.list.last = c;
    }
    return copy;
}

struct json *json_pack(const struct json *v, struct json_words *words)
{
    struct packing p = {.words = words};

    measure(&p, v);
    p.node = memory_checked(malloc(p.nodes * sizeof(*p.node) + p.bytes));
    if (!p.node)
        return NULL;
    p.text = (char *)(p.node + p.nodes);
    return pack(&p, v);
}

struct json *json_clone(struct arena *a, const struct json *v)
{
    struct json *copy;

    if (!v)
        return NULL;
    copy = new_value(a, (enum json_type)v->type);
    if (!copy)
        return NULL;
    copy->line = v->line;
    copy->owners = v->owners;
    switch ((enum json_type)v->type) {
    case JSON_NULL:
    case JSON_BOOL:
    case JSON_INT:
        copy->u = v->u;
        copy->len = v->len;
        break;
    case JSON_REAL:
    case JSON_STRING:
        copy->u.text = arena_strndup(a, v->u.text, v->len);
        copy->len = v->len;
        if (!copy->u.text)
            return NULL;
        break;
    case JSON_ARRAY:
        json_each (item, v)
            json_append(copy, json_clone(a, item));
        break;
    case JSON_OBJECT:
        json_each (member, v) {
            struct json *m = json_clone(a, member);
            char *key = arena_strndup(a, member->key, member->key_len);

            if (!m || !key)
                return NULL;
            m->key = key;
            m->key_len = member->key_len;
            json_append(copy, m);
        }
        break;
    }
    return copy;
}

struct json *json_append(struct json *list, struct json *value)
{
    if (!list || !value)
        return value;
    value->next = NULL;
    if (list->u.list.last)
        list->u.list.last->next = value;
    else
        list->u.list.first = value;
    list->u.list.last = value;
    list->len++;
    return value;
}

struct json *json_set(struct arena *a, struct json *object, const char *key, struct json *value)
{
    struct json *prev = NULL;
    size_t len = strlen(key);

    if (!json_is(object, JSON_OBJECT) || !value)
        return value;
    for (struct json *m = object->u.list.first; m; prev = m, m = m->next) {
        if (m->key_len != len || memcmp(m->key, key, len) != 0)
            continue;
        value->key = m->key;
        value->key_len = m->key_len;
        value->next = m->next;
        if (prev)
            prev->next = value;
        else
            object->u.list.first = value;
        if (object->u.list.last == m)
            object->u.list.last = value;
        return value;
    }
    value->key = arena_strndup(a, key, len);
    value->key_len = (uint32_t)len;
    return value->key ? json_append(object, value) : NULL;
}

void json_set_string(struct arena *a, struct json *object, const char *key, const char *text)
{
    json_set(a, object, key, json_new_string(a, text));
}

void json_set_stringf(struct arena *a, struct json *object, const char *key, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    json_set(a, object, key, new_formatted(a, fmt, args));
    va_end(args);
}

void json_set_int(struct arena *a, struct json *object, const char *key, int64_t value)
{
    json_set(a, object, key, json_new_int(a, value));
}

void json_set_bool(struct arena *a, struct json *object, const char *key, bool value)
{
    json_set(a, object, key, json_new_bool(a, value));
}

struct json *json_make_object(struct arena *a, struct json *object, const char *key)
{
    struct json *v = json_get_mut(object, key);

    return json_is(v, JSON_OBJECT) ? v : json_set(a, object, key, json_new_object(a));
}

struct json *json_make_array(struct arena *a, struct json *object, const char *key)
{
    struct json *v = json_get_mut(object, key);

    return json_is(v, JSON_ARRAY) ? v : json_set(a, object, key, json_new_array(a));
}

bool json_remove_item(struct json *list, const struct json *item)
{
    struct json *prev = NULL;

    if (!list || list->type < JSON_ARRAY)
        return false;
    for (struct json *m = list->u.list.first; m; prev = m, m = m->next) {
        if (m != item)
            continue;
        if (prev)
            prev->next = m->next;
        else
            list->u.list.first = m->next;
        if (list->u.list.last == m)
            list->u.list.last = prev;
        list->len--;
        return true;
    }
    return false;
}

bool json_remove(struct json *object, const char *key)
{
    return json_remove_item(object, json_get(object, key));
}

void json_append_string(struct arena *a, struct json *array, const char *text)
{
    json_append(array, json_new_string(a, text));
}
