/*
 * json.h - JSON values in an arena: parsed, built, changed, compared and written.
 *
 * Every value remembers its source line, so that an error about a field can name it, whether the
 * text was JSON or YAML (api/yaml.h produces the same values). Numbers that are not 64-bit integers
 * keep their text, so nothing is rounded on the way through. Object members keep their order; a
 * repeated key keeps the last value.
 *
 * Readers accept NULL and values of another type and treat them as absent; builders accept NULL (a
 * failed arena) and do nothing. A value belongs to one parent: use json_clone to place it twice.
 */
#ifndef MUSTER_BASE_JSON_H
#define MUSTER_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    struct json *next; /* sibling */
    const char *key;   /* member name, NUL-terminated; NULL outside objects */
    union {
        bool boolean;
        int64_t integer;
        const char
            *text; /* JSON_STRING: the string; JSON_REAL: the number as written. NUL-terminated */
        struct {
            struct json *first, *last;
        } list;
    } u;
    uint32_t len; /* bytes of text, or children of an array or object */
    uint32_t key_len;
    uint32_t line;   /* in the source, 1-based; 0 when built by us */
    uint16_t owners; /* bits, for api/managed.h; copied, not compared */
    uint8_t type;    /* enum json_type */
};

#define JSON_DEPTH_LIMIT 128

/* Called for each repeated object key; the last value wins. */
typedef void json_duplicate_fn(void *arg, const char *key, unsigned line);

/* The whole text must be one value. Errors name line and column. NULL on error. */
struct json *json_parse(struct arena *a, const char *text, size_t len, struct err *err) must_check;
struct json *json_parse_reporting(struct arena *a, const char *text, size_t len,
                                  json_duplicate_fn *duplicate, void *arg,
                                  struct err *err) must_check;

/* Which members of a text are wanted: of objects in an array, of each. */
struct json_part {
    const char *name;               /* NULL: the last one */
    const struct json_part *inside; /* NULL: all of it */
};

/* Parses the wanted members and steps over the others, whose syntax is hardly checked: for texts
 * that were written by a JSON encoder. */
struct json *json_skim(struct arena *a, const char *text, size_t len, const struct json_part *parts,
                       struct err *err) must_check;
/* The text of a member of the object that the text is, where it stands; NULL: there is none. */
const char *json_member_text(const char *text, size_t len, const char *name, size_t *ret_len);
/* A list of objects. Its items are skimmed one by one for fn, which gets each with its text, both
 * valid during the call; what is returned has none. NULL also when fn returned a negative value. */
typedef int json_item_fn(void *arg, const struct json *item, const char *text, size_t len);
struct json *json_skim_list(struct arena *a, const char *text, size_t len,
                            const struct json_part *parts, json_item_fn *fn, void *arg,
                            struct err *err) must_check;

/* --- reading --- */

static inline enum json_type json_type_of(const struct json *v)
{
    return v ? (enum json_type)v->type : JSON_NULL;
}

static inline bool json_is(const struct json *v, enum json_type type)
{
    return v && v->type == type;
}

static inline bool json_is_null(const struct json *v) /* absent counts as null */
{
    return !v || v->type == JSON_NULL;
}

static inline const struct json *json_first(const struct json *v)
{
    return v && v->type >= JSON_ARRAY ? v->u.list.first : NULL;
}

static inline struct json *json_first_mut(struct json *v)
{
    return v && v->type >= JSON_ARRAY ? v->u.list.first : NULL;
}

#define json_each(item, parent)                                                                    \
    for (const struct json *item = json_first(parent); item; item = item->next)

const struct json *json_get(const struct json *object, const char *key);
struct json *json_get_mut(struct json *object, const char *key);
/* Walks members by name: json_at(job, "spec", "runPolicy", "backoffLimit"). */
const struct json *json_walk(const struct json *v, ...) __attribute__((sentinel));
#define json_at(v, ...) json_walk((v), __VA_ARGS__, (const char *)NULL)
const struct json *json_index(const struct json *array, size_t index);
/* A list of strings as a NULL-terminated argv; an item that is not a string becomes "". NULL when
 * out of memory. */
