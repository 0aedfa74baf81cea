/*
 * json_parse.c - RFC 8259 text to values, in one pass, into an arena.
 *
 * Not a library because every value must know its line (errors name it), live in the request's
 * arena and have the same structure as parsed YAML (docs/internals/decisions.md has the measured
 * cost). Strict: no comments, no trailing commas, no NaN, valid UTF-8 only, at most
 * JSON_DEPTH_LIMIT levels.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/json.h"
#include "base/json_keys.h"
#include "base/json_plain.h"
#include "base/percent.h"
#include "base/utf8.h"

#define ITEMS_DEPTH 2 /* an array in the list */

/* Items of a list that is skimmed, one at a time. */
struct items {
    struct arena arena;
    json_item_fn *fn;
    void *arg;
};

struct parser {
    struct arena *arena;
    const char *start, *p, *end;
    unsigned line;
    unsigned depth;
    struct items *items; /* NULL: no list */
    json_duplicate_fn *duplicate;
    void *duplicate_arg;
    struct err *err;
};

static bool fail(struct parser *ps, const char *what)
{
    const char *line_start = ps->p;

    while (line_start > ps->start && line_start[-1] != '\n')
        line_start--;
    err_set(ps->err, ERR_BAD_REQUEST, "JSON, line %u, column %zu: %s", ps->line,
            (size_t)(ps->p - line_start) + 1, what);
    if (ps->err)
        ps->err->line = ps->line;
    return false;
}

static bool fail_memory(struct parser *ps)
{
    err_set(ps->err, ERR_TOO_LARGE, "the document is too large");
    return false;
}

static void skip_space(struct parser *ps)
{
    for (; ps->p < ps->end; ps->p++) {
        if (*ps->p == '\n')
            ps->line++;
        else if (*ps->p != ' ' && *ps->p != '\t' && *ps->p != '\r')
            return;
    }
}

static bool hex4(struct parser *ps, unsigned *ret)
{
    unsigned v = 0;

    if (ps->end - ps->p < 4)
        return fail(ps, "\\u needs four hexadecimal digits");
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(*ps->p++);

        if (d < 0)
            return fail(ps, "\\u needs four hexadecimal digits");
        v = v << 4 | (unsigned)d;
    }
    *ret = v;
    return true;
}

