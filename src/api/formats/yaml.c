/*
 * yaml.c - YAML text to values, from libyaml's events. The only file that uses libyaml.
 *
 * Aliases are expanded up to a limit, merge keys are merged, and a repeated key is reported and the
 * last one wins. The result is plain JSON with line numbers.
 */
#include "api/yaml.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "api/formats/yaml_scalar.h"
#include "base/json_keys.h"

/* Values that all aliases of a stream together may expand to: stops "billion laughs". */
#define ALIAS_VALUES_LIMIT 100000u
#define ANCHORS_LIMIT 1000u
#define DOCUMENTS_LIMIT 1000

struct anchor {
    struct anchor *next;
    const char *name;
    const struct json *value;
};

struct loader {
    struct arena *arena;
    const char *text;
    size_t len;
    yaml_parser_t parser;
    struct anchor *anchors;
    unsigned anchors_len, alias_values, depth;
    json_duplicate_fn *duplicate;
    void *duplicate_arg;
    struct err *err;
};

static bool fail_at(struct loader *l, const yaml_mark_t *mark, const char *what)
{
    err_set(l->err, ERR_BAD_REQUEST, "YAML, line %zu, column %zu: %s", mark->line + 1,
            mark->column + 1, what);
    if (l->err && !l->err->line)
        l->err->line = (unsigned)mark->line + 1;
    return false;
}

static bool fail_memory(struct loader *l)
{
    err_set(l->err, ERR_TOO_LARGE, "the document is too large");
    return false;
}

/* Messages of libyaml that do not say what would be right, and what to say instead. */
static const struct {
    const char *problem, *advice;
} advices[] = {
    {"tab character", "YAML is indented with spaces, not with a tab"},
    {"cannot start any token", "a value cannot start with this character: put it in quotes"},
    {"mapping values are not allowed",
     "unexpected \":\": a value that contains \": \" must be in quotes, and a mapping starts on a "
     "line of its own"},
    {"unknown escape character",
     "unknown escape: \\\\ is a backslash in double quotes; single quotes have no escapes"},
    {"did not find expected '-' indicator",
     "did not find expected '-': the items of a list must start in the same column"},
    {"did not find expected key",
     "did not find expected key: the keys of a mapping must start in the same column"},
    {"could not find expected ':'", "expected \"key: value\""},
};

/* libyaml reports a tab like any other character that cannot start a value. */
static bool is_tab(const struct loader *l, const yaml_mark_t *mark)
{
    const char *line = l->text, *end = l->text + l->len, *newline;

    for (size_t n = 0; n < mark->line; n++) {
        newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            return false;
        line = newline + 1;
    }
    for (size_t n = 0; n < mark->column && line < end && *line == ' '; n++)
        line++;
    return line < end && *line == '\t';
}

static const char *advice(const char *problem)
{
    for (size_t i = 0; i < ELEMS(advices); i++)
        if (strstr(problem, advices[i].problem))
            return advices[i].advice;
    return problem;
}

/* What is wrong and, if the construct started on another line, where. */
static bool fail_parser(struct loader *l)
{
    const yaml_parser_t *p = &l->parser;
    const char *text = is_tab(l, &p->problem_mark) ? advices[0].advice
                                                   : advice(p->problem ? p->problem : "malformed");
    bool elsewhere = p->context && p->context_mark.line != p->problem_mark.line;
    char whole[300];

    if (p->error == YAML_MEMORY_ERROR)
        return fail_memory(l);
    if (elsewhere && strstr(p->context, "quoted scalar"))
        (void)snprintf(whole, sizeof(whole), "the quoted text that began on line %zu is not closed",
                       p->context_mark.line + 1);
    else if (elsewhere)
        (void)snprintf(whole, sizeof(whole), "%s (%s that began on line %zu)", text, p->context,
                       p->context_mark.line + 1);
    else
        (void)snprintf(whole, sizeof(whole), "%s", text);
    return fail_at(l, &p->problem_mark, whole);
}

static bool next_event(struct loader *l, yaml_event_t *event)
{
    return yaml_parser_parse(&l->parser, event) ? true : fail_parser(l);
}

static bool load_value(struct loader *l, yaml_event_t *event, struct json **ret);

/* --- anchors -------------------------------------------------------------------------------- */

static bool add_anchor(struct loader *l, const yaml_event_t *event, const char *name,
                       const struct json *value)
{
    struct anchor *a;

    if (!name)
        return true;
    if (++l->anchors_len > ANCHORS_LIMIT)
        return fail_at(l, &event->start_mark, "too many anchors");
    a = arena_alloc(l->arena, sizeof(*a));
    if (!a)
        return fail_memory(l);
    a->name = name;
    a->value = value;
    a->next = l->anchors;
    l->anchors = a;
    return true;
}

static unsigned count_values(const struct json *v, unsigned limit)
{
    unsigned n = 1;

    json_each (item, v)
        if (n <= limit)
            n += count_values(item, limit - n);
    return n;
}

