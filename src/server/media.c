/* media.c - see media.h. */
#include "server/media.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/protobuf.h"

#define CLAUSES_LIMIT 32u

static const char *trimmed(struct arena *a, const char *from, const char *to)
{
    const char *text;

    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    text = arena_strndup(a, from, (size_t)(to - from));
    return text ? text : "";
}

static void take_parameter(struct arena *a, struct media *m, const char *from, const char *to)
{
    const char *equals = memchr(from, '=', (size_t)(to - from));
    const char *name, *value;

    if (!equals)
        return;
    name = trimmed(a, from, equals);
    value = trimmed(a, equals + 1, to);
    if (strcmp(name, "as") == 0)
        m->as = value;
    else if (strcmp(name, "g") == 0)
        m->group = value;
    else if (strcmp(name, "v") == 0)
        m->version = value;
    else if (strcmp(name, "stream") == 0)
        m->stream = value;
    else if (strcmp(name, "q") == 0)
        m->q = strtod(value, NULL);
}

bool media_next(struct arena *a, const char **at, struct media *ret)
{
    const char *from = *at, *end, *part;

    while (*from == ',' || isspace((unsigned char)*from))
        from++;
    if (!*from)
        return false;
    end = from + strcspn(from, ",");
    part = from + strcspn(from, ",;");
    *ret = (struct media){
        .type = trimmed(a, from, part), .as = "", .group = "", .version = "", .stream = "", .q = 1};
    while (part < end) {
        const char *next = part + 1 + strcspn(part + 1, ",;");

        take_parameter(a, ret, part + 1, next);
        part = next;
    }
    *at = end;
    return true;
}

bool media_is_json(const struct media *m)
{
    return strcmp(m->type, "application/json") == 0 || strcmp(m->type, "*/*") == 0 ||
           strcmp(m->type, "application/*") == 0;
}

static const struct {
    const char *type;
    enum encoding encoding;
} encodings[] = {{"application/json", ENCODING_JSON},
                 {"application/yaml", ENCODING_YAML},
                 {PROTOBUF_TYPE, ENCODING_PROTOBUF}};

const char *media_type(enum encoding encoding)
{
    return encodings[encoding].type;
}

static bool find_encoding(const struct media *m, enum encoding *ret)
{
    *ret = ENCODING_JSON;
    if (media_is_json(m))
        return true;
    for (size_t i = 0; i < ELEMS(encodings); i++)
        if (strcmp(m->type, encodings[i].type) == 0) {
            *ret = encodings[i].encoding;
            return true;
        }
    return false;
}

static bool find_format(const struct media *m, struct format_choice *ret)
{
    static const struct {
        const char *as, *version;
        enum format format;
    } known[] = {
        {"", NULL, FORMAT_PLAIN},
        {"Table", "v1", FORMAT_TABLE},
        {"Table", "v1beta1", FORMAT_TABLE},
        {"PartialObjectMetadata", "v1", FORMAT_PARTIAL},
        {"PartialObjectMetadataList", "v1", FORMAT_PARTIAL},
    };

    for (size_t i = 0; i < ELEMS(known); i++) {
        if (strcmp(m->as, known[i].as) != 0)
            continue;
        if (known[i].version &&
            (strcmp(m->group, "meta.k8s.io") != 0 || strcmp(m->version, known[i].version) != 0))
            continue;
        ret->format = known[i].format;
        ret->version = known[i].version ? known[i].version : "v1";
        return true;
    }
    return false;
}

static bool choose(const struct media *m, bool protobuf, struct format_choice *ret)
{
    bool known = find_encoding(m, &ret->encoding) && find_format(m, ret) &&
                 (!*m->stream ||
                  (strcmp(m->stream, "watch") == 0 && ret->encoding != ENCODING_YAML));

    if (!known || ret->encoding != ENCODING_PROTOBUF)
        return known;
    return ret->format == FORMAT_PARTIAL || (ret->format == FORMAT_PLAIN && protobuf);
}

static int stars(const struct media *m)
{
    const char *slash = strchr(m->type, '/');

    return (m->type[0] == '*') + (slash && slash[1] == '*');
}

/* Highest q first; then the more specific, then the order of appearance. */
static bool comes_before(const struct media *a, const struct media *b)
{
    if (a->q > b->q || a->q < b->q)
        return a->q > b->q;
    return stars(a) < stars(b);
}

static size_t read_clauses(struct arena *a, const char *accept, struct media *clauses)
{
    struct media m;
    size_t n = 0;

    while (n < CLAUSES_LIMIT && media_next(a, &accept, &m)) {
        size_t at = n++;

        for (; at > 0 && comes_before(&m, &clauses[at - 1]); at--)
            clauses[at] = clauses[at - 1];
        clauses[at] = m;
    }
    return n;
}

static int not_acceptable(enum media_purpose purpose, struct err *err)
{
    return err_set(err, ERR_NOT_ACCEPTABLE, "only the following media types are accepted: %s",
                   purpose == MEDIA_WATCH ? "application/json;stream=watch, " PROTOBUF_TYPE
                                            ";stream=watch"
                                          : "application/json, application/yaml, " PROTOBUF_TYPE);
}

int media_choose(struct arena *a, const char *accept, enum media_purpose purpose, bool protobuf,
                 struct format_choice *ret, struct err *err)
{
    struct media clauses[CLAUSES_LIMIT];
    size_t n = accept ? read_clauses(a, accept, clauses) : 0;

    *ret = (struct format_choice){.format = FORMAT_PLAIN, .version = "v1"};
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (choose(&clauses[i], protobuf, ret))
            return purpose == MEDIA_WATCH && ret->encoding == ENCODING_YAML
                       ? not_acceptable(purpose, err)
                       : 0;
    return not_acceptable(purpose, err);
}
