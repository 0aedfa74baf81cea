/* json_write.c - values to text. Output is always valid UTF-8 JSON, whatever bytes the strings
 * hold. */
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

/* 0: as it is; otherwise the letter after the backslash, 'u' for \u00XX. */
static char escape_for(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return c < 0x20 || c == 0x7f ? 'u' : 0;
    }
}

void json_write_string(struct buf *out, const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t from = 0, i = 0;

    buf_addc(out, '"');
    while (i < len) {
        char e = p[i] < 0x80 ? escape_for(p[i]) : 0;
        size_t n = utf8_sequence(text + i, len - i);

        if (!e && n) {
            i += n;
            continue;
        }
        buf_add(out, text + from, i - from);
        if (n == 0)
            buf_adds(out, "\xef\xbf\xbd");
        else if (e == 'u')
            buf_addf(out, "\\u%04x", p[i]);
        else
            buf_add(out, (char[]){'\\', e}, 2);
        from = ++i;
    }
    buf_add(out, text + from, len - from);
    buf_addc(out, '"');
}

static void add_integer(struct buf *out, int64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    if (value < 0)
        digits[--at] = '-';
    buf_add(out, digits + at, sizeof(digits) - at);
}

static void indent(struct buf *out, int depth)
{
    buf_addc(out, '\n');
    for (int i = 0; i < depth; i++)
        buf_adds(out, "  ");
}

/* depth < 0: compact. */
static void write_value(struct buf *out, const struct json *v, int depth)
{
    bool object = json_is(v, JSON_OBJECT);

    switch (json_type_of(v)) {
    case JSON_NULL:
        buf_add(out, "null", 4);
        return;
    case JSON_BOOL:
        buf_adds(out, v->u.boolean ? "true" : "false");
        return;
    case JSON_INT:
        add_integer(out, v->u.integer);
        return;
    case JSON_REAL:
        buf_add(out, v->u.text, v->len);
        return;
    case JSON_STRING:
        json_write_string(out, v->u.text, v->len);
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    buf_addc(out, object ? '{' : '[');
    json_each (item, v) {
        if (item != json_first(v))
            buf_addc(out, ',');
        if (depth >= 0)
            indent(out, depth + 1);
        if (object) {
            json_write_string(out, item->key, item->key_len);
            buf_adds(out, depth >= 0 ? ": " : ":");
        }
        write_value(out, item, depth >= 0 ? depth + 1 : -1);
    }
    if (depth >= 0 && json_first(v))
        indent(out, depth);
    buf_addc(out, object ? '}' : ']');
}

void json_write(struct buf *out, const struct json *v)
{
    write_value(out, v, -1);
}

void json_write_pretty(struct buf *out, const struct json *v)
{
    write_value(out, v, 0);
    buf_addc(out, '\n');
}
