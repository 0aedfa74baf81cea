/* http_message.c - see http_message.h. */
#include "net/http_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED_LIMIT_BYTES 4096u
#define SIZE_DIGITS_LIMIT 15u

bool http_is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_text(char c)
{
    return ((unsigned char)c >= 0x20 && c != 0x7f) || c == '\t';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

const char *http_field_parse(char *line, size_t len, struct http_field *ret)
{
    size_t name_len = 0, at;

    if (len > 0 && is_blank(*line))
        return "no line begins with a space: a header's name is at its beginning and a header's "
               "value on the same line";
    while (name_len < len && http_is_token(line[name_len]))
        name_len++;
    if (name_len == 0 || name_len == len || line[name_len] != ':')
        return "a header's name has no spaces and no other signs than !#$%&'*+-.^_`|~, and a colon "
               "right behind it";
    for (at = name_len + 1; at < len; at++)
        if (!is_text(line[at]))
            return "a header's value has no control characters";
    at = name_len + 1;
    while (at < len && is_blank(line[at]))
        at++;
    while (len > at && is_blank(line[len - 1]))
        len--;
    line[name_len] = line[len] = '\0';
    *ret = (struct http_field){.name = line, .value = line + at};
    return NULL;
}

bool http_length_parse(const char *text, uint64_t *ret)
{
    if (!*text || text[strspn(text, "0123456789")] || strlen(text) > HTTP_LENGTH_DIGITS_LIMIT)
        return false;
    *ret = strtoull(text, NULL, 10);
    return true;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool take_size(struct http_chunks *c, char ch)
{
    int digit = digit_of(ch);

    if (digit >= 0 && c->digits < SIZE_DIGITS_LIMIT) {
        c->left = c->left * 16 + (uint64_t)digit;
        c->digits++;
        return true;
    }
    c->state = ch == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_END;
    return c->digits > 0 && (ch == ';' || ch == '\r');
}

static bool skip(struct http_chunks *c, char ch, enum http_chunk_state at_end)
{
    if (ch == '\r')
        c->state = at_end;
    return ch == '\r' || (is_text(ch) && ++c->skipped <= SKIPPED_LIMIT_BYTES);
}

static bool expect(struct http_chunks *c, char ch, char expected, enum http_chunk_state next)
{
    c->state = next;
    return ch == expected;
}

static bool step(struct http_chunks *c, char ch)
{
    switch (c->state) {
    case CHUNK_SIZE:
        return take_size(c, ch);
    case CHUNK_EXTENSION:
        return skip(c, ch, CHUNK_SIZE_END);
    case CHUNK_SIZE_END:
        c->digits = 0;
        return expect(c, ch, '\n', c->left ? CHUNK_DATA : CHUNK_TRAILER);
    case CHUNK_DATA_CR:
        return expect(c, ch, '\r', CHUNK_DATA_END);
    case CHUNK_DATA_END:
        return expect(c, ch, '\n', CHUNK_SIZE);
    case CHUNK_TRAILER:
        c->state = CHUNK_TRAILER_LINE;
        return !is_blank(ch) && skip(c, ch, CHUNKS_END);
    case CHUNK_TRAILER_LINE:
        return skip(c, ch, CHUNK_TRAILER_END);
    case CHUNK_TRAILER_END:
        return expect(c, ch, '\n', CHUNK_TRAILER);
    case CHUNKS_END:
        return expect(c, ch, '\n', CHUNKS_DONE);
    case CHUNK_DATA:
    case CHUNKS_DONE:
        break;
    }
    return false;
}

ssize_t http_chunks_feed(struct http_chunks *c, const char *data, size_t len, const char **content,
                         size_t *content_len)
{
    size_t at = 0;

    *content = data;
    *content_len = 0;
    while (at < len && c->state != CHUNK_DATA && c->state != CHUNKS_DONE)
        if (!step(c, data[at++]))
            return -EPROTO;
    if (c->state == CHUNK_DATA) {
        *content = data + at;
        *content_len = min_size(len - at, c->left);
        c->left -= *content_len;
        at += *content_len;
        if (c->left == 0)
            c->state = CHUNK_DATA_CR;
    }
    return (ssize_t)at;
}