static bool load_alias(struct loader *l, const yaml_event_t *event, struct json **ret)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct anchor *a = l->anchors;
    unsigned left = ALIAS_VALUES_LIMIT - l->alias_values, n;

    while (a && strcmp(a->name, name) != 0)
        a = a->next;
    if (!a) {
        char text[200];

        (void)snprintf(text, sizeof(text),
                       "no value before this is marked &%.60s; text that starts with * must be in "
                       "quotes",
                       name);
        return fail_at(l, &event->start_mark, text);
    }
    n = count_values(a->value, left);
    if (n > left)
        return fail_at(l, &event->start_mark, "the aliases expand to too much");
    l->alias_values += n;
    *ret = json_clone(l->arena, a->value);
    return *ret ? true : fail_memory(l);
}

/* --- scalars -------------------------------------------------------------------------------- */

static bool has_tag(const yaml_event_t *event, const char *name)
{
    const char *tag = (const char *)event->data.scalar.tag;

    return tag && strcmp(tag, name) == 0;
}

static bool load_scalar(struct loader *l, const yaml_event_t *event, struct json **ret)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag;

    plain = plain || has_tag(event, YAML_INT_TAG) || has_tag(event, YAML_FLOAT_TAG) ||
            has_tag(event, YAML_BOOL_TAG) || has_tag(event, YAML_NULL_TAG);
    if (plain && yaml_scalar_is_infinite(text, len))
        return fail_at(l, &event->start_mark, "a number may not be infinite or NaN");
    *ret = plain ? yaml_scalar(l->arena, text, len) : json_new_string_len(l->arena, text, len);
    return *ret ? true : fail_memory(l);
}

/* --- mappings ------------------------------------------------------------------------------- */

struct mapping {
    struct json *object;
    struct json_keys keys;
    struct json *merges; /* values of "<<", in order */
};

static bool is_merge_key(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event->data.scalar.length == 2 &&
           memcmp(event->data.scalar.value, "<<", 2) == 0;
}

/* JSON keys are strings: numbers and booleans become text. */
static bool load_key(struct loader *l, yaml_event_t *event, const char **ret, size_t *ret_len)
{
    struct json *v = NULL;

    if (event->type == YAML_ALIAS_EVENT
            ? !load_alias(l, event, &v)
            : event->type == YAML_SCALAR_EVENT && !load_scalar(l, event, &v))
        return false;
    if (json_is(v, JSON_BOOL))
        v = json_new_string(l->arena, v->u.boolean ? "true" : "false");
    else if (json_is(v, JSON_INT))
        v = json_new_stringf(l->arena, "%lld", (long long)v->u.integer);
    if (arena_failed(l->arena))
        return fail_memory(l);
    if (!json_is(v, JSON_STRING) && !json_is(v, JSON_REAL))
        return fail_at(l, &event->start_mark,
                       "a key must be a string (templates like {{ .Values.x }} must be rendered "
                       "first)");
    *ret = v->u.text;
    *ret_len = v->len;
    return event->type != YAML_SCALAR_EVENT ||
           add_anchor(l, event,
                      event->data.scalar.anchor
                          ? arena_strdup(l->arena, (const char *)event->data.scalar.anchor)
                          : NULL,
                      v);
}

static bool add_member(struct loader *l, struct mapping *m, struct json *value, const char *key,
                       size_t key_len, unsigned line)
{
    struct json *old = json_keys_find(&m->keys, m->object, key, (uint32_t)key_len);

    value->key = key;
    value->key_len = (uint32_t)key_len;
    if (!old) {
        json_append(m->object, value);
        return json_keys_add(l->arena, &m->keys, m->object, value) ? true : fail_memory(l);
    }
    if (l->duplicate)
        l->duplicate(l->duplicate_arg, key, line);
    value->next = old->next;
    *old = *value;
    return true;
}

static bool load_pair(struct loader *l, struct mapping *m, yaml_event_t *key_event)
{
    yaml_event_t event;
    struct json *value = NULL;
    const char *key = NULL;
    size_t key_len = 0;
    unsigned line = (unsigned)key_event->start_mark.line + 1;
    bool merge = is_merge_key(key_event), ok;

    if (!merge && !load_key(l, key_event, &key, &key_len))
        return false;
    if (!next_event(l, &event))
        return false;
    ok = load_value(l, &event, &value);
    if (ok && merge && !json_is(value, JSON_OBJECT) && !json_is(value, JSON_ARRAY))
        ok = fail_at(l, &event.start_mark, "<< needs a mapping or a list of mappings");
    yaml_event_delete(&event);
    if (!ok)
        return false;
    if (!merge) {
        value->line = line;
        return add_member(l, m, value, key, key_len, line);
    }
    if (!m->merges)
        m->merges = json_new_array(l->arena);
    if (json_is(value, JSON_OBJECT))
        json_append(m->merges, value);
    else
        for (struct json *next, *item = json_first_mut(value); item; item = next) {
            next = item->next;
            json_append(m->merges, item);
        }
    return arena_failed(l->arena) ? fail_memory(l) : true;
}