const char *const *json_strings(struct arena *a, const struct json *list) must_check;

static inline size_t json_len(const struct json *v)
{
    return v && v->type >= JSON_ARRAY ? v->len : 0;
}

static inline const char *json_string(const struct json *v, const char *otherwise)
{
    return v && v->type == JSON_STRING ? v->u.text : otherwise;
}

static inline int64_t json_int(const struct json *v, int64_t otherwise)
{
    return json_is(v, JSON_INT) ? v->u.integer : otherwise;
}

static inline bool json_bool(const struct json *v, bool otherwise)
{
    return json_is(v, JSON_BOOL) ? v->u.boolean : otherwise;
}

/* Short for json_string(json_get(object, key), otherwise). */
const char *json_get_string(const struct json *object, const char *key, const char *otherwise);
int64_t json_get_int(const struct json *object, const char *key, int64_t otherwise);
bool json_get_bool(const struct json *object, const char *key, bool otherwise);
bool json_string_is(const struct json *v, const char *text);
/* Whether the text is among the strings of an array. */
bool json_has(const struct json *array, const char *text);
/* The first object of an array whose member `key` equals text, or NULL. */
const struct json *json_find(const struct json *array, const char *key, const char *text);

/* Equal as JSON: member order does not matter, array order does. */
bool json_equal(const struct json *a, const struct json *b);

/* --- building --- */

struct json *json_new_null(struct arena *a) must_check;
struct json *json_new_bool(struct arena *a, bool value) must_check;
struct json *json_new_int(struct arena *a, int64_t value) must_check;
struct json *json_new_string(struct arena *a,
                             const char *text) must_check; /* copies; NULL text gives NULL */
struct json *json_new_string_len(struct arena *a, const char *text, size_t len) must_check;
struct json *json_new_stringf(struct arena *a, const char *fmt, ...) must_check printf_like(2, 3);
struct json *json_new_real(struct arena *a,
                           const char *number) must_check; /* number as text, trusted */
struct json *json_new_array(struct arena *a) must_check;
struct json *json_new_object(struct arena *a) must_check;
struct json *json_clone(struct arena *a, const struct json *v) must_check;

/* Member names shared by packed values for the life of the program; starts zeroed. Bounded: once
 * full, values get their own copies. */
#define JSON_WORDS_SLOTS 2048
#define JSON_WORD_BYTES 128

struct json_words {
    const char *slots[JSON_WORDS_SLOTS]; /* by hash */
    unsigned used;
};

/* A long-lived, read-only copy in a single allocation of exactly its size: free() it. words may be
 * NULL. */
struct json *json_pack(const struct json *v, struct json_words *words) must_check;

/* Sets a member, replacing one of the same name in place. A NULL value does nothing. Returns
 * value. */
struct json *json_set(struct arena *a, struct json *object, const char *key, struct json *value);
void json_set_string(struct arena *a, struct json *object, const char *key, const char *text);
void json_set_stringf(struct arena *a, struct json *object, const char *key, const char *fmt, ...)
    printf_like(4, 5);
void json_set_int(struct arena *a, struct json *object, const char *key, int64_t value);
void json_set_bool(struct arena *a, struct json *object, const char *key, bool value);
/* The member, replaced by an empty object or array if absent or of another type. */
struct json *json_make_object(struct arena *a, struct json *object, const char *key);
struct json *json_make_array(struct arena *a, struct json *object, const char *key);
bool json_remove(struct json *object, const char *key);
struct json *json_append(struct json *array,
                         struct json *value); /* value NULL does nothing. Returns value */
void json_append_string(struct arena *a, struct json *array, const char *text);
bool json_remove_item(struct json *array, const struct json *item);

/* --- writing --- */

void json_write(struct buf *out, const struct json *v); /* compact */
void json_write_pretty(struct buf *out,
                       const struct json *v); /* indented by two, ends with a newline */
void json_write_string(struct buf *out, const char *text,
                       size_t len); /* quoted and escaped; bad UTF-8 -> U+FFFD */

#endif
