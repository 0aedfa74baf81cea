/* http_answer.c - see http_answer.h. */
#include "net/http_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* first: its first value; repeated ones must be equal. */
static int parse_length(const struct http_answer *a, const char *first, uint64_t *ret)
{
    for (size_t i = 0; i < a->fields_len; i++) {
        const char *value = a->fields[i].value;

        if (strcasecmp(a->fields[i].name, "Content-Length") == 0 &&
            (!value || strcmp(value, first) != 0))
            return -EPROTO;
    }
    return http_length_parse(first, ret) ? 0 : -EPROTO;
}

static int begin_body(struct http_answer *a)
{
    const char *encoding = http_answer_field(a, "Transfer-Encoding");
    const char *length = http_answer_field(a, "Content-Length");

    if (a->status < 200) { /* the answer is still to come; 101 would switch protocols */
        if (a->status == 101 && !a->may_upgrade)
            return -EPROTO;
        if (a->status == 101) {
            a->state = ANSWER_BODY;
            a->to_the_end = true;
        } else {
            a->fields_len = 0;
            a->interim++;
        }
        return a->interim > HTTP_ANSWER_INTERIM_LIMIT ? -EPROTO : 0;
    }
    if (a->without_body || a->status == 204 || a->status == 304) {
        a->state = ANSWER_DONE;
        return 0;
    }
    if (encoding) {
        a->state = ANSWER_CHUNKS;
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

/* The head is complete: its lines become strings in place. */
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
        if (first ? parse_status(a, line) < 0
                  : a->fields_len == HTTP_ANSWER_FIELDS_LIMIT ||
                        http_field_parse(line, (size_t)(stop - line), &a->fields[a->fields_len++]))
            return -EPROTO;
        line = stop + 2;
    }
    return begin_body(a);
}

/* How many bytes of data belong to the head; negative: invalid. */
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
        a->state = ANSWER_DONE;
    return (ssize_t)n;
}

static ssize_t feed_chunks(struct http_answer *a, const char *data, size_t len, struct buf *out)
{
    const char *content;
    size_t content_len;
    ssize_t n = http_chunks_feed(&a->chunks, data, len, &content, &content_len);

    buf_add(out, content, content_len);
    if (a->chunks.state == CHUNKS_DONE)
        a->state = ANSWER_DONE;
    return out->failed ? -EPROTO : n;
}

int http_answer_feed(struct http_answer *a, const char *data, size_t len, struct buf *out)
{
    while (len > 0) {
        ssize_t n = -1;

        switch (a->state) {
        case ANSWER_HEAD:
            n = feed_head(a, data, len);
            break;
        case ANSWER_BODY:
            n = feed_bytes(a, data, len, out);
            break;
        case ANSWER_CHUNKS:
            n = feed_chunks(a, data, len, out);
            break;
        case ANSWER_DONE:
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
