/* http_answer.c - see http_answer.h. */
#include "net/http_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SKIPPED_LIMIT_BYTES 4096u /* of extensions and trailers, which nobody wants */
#define LENGTH_DIGITS_LIMIT 18u

void http_answer_init(struct http_answer *a, bool without_body)
{
    *a = (struct http_answer){.without_body = without_body};
    buf_init(&a->head, HTTP_ANSWER_HEAD_LIMIT_BYTES);
}

void http_answer_release(struct http_answer *a)
{
    buf_release(&a->head);
}

const char *http_answer_field(const struct http_answer *a, const char *name)
{
    for (size_t i = 0; i < a->fields_len; i++)
        if (strcasecmp(a->fields[i].name, name) == 0)
            return a->fields[i].value;
    return NULL;
}

/* --- the head --------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK" */
static int parse_status(struct http_answer *a, const char *line)
{
    if (strncmp(line, "HTTP/1.", 7) != 0 || !is_digit(line[7]) || line[8] != ' ' ||
        !is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11]) ||
        (line[12] && line[12] != ' '))
        return -EPROTO;
    a->status = (int)strtol(line + 9, NULL, 10);
    return a->status >= 100 && a->status < 600 ? 0 : -EPROTO;
}

static int parse_field(struct http_answer *a, char *line)
{
    static const char token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "!#$%&'*+-.^_`|~";
    size_t name_len = strspn(line, token), value_len;
    char *value = line + name_len + 1;

    if (name_len == 0 || line[name_len] != ':' || a->fields_len == HTTP_ANSWER_FIELDS_LIMIT)
        return -EPROTO;
    line[name_len] = '\0';
    value += strspn(value, " \t");
    value_len = strlen(value);
    while (value_len && strchr(" \t", value[value_len - 1]))
        value[--value_len] = '\0';
    for (const char *c = value; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
            return -EPROTO;
    a->fields[a->fields_len++] = (struct http_answer_field){.name = line, .value = value};
    return 0;
}

/* first: its first value; there may be several, all the same. */
static int parse_length(const struct http_answer *a, const char *first, uint64_t *ret)
{
    for (size_t i = 0; i < a->fields_len; i++) {
        const char *value = a->fields[i].value;

        if (strcasecmp(a->fields[i].name, "Content-Length") == 0 &&
            (!value || strcmp(value, first) != 0))
            return -EPROTO;
    }
    if (!*first || strspn(first, "0123456789") != strlen(first) ||
        strlen(first) > LENGTH_DIGITS_LIMIT)
        return -EPROTO;
    *ret = strtoull(first, NULL, 10);
    return 0;
}

static int begin_body(struct http_answer *a)
{
    const char *encoding = http_answer_field(a, "Transfer-Encoding");
    const char *length = http_answer_field(a, "Content-Length");

    if (a->status < 200) { /* the answer itself is still to come; 101 would be another protocol */
        if (a->status == 101 && !a->may_upgrade)
            return -EPROTO;
        if (a->status == 101) {
            a->state = ANSWER_BODY;
            a->to_the_end = true;
        } else {
            a->fields_len = 0;
        }
        return 0;
    }
    if (a->without_body || a->status == 204 || a->status == 304) {
        a->state = ANSWER_DONE;
        return 0;
    }
    if (encoding) {
        a->state = ANSWER_CHUNK_SIZE;
        return strcasecmp(encoding, "chunked") == 0 && !length ? 0 : -EPROTO;
    }
    a->state = ANSWER_BODY;
    a->to_the_end = !length;
    if (!length)
        return 0;
    if (parse_length(a, length, &a->left) < 0)
        return -EPROTO;
    if (a->left == 0)
        a->state = ANSWER_DONE;
    return 0;
}

/* The head is whole: its lines become strings in place. */
static int parse_head(struct http_answer *a, size_t len)
{
    char *line = a->head.data, *end = line + len;

    if (memchr(line, '\0', len))
        return -EPROTO;
    for (bool first = true; line < end; first = false) {
        char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);

        if (!stop)
            return -EPROTO;
        *stop = '\0';
        if (first ? parse_status(a, line) < 0 : parse_field(a, line) < 0)
            return -EPROTO;
        line = stop + 2;
    }
    return begin_body(a);
}

