/* http_head.c - see http_head.h. */
#include "net/http_head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static int refuse(struct http_refusal *why, int status, const char *text)
{
    *why = (struct http_refusal){.status = status, .text = text};
    return -EPROTO;
}

/* --- finding its end --------------------------------------------------------------------- */

static bool is_forbidden(char c, char before)
{
    if (before == '\r' || c == '\n')
        return c != '\n' || before != '\r';
    return ((unsigned char)c < 0x20 && c != '\t' && c != '\r') || c == 0x7f;
}

ssize_t http_head_scan(struct http_head_scan *s, const char *data, size_t len,
                       struct http_refusal *why)
{
    for (; s->seen < len && s->seen < HTTP_HEAD_LIMIT_BYTES; s->seen++) {
        if (is_forbidden(data[s->seen], s->seen > 0 ? data[s->seen - 1] : ' '))
            return refuse(why, 400,
                          "lines of a request end with CR LF, and there are no other control "
                          "characters in a header's name or a header's value");
        if (data[s->seen] != '\n')
            continue;
        if (s->seen + 1 == s->line_at + 2)
            return (ssize_t)++s->seen;
        s->line_at = s->seen + 1;
        s->lines++;
    }
    if (s->seen < HTTP_HEAD_LIMIT_BYTES)
        return 0;
    return s->lines == 0 ? refuse(why, 414, "the path is too long")
                         : refuse(why, 431, "the headers are too long: 16 KiB are read");
}

/* --- parsing ----------------------------------------------------------------------------- */

/* "http://host:port/path", as sent to a proxy, is for that host, whatever Host says (RFC 9112,
 * 3.2.2). Returns the path; the authority, if any, is stored before it. */
static char *path_of(struct http_head *h, char *target)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < ELEMS(schemes); i++) {
        size_t len = strlen(schemes[i]), host_len;
        char *path;

        if (strncasecmp(target, schemes[i], len) != 0)
            continue;
        host_len = strcspn(target + len, "/?#");
        if (host_len == 0)
            return target;
        path = target + len + host_len;
        memmove(target, target + len, host_len); /* makes room for a NUL and a slash */
        target[host_len] = '\0';
        h->authority = target;
        if (*path != '/')
            *--path = '/';
        return path;
    }
    return target;
}

/* "GET /path HTTP/1.1", separated by single spaces. */
static int parse_request_line(struct http_head *h, char *line, size_t len, struct http_refusal *why)
{
    char *method_end = memchr(line, ' ', len), *target = method_end ? method_end + 1 : NULL;
    char *target_end = target ? memchr(target, ' ', len - (size_t)(target - line)) : NULL;
    const char *version = target_end ? target_end + 1 : NULL;
    static const char *const sentence = "a request begins with its method, a path and HTTP/1.1, "
                                        "with one space between them";

    line[len] = '\0';
    if (!version || method_end == line || target_end == target)
        return refuse(why, 400, sentence);
    *method_end = *target_end = '\0';
    if (strlen(version) != 8 || strncmp(version, "HTTP/", 5) != 0)
        return refuse(why, 400, sentence);
    for (const char *c = line; *c; c++)
        if (!http_is_token(*c))
            return refuse(why, 400, "a method is a word");
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return refuse(why, 505, "this server speaks HTTP/1.1");
    for (const char *c = target; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
            return refuse(why, 400, "in a path non-ASCII characters must be percent-encoded");
    target = path_of(h, target);
    if (*target != '/')
        return refuse(why, 400, "a path begins with a slash");
    *h = (struct http_head){.method = line,
                            .target = target,
                            .authority = h->authority,
                            .fields = h->fields,
                            .old = version[7] == '0',
                            .last = version[7] == '0'};
    return 0;
}

static bool list_has(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; *at; at += strcspn(at, ",")) {
        at += strspn(at, ", \t");
        if (strncasecmp(at, word, len) == 0 && strchr(", \t", at[len]))
            return true;
    }
    return false;
}

struct seen {
    unsigned hosts, lengths;
};

static int take_field(struct http_head *h, const struct http_field *f, struct seen *seen,
                      struct http_refusal *why)
{
    bool length = strcasecmp(f->name, "Content-Length") == 0;
    bool coding = strcasecmp(f->name, "Transfer-Encoding") == 0;

    seen->hosts += strcasecmp(f->name, "Host") == 0;
    seen->lengths += length || coding;
    h->last = h->last || (strcasecmp(f->name, "Connection") == 0 && list_has(f->value, "close"));
    if (seen->hosts > 1)
        return refuse(why, 400, "the header Host occurs twice: send it once");
    if (seen->lengths > 1)
        return refuse(why, 400,
                      "a request says its length once: Content-Length or Transfer-Encoding, not "
                      "both");
    if (length && strspn(f->value, "0123456789") > HTTP_LENGTH_DIGITS_LIMIT)
        return refuse(why, 413, "the body is too large");
    if (length && !http_length_parse(f->value, &h->length))
        return refuse(why, 400, "a Content-Length is a number");
    if (coding && strcasecmp(f->value, "chunked") != 0)
        return refuse(why, 501, "the only Transfer-Encoding here is chunked");
    if (coding && h->old)
        return refuse(why, 400, "in HTTP/1.0 there is no Transfer-Encoding");
    h->chunked = h->chunked || coding;
    if (strcasecmp(f->name, "Expect") == 0) {
        if (strcasecmp(f->value, "100-continue") != 0)
            return refuse(why, 417, "the only thing to Expect here is 100-continue");
        h->continues = !h->old;
    }
    return 0;
}

int http_head_parse(struct http_head *h, const struct http_head_scan *s, struct arena *a,
                    const char *data, size_t len, struct http_refusal *why)
{
    char *line = arena_strndup(a, data, len), *stop;
    const char *end, *wrong = NULL;
    struct seen seen = {0};
    int rc;

    *h = (struct http_head){.fields = arena_alloc(a, (s->lines + 1) * sizeof(*h->fields))};
    if (!line || !h->fields)
        return -ENOMEM;
    end = line + len - 2;
    if (s->lines == 0)
        return refuse(why, 400, "a request does not begin with an empty line");
    stop = strchr(line, '\r');
    rc = parse_request_line(h, line, (size_t)(stop - line), why);
    for (line = stop + 2; !wrong && line < end; line = stop + 2) {
        stop = strchr(line, '\r');
        wrong = http_field_parse(line, (size_t)(stop - line), &h->fields[h->field_count++]);
    }
    if (rc == 0 && wrong)
        rc = refuse(why, 400, wrong);
    for (size_t i = 0; rc == 0 && i < h->field_count; i++)
        rc = take_field(h, &h->fields[i], &seen, why);
    for (size_t i = 0; h->authority && i < h->field_count; i++)
        if (strcasecmp(h->fields[i].name, "Host") == 0)
            h->fields[i].value = h->authority;
    if (rc == 0 && seen.hosts == 0 && !h->old)
        rc = refuse(why, 400, "a request has the header Host");
    return rc;
}

const char *http_head_field(const struct http_head *h, const char *name)
{
    for (size_t i = 0; i < h->field_count; i++)
        if (strcasecmp(h->fields[i].name, name) == 0)
            return h->fields[i].value;
    return NULL;
}
