/* json_path.c - see json_path.h. A step is read and taken at once: nothing is compiled. */
#include "api/json_path.h"

#include <stdlib.h>
#include <string.h>

#define STEP_LIMIT_BYTES 254u
#define PATH_DEPTH_LIMIT 64u

enum step_type { STEP_MEMBER, STEP_INDEX, STEP_EACH, STEP_WHERE };

struct step {
    enum step_type type;
    char name[STEP_LIMIT_BYTES + 1];  /* MEMBER: its name; WHERE: the member compared */
    char value[STEP_LIMIT_BYTES + 1]; /* WHERE: what it must be */
    long index;
};

/* Up to one of the stops; a backslash takes the next character as it is. */
static bool read_text(const char **at, const char *stops, char out[STEP_LIMIT_BYTES + 1])
{
    size_t n = 0;

    while (**at && !strchr(stops, **at)) {
        if (**at == '\\' && (*at)[1])
            ++*at;
        if (n == STEP_LIMIT_BYTES)
            return false;
        out[n++] = *(*at)++;
    }
    out[n] = '\0';
    return n > 0;
}

static bool skip(const char **at, const char *text)
{
    size_t len = strlen(text);

    if (strncmp(*at, text, len) != 0)
        return false;
    *at += len;
    return true;
}

/* ?(@.name=="value")] */
static bool read_filter(const char **at, struct step *s)
{
    char quote[2] = {0};

    s->type = STEP_WHERE;
    if (!skip(at, "?(@.") || !read_text(at, "=!<> ", s->name))
        return false;
    *at += strspn(*at, " ");
    if (!skip(at, "=="))
        return false;
    *at += strspn(*at, " ");
    quote[0] = **at;
    if (quote[0] != '"' && quote[0] != '\'')
        return false;
    ++*at;
    if (!read_text(at, quote, s->value) || !skip(at, quote))
        return false;
    *at += strspn(*at, " ");
    return skip(at, ")]");
}

static bool read_brackets(const char **at, struct step *s)
{
    char *end;

    if (**at == '\'' || **at == '"') {
        const char quote[2] = {*(*at)++, '\0'};

        s->type = STEP_MEMBER;
        return read_text(at, quote, s->name) && skip(at, quote) && skip(at, "]");
    }
    if (**at == '?')
        return read_filter(at, s);
    if (skip(at, "*]")) {
        s->type = STEP_EACH;
        return true;
    }
    s->type = STEP_INDEX;
    s->index = strtol(*at, &end, 10);
    if (end == *at)
        return false;
    *at = end;
    return skip(at, "]");
}

static bool read_step(const char **at, struct step *s)
{
    if (**at == '[') {
        ++*at;
        return read_brackets(at, s);
    }
    if (**at != '.')
        return false;
    ++*at;
    if (skip(at, "*")) {
        s->type = STEP_EACH;
        return true;
    }
    s->type = STEP_MEMBER;
    return read_text(at, ".[", s->name);
}

static bool is_selected(const struct step *s, const struct json *item)
{
    return s->type == STEP_EACH || json_string_is(json_get(item, s->name), s->value);
}

static const struct json *walk(const struct json *v, const char *path, unsigned depth)
{
    struct step s = {0};

    if (!v || !*path)
        return v;
    if (depth == PATH_DEPTH_LIMIT || !read_step(&path, &s))
        return NULL;
    switch (s.type) {
    case STEP_MEMBER:
        return walk(json_get(v, s.name), path, depth + 1);
    case STEP_INDEX:
        if (s.index < 0)
            s.index += (long)json_len(v);
        return s.index < 0 ? NULL : walk(json_index(v, (size_t)s.index), path, depth + 1);
    case STEP_EACH:
    case STEP_WHERE:
        json_each (item, v) {
            const struct json *found = is_selected(&s, item) ? walk(item, path, depth + 1) : NULL;

            if (found)
                return found;
        }
        return NULL;
    }
    unreachable();
}

static const char *without_braces(const char *path)
{
    return *path == '$' ? path + 1 : path;
}

const struct json *json_path_first(const struct json *v, const char *path)
{
    return walk(v, without_braces(path), 0);
}

bool json_path_is_valid(const char *path)
{
    unsigned depth = 0;

    for (path = without_braces(path); *path; depth++) {
        struct step s;

        if (depth == PATH_DEPTH_LIMIT || !read_step(&path, &s))
            return false;
    }
    return depth > 0;
}
