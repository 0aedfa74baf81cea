/* last_applied.c - see last_applied.h. */
#include "cli/last_applied.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"

#define TEXT_LIMIT_BYTES (16u * 1024u * 1024u)
/* Of the 256 KiB for all annotations. A larger one is omitted. */
#define ANNOTATION_LIMIT_BYTES (200u * 1024u)

/* --- writing as Go's encoding/json does: sorted members, HTML characters escaped --- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(const struct json *const *)a)->key, (*(const struct json *const *)b)->key);
}

static void write_text(struct buf *out, const char *text, size_t len)
{
    struct buf plain = BUF_INIT(TEXT_LIMIT_BYTES);

    json_write_string(&plain, text, len);
    for (size_t i = 0; i < plain.len; i++) {
        char c = plain.data[i];

        if (c == '<' || c == '>' || c == '&')
            buf_addf(out, "\\u%04x", (unsigned)c);
        else if (i + 2 < plain.len && memcmp(plain.data + i, "\xe2\x80", 2) == 0 &&
                 ((unsigned char)plain.data[i + 2] | 1) == 0xa9) {
            buf_addf(out, "\\u202%x", (unsigned char)plain.data[i + 2] & 0xf);
            i += 2;
        } else
            buf_addc(out, c);
    }
    buf_release(&plain);
}

static void write_real(struct buf *out, const char *text)
{
    double value = strtod(text, NULL);
    char shortest[40];

    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(shortest, sizeof(shortest), "%.*g", digits, value);
        if (strtod(shortest, NULL) == value)
            break;
    }
    if (value == (double)(int64_t)value && value > -1e15 && value < 1e15)
        (void)snprintf(shortest, sizeof(shortest), "%lld", (long long)value);
    buf_adds(out, shortest);
}

static void write_sorted(struct arena *a, struct buf *out, const struct json *v);

static void write_members(struct arena *a, struct buf *out, const struct json *object)
{
    const struct json **sorted = arena_alloc(a, (json_len(object) + 1) * sizeof(*sorted));
    size_t len = 0;

    if (!sorted)
        return;
    json_each (m, object)
        sorted[len++] = m;
    qsort(sorted, len, sizeof(*sorted), compare_keys);
    for (size_t i = 0; i < len; i++) {
        if (i)
            buf_addc(out, ',');
        write_text(out, sorted[i]->key, sorted[i]->key_len);
        buf_addc(out, ':');
        write_sorted(a, out, sorted[i]);
    }
}

static void write_sorted(struct arena *a, struct buf *out, const struct json *v)
{
    if (json_is(v, JSON_OBJECT)) {
        buf_addc(out, '{');
        write_members(a, out, v);
        buf_addc(out, '}');
    } else if (json_is(v, JSON_ARRAY)) {
        buf_addc(out, '[');
        json_each (item, v) {
            if (item != json_first(v))
                buf_addc(out, ',');
            write_sorted(a, out, item);
        }
        buf_addc(out, ']');
    } else if (json_is(v, JSON_STRING)) {
        write_text(out, v->u.text, v->len);
    } else if (json_is(v, JSON_REAL)) {
        write_real(out, v->u.text);
    } else {
        json_write(out, v);
    }
}

/* --- the annotation --- */

void last_applied_set(struct arena *a, struct json *object, const struct json *said)
{
    struct json *whole = json_clone(a, said);
    struct buf out = BUF_INIT(TEXT_LIMIT_BYTES);

    (void)json_remove(json_make_object(a, json_make_object(a, whole, "metadata"), "annotations"),
                      ANNOTATION_LAST_APPLIED);
    write_sorted(a, &out, whole);
    buf_addc(&out, '\n');
    if (!out.failed && out.data && out.len <= ANNOTATION_LIMIT_BYTES)
        json_set(a, json_make_object(a, json_make_object(a, object, "metadata"), "annotations"),
                 ANNOTATION_LAST_APPLIED, json_new_string_len(a, out.data, out.len));
    buf_release(&out);
}

static const struct json *last_time(struct arena *a, const struct json *found)
{
    const char *text = object_annotation(found, ANNOTATION_LAST_APPLIED);
    auto_err ignored = ERR_INIT;

    return text ? json_parse(a, text, strlen(text), &ignored) : NULL;
}

static bool holds(const struct json *found, const struct json *config)
{
    const struct json *other = json_first(found);

    if (json_is(config, JSON_OBJECT)) {
        json_each (m, config)
            if (!json_is_null(m) && !holds(json_get(found, m->key), m))
                return false;
        return json_is(found, JSON_OBJECT) || json_len(config) == 0;
    }
    if (!json_is(config, JSON_ARRAY))
        return json_equal(found, config);
    if (json_len(found) != json_len(config))
        return false;
    json_each (item, config) {
        if (!holds(other, item))
            return false;
        other = other->next;
    }
    return true;
}

bool last_applied_is_current(struct arena *a, const struct json *found, const struct json *said,
                             const struct json *config)
{
    struct json *now = json_new_object(a), *body = json_clone(a, config);

    /* As it would be written: with annotations, but without the annotation itself. */
    last_applied_set(a, now, said);
    (void)json_remove(body, "status");
    return object_annotation(now, ANNOTATION_LAST_APPLIED) &&
           json_equal(last_time(a, found), last_time(a, now)) && holds(found, body);
}

static void add_removals(struct arena *a, struct json *patch, const struct json *before,
                         const struct json *said)
{
    json_each (m, before) {
        const struct json *still = json_get(said, m->key);

        if (json_is_null(still))
            json_set(a, patch, m->key, json_new_null(a));
        else if (json_is(m, JSON_OBJECT) && json_is(still, JSON_OBJECT))
            add_removals(a, json_make_object(a, patch, m->key), m, still);
    }
}

void last_applied_add_removals(struct arena *a, struct json *patch, const struct json *found,
                               const struct json *said)
{
    const struct json *before = last_time(a, found);

    if (json_is(before, JSON_OBJECT))
        add_removals(a, patch, before, said);
}
