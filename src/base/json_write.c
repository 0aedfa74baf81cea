/* json_write.c - values to text. Output is always valid UTF-8 JSON, whatever bytes the strings
 * hold. */

#include "base/json.h"
#include "base/json_plain.h"
#include "base/utf8.h"

/* How a byte that is not plain is written. 'u': as \u00XX; 'x': start of a longer sequence;
 * otherwise the letter after the backslash. */
static const char escapes[256] = {
    [0x00 ... 0x07] = 'u', ['\b'] = 'b',  ['\t'] = 't', ['\n'] = 'n',
    [0x0b] = 'u',          ['\f'] = 'f',  ['\r'] = 'r', [0x0e ... 0x1f] = 'u',
    ['"'] = '"',           ['\\'] = '\\', [0x7f] = 'u', [0x80 ... 0xff] = 'x',
};

static void write_escaped(struct buf *out, unsigned char c)
{
    char letter = escapes[c];

    if (letter == 'u')
        buf_addf(out, "\\u%04x", c);
    else
        buf_add(out, (char[]){'\\', letter}, 2);
}

void json_write_string(struct buf *out, const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t from = 0, i = 0;

    buf_addc(out, '"');
    while (i < len) {
        size_t n;

        i += json_plain_length(text + i, len - i);
        if (i == len)
            break;
        n = escapes[p[i]] == 'x' ? utf8_sequence(text + i, len - i) : 0;
        if (n) {
            i += n;
            continue;
        }
        buf_add(out, text + from, i - from);
        if (p[i] >= 0x80)
            buf_adds(out, "\xef\xbf\xbd");
        else
            write_escaped(out, p[i]);
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