/* How many bytes of data belong to the head; negative: it is none. */
static ssize_t feed_head(struct http_answer *a, const char *data, size_t len)
{
    size_t before = a->head.len, from = before > 3 ? before - 3 : 0;
    const char *blank;
    size_t head_len;

    buf_add(&a->head, data, min_size(len, HTTP_ANSWER_HEAD_LIMIT_BYTES - before));
    if (a->head.failed)
        return -EPROTO;
    blank = memmem(a->head.data + from, a->head.len - from, "\r\n\r\n", 4);
    if (!blank)
        return a->head.len < HTTP_ANSWER_HEAD_LIMIT_BYTES ? (ssize_t)len : -EPROTO;
    head_len = (size_t)(blank - a->head.data) + 4;
    if (parse_head(a, head_len - 2) < 0)
        return -EPROTO;
    if (a->state == ANSWER_HEAD)
        buf_clear(&a->head); /* of an interim answer */
    return (ssize_t)(head_len - before);
}

/* --- the body --------------------------------------------------------------------------- */

static ssize_t feed_bytes(struct http_answer *a, const char *data, size_t len, struct buf *out)
{
    size_t n = a->to_the_end ? len : len < a->left ? len : (size_t)a->left;

    buf_add(out, data, n);
    if (out->failed)
        return -EPROTO;
    if (a->to_the_end)
        return (ssize_t)n;
    a->left -= n;
    if (a->left == 0)
        a->state = a->state == ANSWER_CHUNK ? ANSWER_CHUNK_END : ANSWER_DONE;
    return (ssize_t)n;
}

static int end_size_line(struct http_answer *a)
{
    a->line[a->line_len] = '\0';
    if (a->line_len == 0 || a->line_len > 15)
        return -EPROTO;
    a->left = strtoull(a->line, NULL, 16);
    a->state = a->left ? ANSWER_CHUNK : ANSWER_TRAILER;
    a->line_len = a->skipped = 0;
    a->skipping = false;
    return 0;
}

static int feed_size(struct http_answer *a, char c)
{
    if (c == '\n')
        return a->skipped && end_size_line(a) == 0 ? 0 : -EPROTO;
    if (c == '\r' || c == ';' || c == ' ' || c == '\t')
        a->skipping = true;
    if (a->skipping)
        return ++a->skipped <= SKIPPED_LIMIT_BYTES ? 0 : -EPROTO;
    if (!strchr("0123456789abcdefABCDEF", c) || !c || a->line_len + 1 >= sizeof(a->line))
        return -EPROTO;
    a->line[a->line_len++] = c;
    return 0;
}

static int feed_chunk_end(struct http_answer *a, char c)
{
    if (c != "\r\n"[a->line_len])
        return -EPROTO;
    if (++a->line_len == 2) {
        a->line_len = 0;
        a->state = ANSWER_CHUNK_SIZE;
    }
    return 0;
}

/* Lines until an empty one. */
static int feed_trailer(struct http_answer *a, char c)
{
    if (++a->skipped > SKIPPED_LIMIT_BYTES)
        return -EPROTO;
    if (c == '\n' && a->line_len == 0)
        a->state = ANSWER_DONE;
    else if (c == '\n')
        a->line_len = 0;
    else if (c != '\r')
        a->line_len = 1;
    return 0;
}

int http_answer_feed(struct http_answer *a, const char *data, size_t len, struct buf *out)
{
    while (len > 0) {
        ssize_t n = 1;

        switch (a->state) {
        case ANSWER_HEAD:
            n = feed_head(a, data, len);
            break;
        case ANSWER_BODY:
        case ANSWER_CHUNK:
            n = feed_bytes(a, data, len, out);
            break;
        case ANSWER_CHUNK_SIZE:
            n = feed_size(a, *data) < 0 ? -1 : 1;
            break;
        case ANSWER_CHUNK_END:
            n = feed_chunk_end(a, *data) < 0 ? -1 : 1;
            break;
        case ANSWER_TRAILER:
            n = feed_trailer(a, *data) < 0 ? -1 : 1;
            break;
        case ANSWER_DONE:
            n = -1;
            break;
        }
        if (n < 0)
            return -EPROTO;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

int http_answer_end(struct http_answer *a)
{
    if (a->state == ANSWER_BODY && a->to_the_end)
        a->state = ANSWER_DONE;
    return a->state == ANSWER_DONE ? 0 : -EPROTO;
}
