/*
 * expand.c - see expand.h. As in Kubernetes, values are not expanded recursively and an unclosed $(
 * is plain text; manifests depend on both.
 */
#include "core/expand.h"

#include <string.h>

struct writer {
    char *out; /* NULL while measuring */
    size_t len;
};

static void put(struct writer *w, const char *text, size_t len)
{
    if (w->out)
        memcpy(w->out + w->len, text, len);
    w->len += len;
}

/* Handles the $ at text; returns the number of bytes consumed. */
static size_t put_dollar(struct writer *w, const char *text, expand_lookup_fn *lookup, void *arg)
{
    const char *end, *value;

    if (text[1] == '$') {
        put(w, "$", 1);
        return 2;
    }
    end = text[1] == '(' ? strchr(text, ')') : NULL;
    if (!end) {
        put(w, "$", 1);
        return 1;
    }
    value = lookup(arg, text + 2, (size_t)(end - text) - 2);
    if (value)
        put(w, value, strlen(value));
    else
        put(w, text, (size_t)(end - text) + 1);
    return (size_t)(end - text) + 1;
}

static void write_expanded(struct writer *w, const char *text, expand_lookup_fn *lookup, void *arg)
{
    while (*text) {
        size_t plain = strcspn(text, "$");

        put(w, text, plain);
        text += plain;
        if (*text)
            text += put_dollar(w, text, lookup, arg);
    }
}

const char *expand_vars(struct arena *a, const char *text, expand_lookup_fn *lookup, void *arg)
{
    struct writer w = {0};

    write_expanded(&w, text, lookup, arg);
    w.out = arena_alloc(a, w.len + 1);
    if (!w.out)
        return NULL;
    w.len = 0;
    write_expanded(&w, text, lookup, arg);
    return w.out;
}
