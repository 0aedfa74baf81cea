/* sweep_grid.c - see sweep_grid.h. */
#include "cli/sweep_grid.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define WORD_LIMIT_BYTES (1024u * 1024u)
#define LABEL_VALUE_LIMIT 63u

/* Length of the name in "{name}" at text; 0: none. */
static size_t placeholder(const char *text)
{
    size_t len = 0;

    if (*text != '{' || !(isalpha((unsigned char)text[1]) || text[1] == '_'))
        return 0;
    while (isalnum((unsigned char)text[1 + len]) || strchr("_-.", text[1 + len]))
        if (!text[1 + len++])
            return 0;
    return text[1 + len] == '}' ? len : 0;
}

static const struct sweep_parameter *find(const struct sweep_grid *g, const char *name, size_t len)
{
    for (size_t i = 0; i < g->parameters_len; i++)
        if (strlen(g->parameters[i].name) == len && memcmp(g->parameters[i].name, name, len) == 0)
            return &g->parameters[i];
    return NULL;
}

static bool is_used(const char *name, const char *const *command, size_t len)
{
    for (size_t i = 0; i < len; i++)
        for (const char *p = strchr(command[i], '{'); p; p = strchr(p + 1, '{'))
            if (placeholder(p) == strlen(name) && memcmp(p + 1, name, strlen(name)) == 0)
                return true;
    return false;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i]))
            return false;
    return (isalpha((unsigned char)name[0]) || name[0] == '_') && len <= LABEL_VALUE_LIMIT &&
           isalnum((unsigned char)name[len - 1]);
}

static int read_set(struct arena *a, const char *item, struct sweep_parameter *ret, struct err *err)
{
    const char *equals = strchr(item, '=');
    char *text = equals && equals[1] ? arena_strdup(a, equals + 1) : NULL;
    size_t most = 1;

    if (!text) {
        err_set(err, ERR_BAD_REQUEST, "--set takes NAME=VALUE,VALUE,..., not '%s'", item);
        err_hint(err, "like --set lr=0.1,0.01");
        return -EINVAL;
    }
    ret->name = arena_strndup(a, item, (size_t)(equals - item));
    for (const char *p = text; *p; p++)
        most += *p == ',';
    ret->values = arena_alloc(a, most * sizeof(*ret->values));
    if (!ret->name || !ret->values)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (!is_name(ret->name))
        return err_set(err, ERR_BAD_REQUEST,
                       "--set %s: a name has letters, digits, '_', '-' and '.', and begins with a "
                       "letter",
                       item);
    for (char *value = text, *comma; value; value = comma ? comma + 1 : NULL) {
        comma = strchr(value, ',');
        if (comma)
            *comma = '\0';
        for (size_t i = 0; i < ret->len; i++)
            if (strcmp(ret->values[i], value) == 0)
                return err_set(err, ERR_BAD_REQUEST, "--set %s: '%s' is given twice", ret->name,
                               value);
        ret->values[ret->len++] = value;
    }
    return 0;
}

int sweep_grid_read(struct arena *a, const struct option_list *sets, const char *const *command,
                    size_t command_len, struct sweep_grid *ret, struct err *err)
{
    *ret = (struct sweep_grid){.jobs = 1};
    if (sets->len > SWEEP_PARAMETERS_LIMIT)
        return err_set(err, ERR_BAD_REQUEST, "--set can be given at most %u times",
                       SWEEP_PARAMETERS_LIMIT);
    for (size_t i = 0; i < sets->len; i++) {
        struct sweep_parameter p = {0};
        int r = read_set(a, sets->items[i], &p, err);

        if (r)
            return r;
        if (find(ret, p.name, strlen(p.name)))
            return err_set(err, ERR_BAD_REQUEST, "--set %s is given twice", p.name);
        if (!is_used(p.name, command, command_len)) {
            err_set(err, ERR_BAD_REQUEST, "--set %s: the command has no {%s}", p.name, p.name);
            err_hint(err, "like: muster sweep --set %s -- python train.py --%s {%s}",
                     sets->items[i], p.name, p.name);
            return -EINVAL;
        }
        ret->parameters[ret->parameters_len++] = p;
        ret->jobs *= p.len;
        if (ret->jobs > SWEEP_JOBS_LIMIT)
            return err_set(err, ERR_BAD_REQUEST, "more than %u combinations", SWEEP_JOBS_LIMIT);
    }
    return 0;
}

const char *sweep_grid_value(const struct sweep_grid *g, size_t n, size_t parameter)
{
    for (size_t i = g->parameters_len; i-- > parameter + 1;)
        n /= g->parameters[i].len;
    return g->parameters[parameter].values[n % g->parameters[parameter].len];
}

const char *sweep_grid_word(struct arena *a, const struct sweep_grid *g, size_t n, const char *word)
{
    struct buf out = BUF_INIT(WORD_LIMIT_BYTES);
    const char *text;

    while (*word) {
        size_t len = placeholder(word);
        const struct sweep_parameter *p = len ? find(g, word + 1, len) : NULL;

        if (p) {
            buf_adds(&out, sweep_grid_value(g, n, (size_t)(p - g->parameters)));
            word += len + 2;
        } else {
            buf_addc(&out, *word++);
        }
    }
    text = out.failed ? NULL : arena_strndup(a, out.data ? out.data : "", out.len);
    buf_release(&out);
    return text;
}

const char *sweep_grid_text(struct arena *a, const struct sweep_grid *g, size_t n)
{
    const char *text = "";

    for (size_t i = 0; text && i < g->parameters_len; i++)
        text = arena_printf(a, "%s%s%s=%s", text, i ? " " : "", g->parameters[i].name,
                            sweep_grid_value(g, n, i));
    return text ? text : "";
}

const char *sweep_label_value(struct arena *a, const char *value)
{
    size_t len = strlen(value);
    char *text = arena_strndup(a, value, len < LABEL_VALUE_LIMIT ? len : LABEL_VALUE_LIMIT);

    for (char *p = text; p && *p; p++) {
        bool end = p == text || !p[1];

        if (!isalnum((unsigned char)*p) && (end || !strchr("_-.", *p)))
            *p = end ? 'x' : '_';
    }
    return text;
}