/* A lone surrogate becomes U+FFFD, as in Go's encoding/json. */
static bool unicode_escape(struct parser *ps, char **to)
{
    unsigned cp = 0, low = 0;

    if (!hex4(ps, &cp))
        return false;
    if (cp >= 0xd800 && cp < 0xdc00 && ps->end - ps->p >= 6 && ps->p[0] == '\\' &&
        ps->p[1] == 'u') {
        const char *back = ps->p;

        ps->p += 2;
        if (!hex4(ps, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
        else
            ps->p = back;
    }
    if (cp >= 0xd800 && cp < 0xe000)
        cp = 0xfffd;
    *to = utf8_put(*to, cp);
    return true;
}

static bool escape(struct parser *ps, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (ps->p == ps->end)
        return fail(ps, "the text ends inside a string");
    if (*ps->p == 'u') {
        ps->p++;
        return unicode_escape(ps, to);
    }
    found = *ps->p ? strchr(from, *ps->p) : NULL;
    if (!found)
        return fail(ps, "unknown escape in a string");
    *(*to)++ = into[found - from];
    ps->p++;
    return true;
}

/* Finds the closing quote; *ret_plain is false when there are escapes to decode. */
static const char *string_end(struct parser *ps, bool *ret_plain)
{
    *ret_plain = true;
    for (const char *q = ps->p; q < ps->end; q++) {
        q += json_plain_length(q, (size_t)(ps->end - q));
        if (q == ps->end)
            break;
        if (*q == '"')
            return q;
        if (*q == '\\') {
            *ret_plain = false;
            if (++q == ps->end)
                break;
        } else if ((unsigned char)*q >= 0x80) {
            *ret_plain = false;
        } else if ((unsigned char)*q < 0x20) {
            ps->p = q;
            fail(ps, *q == '\n' ? "a string may not contain a line break"
                                : "control character in a string");
            return NULL;
        }
    }
    ps->p = ps->end;
    fail(ps, "the text ends inside a string");
    return NULL;
}

static bool decode_string(struct parser *ps, const char *close, char *to, size_t *ret_len)
{
    char *at = to;

    while (ps->p < close) {
        size_t plain = json_plain_length(ps->p, (size_t)(close - ps->p));

        memcpy(at, ps->p, plain);
        at += plain;
        ps->p += plain;
        if (ps->p == close)
            break;
        if (*ps->p == '\\') {
            ps->p++;
            if (!escape(ps, &at))
                return false;
        } else if ((unsigned char)*ps->p < 0x80) {
            *at++ = *ps->p++;
        } else {
            size_t n = utf8_sequence(ps->p, (size_t)(close - ps->p));

            if (n == 0)
                return fail(ps, "invalid UTF-8 in a string");
            memcpy(at, ps->p, n);
            at += n;
            ps->p += n;
        }
    }
    *ret_len = (size_t)(at - to);
    return true;
}

static bool parse_text(struct parser *ps, const char **ret_text, uint32_t *ret_len)
{
    const char *close;
    bool plain;
    char *to;
    size_t len;

    ps->p++; /* the opening quote */
    close = string_end(ps, &plain);
    if (!close)
        return false;
    len = (size_t)(close - ps->p);
    if (len > UINT32_MAX - 1)
        return fail_memory(ps);
    to = plain ? arena_strndup(ps->arena, ps->p, len) : arena_alloc(ps->arena, len + 1);
    if (!to)
        return fail_memory(ps);
    if (!plain && !decode_string(ps, close, to, &len))
        return false;
    ps->p = close + 1;
    *ret_text = to;
    *ret_len = (uint32_t)len;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_number_sign(char c)
{
    return c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

static bool parse_number(struct parser *ps, struct json *v)
{
    const char *first = ps->p, *p = ps->p;
    bool integer = true;
    char *text, *stop;

    if (p < ps->end && *p == '-')
        p++;
    if (p == ps->end || *p < '0' || *p > '9')
        return fail(ps, "a value is expected here");
    if (*p == '0' && p + 1 < ps->end && p[1] >= '0' && p[1] <= '9')
        return fail(ps, "a number may not start with 0");
    for (; p < ps->end && (is_digit(*p) || is_number_sign(*p)); p++)
        if (!is_digit(*p))
            integer = integer && p == first;
    text = arena_strndup(ps->arena, first, (size_t)(p - first));
    if (!text)
        return fail_memory(ps);
    v->len = (uint32_t)(p - first);
    errno = 0;
    if (integer) {
        v->u.integer = strtoll(text, NULL, 10);
        v->type = JSON_INT;
    }
    if (!integer || errno == ERANGE) {
        (void)strtod(text, &stop);
        if (*stop || p[-1] == '.' || strstr(text, ".e") || strstr(text, ".E"))
            return fail(ps, "malformed number");
        v->type = JSON_REAL;
        v->u.text = text;
    }
    ps->p = p;
    return true;
}

static bool parse_word(struct parser *ps, struct json *v)
{
    static const struct {
        const char *text;
        enum json_type type;
        bool value;
    } words[] = {
        {"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}, {"null", JSON_NULL, false}};

    for (size_t i = 0; i < ELEMS(words); i++) {
        size_t n = strlen(words[i].text);

        if ((size_t)(ps->end - ps->p) >= n && memcmp(ps->p, words[i].text, n) == 0) {
            v->type = (uint8_t)words[i].type;
            v->u.boolean = words[i].value;
            ps->p += n;
            return true;
        }
    }
    return fail(ps, "a value is expected here");
}

static bool parse_value(struct parser *ps, struct json **ret);

static void link_child(struct json *parent, struct json *child)
{
    if (parent->u.list.last)
        parent->u.list.last->next = child;
    else
        parent->u.list.first = child;
    parent->u.list.last = child;
    parent->len++;
}

static bool add_member(struct parser *ps, struct json *object, struct json_keys *keys,
                       struct json *member)
{
    struct json *old = json_keys_find(keys, object, member->key, member->key_len);

    if (!old) {
        link_child(object, member);
        return json_keys_add(ps->arena, keys, object, member) ? true : fail_memory(ps);
    }
    if (ps->duplicate)
        ps->duplicate(ps->duplicate_arg, member->key, member->line);
    member->next = old->next;
    *old = *member;
    return true;
}

static bool parse_array(struct parser *ps, struct json *v)
{
    struct json *item = NULL;

    v->type = JSON_ARRAY;
    ps->p++;
    skip_space(ps);
    if (ps->p < ps->end && *ps->p == ']') {
        ps->p++;
        return true;
    }
    for (;;) {
        if (!parse_value(ps, &item))
            return false;
        link_child(v, item);
        skip_space(ps);
        if (ps->p < ps->end && *ps->p == ',') {
            ps->p++;
            continue;
        }
        if (ps->p < ps->end && *ps->p == ']') {
            ps->p++;
            return true;
        }
        return fail(ps, "',' or ']' is expected here");
    }
}

static bool parse_member(struct parser *ps, struct json *object, struct json_keys *keys)
{
    struct json *member = NULL;
    const char *key;
    uint32_t key_len;

    skip_space(ps);
    if (ps->p == ps->end || *ps->p != '"')
        return fail(ps, "a member name in quotes is expected here");
    if (!parse_text(ps, &key, &key_len))
        return false;
    skip_space(ps);
    if (ps->p == ps->end || *ps->p != ':')
        return fail(ps, "':' is expected here");
    ps->p++;
    if (!parse_value(ps, &member) || !member)
        return false;
    member->key = key;
    member->key_len = key_len;
    return add_member(ps, object, keys, member);
}

static bool parse_object(struct parser *ps, struct json *v)
{
    struct json_keys keys = {0};

    v->type = JSON_OBJECT;
    ps->p++;
    skip_space(ps);
    if (ps->p < ps->end && *ps->p == '}') {
        ps->p++;
        return true;
    }
    for (;;) {
        if (!parse_member(ps, v, &keys))
            return false;
        skip_space(ps);
        if (ps->p < ps->end && *ps->p == ',') {
            ps->p++;
            continue;
        }
        if (ps->p < ps->end && *ps->p == '}') {
            ps->p++;
            return true;
        }
        return fail(ps, "',' or '}' is expected here");
    }
}

static bool parse_value(struct parser *ps, struct json **ret)
{
    struct json *v;
    bool ok;

    skip_space(ps);
    if (ps->p == ps->end)
        return fail(ps, "the text ends where a value is expected");
    v = arena_alloc(ps->arena, sizeof(*v));
    if (!v)
        return fail_memory(ps);
    v->line = ps->line;
    *ret = v;
    if (*ps->p == '"') {
        v->type = JSON_STRING;
        return parse_text(ps, &v->u.text, &v->len);
    }
    if (*ps->p != '{' && *ps->p != '[')
        return *ps->p == '-' || (*ps->p >= '0' && *ps->p <= '9') ? parse_number(ps, v)
                                                                 : parse_word(ps, v);
    if (++ps->depth > JSON_DEPTH_LIMIT)
        return fail(ps, "nested too deeply");
    ok = *ps->p == '{' ? parse_object(ps, v) : parse_array(ps, v);
    ps->depth--;
    return ok;
}

struct json *json_parse_reporting(struct arena *a, const char *text, size_t len,
                                  json_duplicate_fn *duplicate, void *arg, struct err *err)
{
    struct parser ps = {.arena = a,
                        .start = text,
                        .p = text,
                        .end = text + len,
                        .line = 1,
                        .duplicate = duplicate,
                        .duplicate_arg = arg,
                        .err = err};
    struct json *v = NULL;

    if (!parse_value(&ps, &v))
        return NULL;
    skip_space(&ps);
    if (ps.p < ps.end) {
        fail(&ps, "more text after the value");
        return NULL;
    }
    return v;
}

struct json *json_parse(struct arena *a, const char *text, size_t len, struct err *err)
{
    return json_parse_reporting(a, text, len, NULL, NULL, err);
}

/* --- skimming --- */

static bool skip_string(struct parser *ps)
{
    const char *q = ps->p + 1;

    while (q < ps->end) {
        q += json_plain_length(q, (size_t)(ps->end - q));
        if (q < ps->end && *q == '"') {
            ps->p = q + 1;
            return true;
        }
        q += q < ps->end && *q == '\\' ? 2 : 1;
    }
    ps->p = ps->end;
    return fail(ps, "the text ends inside a string");
}

#ifdef __SSE2__
#define BLOCK_BYTES 64

/* Not arrays and loops: compilers leave those in memory. */
struct block {
    __m128i a, b, c, d;
};

static uint64_t equal_bytes(__m128i part, __m128i c)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(part, c));
}

static uint64_t where(struct block v, char of)
{
    __m128i c = _mm_set1_epi8(of);

    return equal_bytes(v.a, c) | equal_bytes(v.b, c) << 16 | equal_bytes(v.c, c) << 32 |
           equal_bytes(v.d, c) << 48;
}

/* '[' becomes '{' and ']' becomes '}'. */
static struct block without_squares(struct block v)
{
    __m128i bit = _mm_set1_epi8('{' ^ '[');

    return (struct block){_mm_or_si128(v.a, bit), _mm_or_si128(v.b, bit), _mm_or_si128(v.c, bit),
                          _mm_or_si128(v.d, bit)};
}

/* Each bit becomes the parity of those up to it: from a quote to the next all are set. */
static uint64_t between_pairs(uint64_t quotes)
{
    quotes ^= quotes << 1;
    quotes ^= quotes << 2;
    quotes ^= quotes << 4;
    quotes ^= quotes << 8;
    quotes ^= quotes << 16;
    return quotes ^ quotes << 32;
}

/* Inside `depth` brackets: goes to the one that closes the outermost, or as far as there are whole
 * blocks without an escape or a new line. Returns the depth there. */
static size_t skip_blocks(struct parser *ps, size_t depth)
{
    uint64_t in_string = 0; /* all bits set: the block begins in one */

    for (; ps->end - ps->p >= BLOCK_BYTES; ps->p += BLOCK_BYTES) {
        struct block block;
        uint64_t strings, opening, closing;

        memcpy(&block, ps->p, sizeof(block));
        if (where(block, '\\') | where(block, '\n'))
            break;
        strings = between_pairs(where(block, '"')) ^ in_string;
        block = without_squares(block);
        opening = where(block, '{') & ~strings;
        closing = where(block, '}') & ~strings;
        for (uint64_t left = opening | closing; left; left &= left - 1) {
            if (opening & left & -left) {
                depth++;
            } else if (--depth == 0) {
                ps->p += __builtin_ctzll(left);
                return 1;
            }
        }
        in_string = strings >> (BLOCK_BYTES - 1) ? UINT64_MAX : 0;
    }
    if (in_string) {
        ps->p--; /* as if its quote were there */
        (void)skip_string(ps);
    }
    return depth;
}
#else
static size_t skip_blocks(const struct parser *ps, size_t depth)
{
    (void)ps;
    return depth;
}
#endif

/* Brackets are counted, not matched. */
static bool skip_value(struct parser *ps)
{
    size_t depth = 0;

    for (; ps->p < ps->end; ps->p++) {
        switch (*ps->p) {
        case '"':
            if (!skip_string(ps))
                return false;
            ps->p--;
            break;
        case '{':
        case '[':
            ps->p++;
            depth = skip_blocks(ps, depth + 1);
            ps->p--;
            break;
        case '}':
        case ']':
            if (depth == 0)
                return true;
            depth--;
            break;
        case ',':
            if (depth == 0)
                return true;
            break;
        case '\n':
            ps->line++;
            break;
        default:
            break;
        }
    }
    return depth == 0 ? true : fail(ps, "the text ends inside a value");
}

static bool skim_value(struct parser *ps, const struct json_part *parts, struct json **ret);

static const struct json_part *find_part(const struct json_part *parts, const char *key, size_t len)
{
    for (; parts->name; parts++)
        if (*parts->name == *key && strncmp(parts->name, key, len) == 0 && !parts->name[len])
            return parts;
    return NULL;
}

static bool expect_colon(struct parser *ps)
{
    skip_space(ps);
    if (ps->p == ps->end || *ps->p != ':')
        return fail(ps, "':' is expected here");
    ps->p++;
    return true;
}

/* Goes to the member's value. */
static bool skip_name(struct parser *ps, const char **ret, size_t *ret_len)
{
    skip_space(ps);
    if (ps->p == ps->end || *ps->p != '"')
        return fail(ps, "a member name in quotes is expected here");
    *ret = ps->p + 1;
    if (!skip_string(ps))
        return false;
    *ret_len = (size_t)(ps->p - 1 - *ret);
    return expect_colon(ps);
}

const char *json_member_text(const char *text, size_t len, const char *name, size_t *ret_len)
{
    struct parser ps = {.start = text, .p = text, .end = text + len, .line = 1};
    const char *key, *value;
    size_t key_len;

    skip_space(&ps);
    while (ps.p < ps.end && (*ps.p == '{' || *ps.p == ',')) {
        ps.p++;
        if (!skip_name(&ps, &key, &key_len))
            return NULL;
        skip_space(&ps);
        value = ps.p;
        if (!skip_value(&ps))
            return NULL;
        *ret_len = (size_t)(ps.p - value);
        if (strlen(name) == key_len && memcmp(name, key, key_len) == 0)
            return value;
    }
    return NULL;
}

static bool skim_member(struct parser *ps, const struct json_part *parts, struct json *object)
{
    const struct json_part *part;
    struct json *member = NULL;
    const char *key;
    size_t len;

    if (!skip_name(ps, &key, &len))
        return false;
    part = find_part(parts, key, len);
    if (!part)
        return skip_value(ps);
    if (!(part->inside ? skim_value(ps, part->inside, &member) : parse_value(ps, &member)))
        return false;
    member->key = part->name;
    member->key_len = (uint32_t)len;
    link_child(object, member);
    return true;
}

/* For the caller of json_skim_list. */
static bool skim_item(struct parser *ps, const struct json_part *parts)
{
    struct arena *outer = ps->arena;
    struct json *item = NULL;
    const char *start = ps->p;
    bool ok;

    arena_reset(&ps->items->arena);
    ps->arena = &ps->items->arena;
    ok = skim_value(ps, parts, &item);
    ps->arena = outer;
    return ok && ps->items->fn(ps->items->arg, item, start, (size_t)(ps->p - start)) >= 0;
}

static bool skim_element(struct parser *ps, const struct json_part *parts, struct json *v)
{
    struct json *element = NULL;

    if (v->type == JSON_OBJECT)
        return skim_member(ps, parts, v);
    if (ps->items && ps->depth == ITEMS_DEPTH)
        return skim_item(ps, parts);
    if (!skim_value(ps, parts, &element))
        return false;
    link_child(v, element);
    return true;
}

/* Members or items up to the closing bracket. */
static bool skim_all(struct parser *ps, const struct json_part *parts, struct json *v)
{
    char close = v->type == JSON_OBJECT ? '}' : ']';

    ps->p++;
    skip_space(ps);
    while (ps->p < ps->end && *ps->p != close) {
        if (!skim_element(ps, parts, v))
            return false;
        skip_space(ps);
        if (ps->p < ps->end && *ps->p == ',')
            ps->p++;
        else if (ps->p == ps->end || *ps->p != close)
            return fail(ps, "',' or the end of the list is expected here");
        skip_space(ps);
    }
    if (ps->p == ps->end)
        return fail(ps, "the text ends inside a value");
    ps->p++;
    return true;
}

static bool skim_value(struct parser *ps, const struct json_part *parts, struct json **ret)
{
    struct json *v;
    bool ok;

    skip_space(ps);
    if (ps->p == ps->end || (*ps->p != '{' && *ps->p != '['))
        return parse_value(ps, ret);
    v = arena_alloc(ps->arena, sizeof(*v));
    if (!v)
        return fail_memory(ps);
    v->line = ps->line;
    v->type = *ps->p == '{' ? JSON_OBJECT : JSON_ARRAY;
    *ret = v;
    if (++ps->depth > JSON_DEPTH_LIMIT)
        return fail(ps, "nested too deeply");
    ok = skim_all(ps, parts, v);
    ps->depth--;
    return ok;
}

static struct json *skim(struct arena *a, const char *text, size_t len,
                         const struct json_part *parts, struct items *items, struct err *err)
{
    struct parser ps = {.arena = a,
                        .start = text,
                        .p = text,
                        .end = text + len,
                        .line = 1,
                        .items = items,
                        .err = err};
    struct json *v = NULL;

    return skim_value(&ps, parts, &v) ? v : NULL;
}

struct json *json_skim(struct arena *a, const char *text, size_t len, const struct json_part *parts,
                       struct err *err)
{
    return skim(a, text, len, parts, NULL, err);
}

struct json *json_skim_list(struct arena *a, const char *text, size_t len,
                            const struct json_part *parts, json_item_fn *fn, void *arg,
                            struct err *err)
{
    const struct json_part of_list[] = {
        {"kind", NULL}, {"metadata", NULL}, {"items", parts}, {NULL, NULL}};
    struct items items = {.fn = fn, .arg = arg};
    struct json *list;

    arena_init(&items.arena, a->limit_bytes);
    list = skim(a, text, len, of_list, &items, err);
    arena_release(&items.arena);
    return list;
}
