/* fixture.h - an arena, manifests as text, and the way an object takes through this layer. */
#ifndef MUSTER_TESTS_API_FIXTURE_H
#define MUSTER_TESTS_API_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/object.h"
#include "api/yaml.h"

static struct arena arena = ARENA_INIT(64u * 1024u * 1024u);
static char warnings[8192];

__attribute__((unused)) static int reset(void **state)
{
    (void)state;
    arena_release(&arena);
    warnings[0] = '\0';
    return 0;
}

__attribute__((unused)) static void note_warning(void *arg, const char *text)
{
    (void)arg;
    strncat(warnings, text, sizeof(warnings) - strlen(warnings) - 2);
    strncat(warnings, "\n", sizeof(warnings) - strlen(warnings) - 1);
}

__attribute__((unused)) static struct json *parse(const char *text)
{
    auto_err err = ERR_INIT;
    struct json *v = object_parse(&arena, NULL, NULL, text, strlen(text), note_warning, NULL, &err);

    if (!v)
        print_message("parse: %s\n", err.text);
    assert_non_null(v);
    return v;
}

/* Decoding, defaults, validation, in the order the server does them. */
__attribute__((unused)) static int admit(const struct kind *k, struct json *object,
                                         const struct json *old, enum field_validation mode,
                                         struct err *err)
{
    int rc = object_decode(&arena, k, object, mode, note_warning, NULL, err);

    if (rc < 0)
        return rc;
    object_set_defaults(&arena, k, object);
    return object_validate(k, object, old, err);
}

__attribute__((unused)) static struct json *admitted(const struct kind *k, const char *text)
{
    auto_err err = ERR_INIT;
    struct json *object = parse(text);

    if (admit(k, object, NULL, FIELD_VALIDATION_WARN, &err) < 0)
        print_message("admit: %s\n", err.text);
    assert_false(err_is_set(&err));
    assert_false(arena_failed(&arena));
    return object;
}

__attribute__((unused)) static const char *as_json(const struct json *v)
{
    struct buf out = BUF_INIT(1024u * 1024u);
    const char *text;

    json_write(&out, v);
    text = arena_strdup(&arena, out.data ? out.data : "");
    buf_release(&out);
    return text;
}

#define assert_json(v, text) assert_string_equal(as_json(v), text)

/* Every cause as "LINE field: text" on a line of its own. */
__attribute__((unused)) static const char *causes_of(const struct err *e)
{
    struct buf out = BUF_INIT(1024u * 1024u);
    const char *text;

    for (const struct err_cause *c = e->causes; c; c = c->next)
        buf_addf(&out, "%u %s: %s\n", c->line, c->field, c->text);
    text = arena_strdup(&arena, out.data ? out.data : "");
    buf_release(&out);
    return text;
}

#endif
