/* problem.c - see problem.h. Shortens quoted values: a user's value may be a megabyte long. */
#include "api/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define NAME_TEXT_LIMIT 200u
#define VALUE_TEXT_LIMIT 120u
#define DETAIL_LIMIT 1024u

/* What a terminal would obey is shown by its bytes. */
static void add_shown(struct buf *out, const char *text, size_t len)
{
    size_t n;

    for (size_t i = 0; i < len; i += n) {
        n = max_size(utf8_sequence(text + i, len - i), 1);
        if (!utf8_is_control(text + i, n))
            buf_add(out, text + i, n);
        else
            for (const char *c = text + i; c < text + i + n; c++)
                buf_addf(out, "\\x%02x", (unsigned char)*c);
    }
}

static void write_frames(struct buf *out, const struct field_path *at)
{
    if (!at)
        return;
    write_frames(out, at->up);
    if (!at->name)
        buf_addf(out, "[%zu]", at->index);
    else {
        buf_adds(out, at->is_key ? "[" : at->up ? "." : "");
        add_shown(out, at->name, strnlen(at->name, NAME_TEXT_LIMIT));
        buf_adds(out, at->is_key ? "]" : "");
    }
}

void field_path_write(struct buf *out, const struct field_path *at)
{
    struct buf text = BUF_INIT(PATH_TEXT_LIMIT);

    write_frames(&text, at);
    if (text.data)
        buf_add(out, text.data, text.len);
    buf_release(&text);
}

static void write_value(struct buf *out, const struct json *v)
{
    struct buf text = BUF_INIT(64u * 1024u);
    size_t n;

    json_write(&text, v);
    n = text.failed || text.len > VALUE_TEXT_LIMIT ? min_size(text.len, VALUE_TEXT_LIMIT)
                                                   : text.len;
    while (n < text.len && n > 0 && ((unsigned char)text.data[n] & 0xc0) == 0x80)
        n--;
    if (n)
        add_shown(out, text.data, n);
    if (n < text.len || text.failed)
        buf_adds(out, n && text.data[0] == '"' ? "...\"" : "...");
    buf_release(&text);
}

/* Once half of the error's memory is used further causes are dropped: the rest is for the
 * message. */
static bool room_left(const struct err *e)
{
    return e && (!e->causes || e->arena.used_bytes < ERR_LIMIT_BYTES / 2);
}

static void add(struct err *e, const char *type, const struct field_path *at, unsigned line,
                struct buf *message)
{
    struct buf path = BUF_INIT(PATH_TEXT_LIMIT);

    field_path_write(&path, at);
    err_cause(e, type, path.data ? path.data : "", line, "%s", message->data ? message->data : "");
    buf_release(&path);
    buf_release(message);
}

static unsigned line_of(const struct json *v)
{
    return v ? v->line : 0;
}

void problem_required(struct err *e, const struct field_path *at, unsigned line, const char *detail)
{
    struct buf m = BUF_INIT(DETAIL_LIMIT);

    if (!room_left(e))
        return;
    buf_adds(&m, "Required value");
    if (detail)
        buf_addf(&m, ": %s", detail);
    add(e, "FieldValueRequired", at, line, &m);
}

static void add_invalid(struct err *e, const char *type, const struct field_path *at,
                        const struct json *value, const char *detail)
{
    struct buf m = BUF_INIT(2 * DETAIL_LIMIT);

    buf_adds(&m, "Invalid value: ");
    write_value(&m, value);
    buf_addf(&m, ": %s", detail);
    add(e, type, at, line_of(value), &m);
}

void problem_invalid(struct err *e, const struct field_path *at, const struct json *value,
                     const char *fmt, ...)
{
    char detail[DETAIL_LIMIT];
    va_list args;

    if (!room_left(e))
        return;
    va_start(args, fmt);
    (void)vsnprintf(detail, sizeof(detail), fmt, args);
    va_end(args);
    add_invalid(e, "FieldValueInvalid", at, value, detail);
}

void problem_type(struct err *e, const struct field_path *at, const struct json *value,
                  const char *wanted)
{
    if (room_left(e))
        add_invalid(e, "FieldValueTypeInvalid", at, value, wanted);
}

void problem_not_supported(struct err *e, const struct field_path *at, const struct json *value,
                           const char *const *allowed)
{
    struct buf m = BUF_INIT(DETAIL_LIMIT);

    if (!room_left(e))
        return;
    buf_adds(&m, "Unsupported value: ");
    write_value(&m, value);
    buf_adds(&m, ": supported values: ");
    for (size_t i = 0; allowed[i]; i++)
        buf_addf(&m, "%s\"%s\"", i ? ", " : "", allowed[i]);
    add(e, "FieldValueNotSupported", at, line_of(value), &m);
}

void problem_duplicate(struct err *e, const struct field_path *at, const struct json *value)
{
    struct buf m = BUF_INIT(DETAIL_LIMIT);

    if (!room_left(e))
        return;
    buf_adds(&m, "Duplicate value: ");
    write_value(&m, value);
    add(e, "FieldValueDuplicate", at, line_of(value), &m);
}

void problem_forbidden(struct err *e, const struct field_path *at, unsigned line, const char *fmt,
                       ...)
{
    struct buf m = BUF_INIT(2 * DETAIL_LIMIT);
    char detail[DETAIL_LIMIT];
    va_list args;

    if (!room_left(e))
        return;
    va_start(args, fmt);
    (void)vsnprintf(detail, sizeof(detail), fmt, args);
    va_end(args);
    buf_addf(&m, "Forbidden: %s", detail);
    add(e, "FieldValueForbidden", at, line, &m);
}

void problem_too_many(struct err *e, const struct field_path *at, const struct json *value,
                      size_t limit)
{
    struct buf m = BUF_INIT(DETAIL_LIMIT);

    if (!room_left(e))
        return;
    buf_addf(&m, "Too many: %zu: must have at most %zu items", json_len(value), limit);
    add(e, "FieldValueTooMany", at, line_of(value), &m);
}

void problem_summary(struct err *e, const struct kind *k, const struct json *object)
{
    struct buf m = BUF_INIT(ERR_LIMIT_BYTES / 2);
    bool several = e && e->causes && e->causes->next;
    const char *text;

    if (!e)
        return;
    buf_addf(&m, "%s%s%s \"%.253s\" is invalid: %s", k->name, *k->group ? "." : "", k->group,
             json_string(json_get(json_get(object, "metadata"), "name"), ""), several ? "[" : "");
    for (const struct err_cause *c = e->causes; c; c = c->next)
        buf_addf(&m, "%s%s: %s", c == e->causes ? "" : ", ", c->field, c->text);
    if (several)
        buf_addc(&m, ']');
    text = m.data ? arena_strdup(&e->arena, m.data) : NULL;
    if (text)
        e->text = text;
    buf_release(&m);
}
