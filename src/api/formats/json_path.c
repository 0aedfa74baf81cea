/* json_path.c - see json_path.h. Steps are evaluated as they are parsed; nothing is compiled. */
#include "api/json_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STEP_LIMIT_BYTES 254u
#define PATH_DEPTH_LIMIT 64u

enum step_type { STEP_MEMBER, STEP_INDEX, STEP_SLICE, STEP_EACH, STEP_WHERE, STEP_BELOW };

enum relation { IS_THERE, EQUAL, UNEQUAL, LESS, LESS_OR_EQUAL, MORE, MORE_OR_EQUAL };

#define NO_END LONG_MAX

struct step {
    enum step_type type;
    char name[STEP_LIMIT_BYTES + 1];  /* MEMBER, BELOW: its name; WHERE: path of the operand */
    char value[STEP_LIMIT_BYTES + 1]; /* WHERE: the value to compare with */
    enum relation relation;           /* WHERE */
    long index, end, by;              /* end and by only for SLICE */
};

/* Reads up to one of the stops; a backslash escapes the next character. */
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

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " ");
}

static enum relation read_relation(const char **at)
{
    static const struct {
        const char *text;
        enum relation relation;
    } all[] = {{"==", EQUAL},         {"!=", UNEQUAL}, {"<=", LESS_OR_EQUAL},
               {">=", MORE_OR_EQUAL}, {"<", LESS},     {">", MORE}};

    for (size_t i = 0; i < ELEMS(all); i++)
        if (skip(at, all[i].text))
            return all[i].relation;
    return IS_THERE;
}

/* ?(@.name=="value")], ?(@.a.b>3)], ?(@.name)] */
static bool read_filter(const char **at, struct step *s)
{
    char quote[2] = {0};
    bool ok;

    s->type = STEP_WHERE;
    if (!skip(at, "?(@") || !read_text(at, "=!<> )", s->name))
        return false;
    skip_blanks(at);
    s->relation = read_relation(at);
    skip_blanks(at);
    if (s->relation != IS_THERE) {
        quote[0] = **at;
        if (quote[0] == '"' || quote[0] == '\'') {
            ++*at;
            ok = read_text(at, quote, s->value) && skip(at, quote);
        } else {
            ok = read_text(at, " )", s->value);
        }
        if (!ok)
            return false;
    }
    skip_blanks(at);
    return skip(at, ")]");
}

static bool read_number(const char **at, long *ret)
{
    char *end;
    long n = strtol(*at, &end, 10);

    if (end == *at)
        return false;
    *ret = n;
    *at = end;
    return true;
}

/* The rest of a slice after its optional first number: [1:], [-1:], [:3], [0:9:2]. */
static bool read_slice(const char **at, struct step *s)
{
    s->type = STEP_SLICE;
    s->end = NO_END;
    s->by = 1;
    (void)read_number(at, &s->end);
    if (skip(at, ":"))
        (void)read_number(at, &s->by);
    return s->by > 0 && skip(at, "]");
}

static bool read_brackets(const char **at, struct step *s)
{
    bool numbered;

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
    numbered = read_number(at, &s->index);
    if (skip(at, ":"))
        return read_slice(at, s);
    return numbered && skip(at, "]");
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
    s->type = skip(at, ".") ? STEP_BELOW : STEP_MEMBER;
    return read_text(at, ".[", s->name);
}

static const struct json *walk(const struct json *v, const char *path, unsigned depth);

static int compare(const struct json *v, const char *text)
{
    double a, b;

    if (json_is(v, JSON_STRING))
        return strcmp(v->u.text, text);
    if (json_is(v, JSON_BOOL))
        return strcmp(v->u.boolean ? "true" : "false", text);
    a = json_is(v, JSON_INT) ? (double)v->u.integer
                             : strtod(json_is(v, JSON_REAL) ? v->u.text : "", NULL);
    b = strtod(text, NULL);
    return a < b ? -1 : a > b;
}

static bool is_selected(const struct step *s, const struct json *item, unsigned depth)
{
    const struct json *v = s->type == STEP_WHERE ? walk(item, s->name, depth + 1) : NULL;
    int order = v && s->relation != IS_THERE ? compare(v, s->value) : 0;

    if (s->type == STEP_EACH || !v)
        return s->type == STEP_EACH;
    switch (s->relation) {
    case IS_THERE:
        return true;
    case EQUAL:
        return order == 0;
    case UNEQUAL:
        return order != 0;
    case LESS:
        return order < 0;
    case LESS_OR_EQUAL:
        return order <= 0;
    case MORE:
        return order > 0;
    case MORE_OR_EQUAL:
        return order >= 0;
    }
    unreachable();
}

/* A negative index counts from the end; the result is clamped to 0 .. len. */
static long place(long index, long len)
{
    if (index < 0)
        index += len;
    return index < 0 ? 0 : index > len ? len : index;
}

static const struct json *walk_slice(const struct json *v, const struct step *s, const char *path,
                                     unsigned depth)
{
    long len = (long)json_len(v), end = s->end == NO_END ? len : place(s->end, len);

    for (long i = place(s->index, len); i < end; i += s->by) {
        const struct json *found = walk(json_index(v, (size_t)i), path, depth + 1);

        if (found)
            return found;
    }
    return NULL;
}

/* The member, here or at any depth. */
static const struct json *walk_below(const struct json *v, const char *name, const char *path,
                                     unsigned depth)
{
    const struct json *found = walk(json_get(v, name), path, depth + 1);

    if (depth == PATH_DEPTH_LIMIT)
        return NULL;
    json_each (child, v)
        if (!found)
            found = walk_below(child, name, path, depth + 1);
    return found;
}

static const struct json *walk(const struct json *v, const char *path, unsigned depth)
{
    struct step s = {0};

    if (!v || !*path)
        return v;
    if (depth >= PATH_DEPTH_LIMIT || !read_step(&path, &s))
        return NULL;
    switch (s.type) {
    case STEP_MEMBER:
        return walk(json_get(v, s.name), path, depth + 1);
    case STEP_INDEX:
        if (s.index < 0)
            s.index += (long)json_len(v);
        return s.index < 0 ? NULL : walk(json_index(v, (size_t)s.index), path, depth + 1);
    case STEP_SLICE:
        return walk_slice(v, &s, path, depth);
    case STEP_BELOW:
        return walk_below(v, s.name, path, depth);
    case STEP_EACH:
    case STEP_WHERE:
        json_each (item, v) {
            const struct json *found = is_selected(&s, item, depth) ? walk(item, path, depth + 1)
                                                                    : NULL;

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
        struct step s = {0};

        if (depth == PATH_DEPTH_LIMIT || !read_step(&path, &s))
            return false;
    }
    return depth > 0;
}