/* Members missing from the mapping come from the merged ones, earlier ones first. */
static bool apply_merges(struct loader *l, struct mapping *m)
{
    for (struct json *from = json_first_mut(m->merges); from; from = from->next)
        for (struct json *next, *v = json_is(from, JSON_OBJECT) ? json_first_mut(from) : NULL; v;
             v = next) {
            next = v->next;
            if (json_keys_find(&m->keys, m->object, v->key, v->key_len))
                continue;
            json_append(m->object, v);
            if (!json_keys_add(l->arena, &m->keys, m->object, v))
                return fail_memory(l);
        }
    return true;
}

static bool load_mapping(struct loader *l, struct json *object)
{
    struct mapping m = {.object = object};
    yaml_event_t event;

    for (;;) {
        bool end, ok = true;

        if (!next_event(l, &event))
            return false;
        end = event.type == YAML_MAPPING_END_EVENT;
        if (!end)
            ok = load_pair(l, &m, &event);
        yaml_event_delete(&event);
        if (!ok)
            return false;
        if (end)
            return apply_merges(l, &m);
    }
}

static bool load_sequence(struct loader *l, struct json *array)
{
    yaml_event_t event;

    for (;;) {
        struct json *item = NULL;
        bool end, ok = true;

        if (!next_event(l, &event))
            return false;
        end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!end)
            ok = load_value(l, &event, &item);
        yaml_event_delete(&event);
        if (!ok || end)
            return ok;
        json_append(array, item);
    }
}

/* --- documents ------------------------------------------------------------------------------ */

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT)
        return event->data.scalar.anchor;
    return event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                   : event->data.sequence_start.anchor;
}

static bool load_value(struct loader *l, yaml_event_t *event, struct json **ret)
{
    unsigned line = (unsigned)event->start_mark.line + 1;
    const char *anchor = NULL;
    bool ok;

    if (event->type == YAML_ALIAS_EVENT) {
        ok = load_alias(l, event, ret);
        if (ok && *ret)
            (*ret)->line = line;
        return ok;
    }
    if (anchor_of(event)) {
        anchor = arena_strdup(l->arena, (const char *)anchor_of(event));
        if (!anchor)
            return fail_memory(l);
    }
    if (event->type == YAML_SCALAR_EVENT) {
        ok = load_scalar(l, event, ret);
    } else {
        bool mapping = event->type == YAML_MAPPING_START_EVENT;

        *ret = mapping ? json_new_object(l->arena) : json_new_array(l->arena);
        if (!*ret)
            return fail_memory(l);
        if (l->depth >= JSON_DEPTH_LIMIT)
            return fail_at(l, &event->start_mark, "nested too deeply");
        l->depth++;
        ok = mapping ? load_mapping(l, *ret) : load_sequence(l, *ret);
        l->depth--;
    }
    if (ok && *ret)
        (*ret)->line = line;
    return ok && add_anchor(l, event, anchor, *ret);
}

static bool load_document(struct loader *l, struct json *documents)
{
    struct json *value = NULL;
    yaml_event_t event;
    bool ok;

    l->anchors = NULL;
    if (!next_event(l, &event))
        return false;
    ok = load_value(l, &event, &value);
    yaml_event_delete(&event);
    if (!ok || !next_event(l, &event))
        return false;
    yaml_event_delete(&event); /* the end of the document */
    if (!json_is_null(value))
        json_append(documents, value);
    return true;
}

static bool load_stream(struct loader *l, struct json *documents)
{
    yaml_event_t event;

    for (unsigned n = 0;;) {
        yaml_event_type_t type;
        yaml_mark_t mark;

        if (!next_event(l, &event))
            return false;
        type = event.type;
        mark = event.start_mark;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT)
            return true;
        if (type != YAML_DOCUMENT_START_EVENT)
            continue;
        if (++n > DOCUMENTS_LIMIT)
            return fail_at(l, &mark, "a file has at most " STRINGIFY(DOCUMENTS_LIMIT) " documents");
        if (!load_document(l, documents))
            return false;
    }
}

struct json *yaml_parse(struct arena *a, const char *text, size_t len, json_duplicate_fn *duplicate,
                        void *arg, struct err *err)
{
    struct loader l = {.arena = a,
                       .text = text,
                       .len = len,
                       .duplicate = duplicate,
                       .duplicate_arg = arg,
                       .err = err};
    struct json *documents = json_new_array(a);
    bool ok;

    if (!documents || !yaml_parser_initialize(&l.parser)) {
        fail_memory(&l);
        return NULL;
    }
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, len);
    ok = load_stream(&l, documents);
    yaml_parser_delete(&l.parser);
    if (ok && arena_failed(a))
        ok = fail_memory(&l);
    return ok ? documents : NULL;
}
