/*
 * yaml_write.c - values to block-style YAML as kubectl prints it. Strings that would be read back
 * as something else are quoted, so that reading the output always gives the same value.
 */
#include <string.h>

#include "api/formats/yaml_scalar.h"
#include "api/yaml.h"
#include "base/utf8.h"

/* libyaml recognizes the ':' of a key only within 1024 characters; longer keys are written with
 * '?'. */
#define SIMPLE_KEY_LIMIT 128u

static unsigned code_point(const unsigned char *p, size_t n)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned cp = p[0] & masks[n];

    for (size_t i = 1; i < n; i++)
        cp = cp << 6 | (p[i] & 0x3fu);
    return cp;
}

/* What a reader may reject, or take for a line break, unless escaped. */
static bool needs_escape(unsigned cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp <= 0xa0) || cp == 0x2028 || cp == 0x2029 ||
           cp == 0xfeff || cp == 0xfffe || cp == 0xffff;
}

static bool is_clean(const char *text, size_t len, bool line_breaks)
{
    for (size_t i = 0; i < len;) {
        size_t n = utf8_sequence(text + i, len - i);

        if (n == 0 || (needs_escape(code_point((const unsigned char *)text + i, n)) &&
                       !(line_breaks && text[i] == '\n')))
            return false;
        i += n;
    }
    return true;
}

static bool looks_like_time(const char *text, size_t len)
{
    return len >= 8 && strspn(text, "0123456789") == 4 && text[4] == '-';
}

/* Whether the text needs no quotes, as a value or as a key. */
static bool is_plain(const char *text, size_t len)
{
    if (len == 0 || !yaml_scalar_is_string(text, len) || !is_clean(text, len, false) ||
        looks_like_time(text, len))
        return false;
    if (strchr(" ,[]{}#&*!|>'\"%@`=<", text[0]) || text[len - 1] == ' ' || text[len - 1] == ':')
        return false;
    if (strchr("-?:.", text[0]) && (len == 1 || text[1] == ' ' || text[1] == text[0]))
        return false;
    for (size_t i = 0; i + 1 < len; i++)
        if ((text[i] == ':' && text[i + 1] == ' ') || (text[i] == ' ' && text[i + 1] == '#'))
            return false;
    return true;
}

static void write_quoted(struct buf *out, const char *text, size_t len)
{
    static const char from[] = "\"\\\n\r\t\b\f", into[] = "\"\\nrtbf";

    buf_addc(out, '"');
    for (size_t i = 0; i < len;) {
        size_t n = utf8_sequence(text + i, len - i);
        const char *e = n == 1 && text[i] ? strchr(from, text[i]) : NULL;

        if (n == 0)
            buf_adds(out, "\xef\xbf\xbd");
        else if (e)
            buf_add(out, (char[]){'\\', into[e - from]}, 2);
        else if (needs_escape(code_point((const unsigned char *)text + i, n)))
            buf_addf(out, "\\u%04x", code_point((const unsigned char *)text + i, n));
        else
            buf_add(out, text + i, n);
        i += n ? n : 1;
    }
    buf_addc(out, '"');
}

static void indent(struct buf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_adds(out, "  ");
}

/* Multi-line text that can be written as a literal block. */
static bool is_block(const char *text, size_t len)
{
    if (!memchr(text, '\n', len) || strchr(" \t\n", text[0]) || !is_clean(text, len, true))
        return false;
    for (size_t i = 0; i + 1 < len; i++) /* a block would lose a whitespace-only line */
        if (text[i] == ' ' && text[i + 1] == '\n')
            return false;
    return text[len - 1] != ' ';
}

static void write_block(struct buf *out, const char *text, size_t len, int depth)
{
    bool ends = text[len - 1] == '\n', keep = len > 1 && ends && text[len - 2] == '\n';

    buf_adds(out, keep ? "|+" : ends ? "|" : "|-");
    for (size_t from = 0; from < len;) {
        const char *newline = memchr(text + from, '\n', len - from);
        size_t n = newline ? (size_t)(newline - (text + from)) : len - from;

        buf_addc(out, '\n');
        if (n) {
            indent(out, depth);
            buf_add(out, text + from, n);
        }
        from += n + 1;
    }
}

static void write_string(struct buf *out, const char *text, size_t len, int depth)
{
    if (len && is_block(text, len))
        write_block(out, text, len, depth);
    else if (is_plain(text, len))
        buf_add(out, text, len);
    else
        write_quoted(out, text, len);
}

static void write_value(struct buf *out, const struct json *v, int depth);

static void write_scalar(struct buf *out, const struct json *v, int depth)
{
    if (json_is(v, JSON_STRING))
        write_string(out, v->u.text, v->len, depth);
    else if (json_is(v, JSON_ARRAY))
        buf_adds(out, "[]");
    else if (json_is(v, JSON_OBJECT))
        buf_adds(out, "{}");
    else
        json_write(out, v);
}

static void write_key(struct buf *out, const struct json *m, int depth)
{
    bool simple = m->key_len <= SIMPLE_KEY_LIMIT;

    if (!simple)
        buf_adds(out, "? ");
    if (is_plain(m->key, m->key_len))
        buf_add(out, m->key, m->key_len);
    else
        write_quoted(out, m->key, m->key_len);
    if (!simple) {
        buf_addc(out, '\n');
        indent(out, depth);
    }
    buf_addc(out, ':');
}

/* A list below a key is indented like the key itself, as kubectl does. After "- " the first line is
 * already indented. */
static void write_members(struct buf *out, const struct json *object, int depth)
{
    json_each (m, object) {
        bool nested = json_len(m) > 0;

        if (m != json_first(object))
            indent(out, depth);
        write_key(out, m, depth);
        if (!nested) {
            buf_addc(out, ' ');
            write_scalar(out, m, depth + 1);
            buf_addc(out, '\n');
            continue;
        }
        buf_addc(out, '\n');
        indent(out, json_is(m, JSON_ARRAY) ? depth : depth + 1);
        write_value(out, m, json_is(m, JSON_ARRAY) ? depth : depth + 1);
    }
}

static void write_items(struct buf *out, const struct json *array, int depth)
{
    json_each (item, array) {
        if (item != json_first(array))
            indent(out, depth);
        buf_adds(out, "- ");
        if (json_len(item) > 0) {
            write_value(out, item, depth + 1);
        } else {
            write_scalar(out, item, depth + 1);
            buf_addc(out, '\n');
        }
    }
}

/* Ends with a newline. */
static void write_value(struct buf *out, const struct json *v, int depth)
{
    if (json_len(v) == 0) {
        write_scalar(out, v, depth + 1);
        buf_addc(out, '\n');
    } else if (json_is(v, JSON_OBJECT)) {
        write_members(out, v, depth);
    } else {
        write_items(out, v, depth);
    }
}

void yaml_write(struct buf *out, const struct json *v)
{
    write_value(out, v, 0);
}
