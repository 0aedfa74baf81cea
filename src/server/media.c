/* media.c - see media.h. Order decides; q-values, which no client of ours sends, are not read. */
#include "server/media.h"

#include <ctype.h>
#include <string.h>

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
    *ret = (struct media){.type = trimmed(a, from, part), .as = "", .group = "", .version = ""};
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

static bool choose(const struct media *m, struct format_choice *ret)
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

int media_choose(struct arena *a, const char *accept, struct format_choice *ret, struct err *err)
{
    const char *at = accept ? accept : "";
    struct media m;
    bool any = false;

    *ret = (struct format_choice){.format = FORMAT_PLAIN, .version = "v1"};
    while (media_next(a, &at, &m)) {
        any = true;
        if (media_is_json(&m) && choose(&m, ret))
            return 0;
    }
    if (!any)
        return 0;
    return err_set(err, ERR_NOT_ACCEPTABLE,
                   "only the following media types are accepted: application/json, "
                   "application/json;as=Table;g=meta.k8s.io;v=v1");
}
