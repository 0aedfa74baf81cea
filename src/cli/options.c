/* options.c - see options.h. Knows nothing of any command. */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/suggest.h"
#include "cli/words.h"

static const struct option_spec *by_name(const struct option_spec *specs, const char *name,
                                         size_t len)
{
    for (const struct option_spec *s = specs; s && s->name; s++)
        if (strlen(s->name) == len && memcmp(s->name, name, len) == 0)
            return s;
    return NULL;
}

static const struct option_spec *by_letter(const struct option_spec *specs, char letter)
{
    for (const struct option_spec *s = specs; s && s->name; s++)
        if (s->letter == letter && letter)
            return s;
    return NULL;
}

static int unknown_option(const struct option_spec *specs, const char *word, size_t len,
                          struct err *err)
{
    struct suggest near;
    char name[64] = "";
    int r = err_set(err, ERR_BAD_REQUEST, words("unknown option '%.*s'"), (int)len, word);

    if (len <= 2 || len - 2 >= sizeof(name))
        return r;
    memcpy(name, word + 2, len - 2);
    suggest_init(&near, name);
    for (const struct option_spec *s = specs; s && s->name; s++)
        suggest_offer(&near, s->name);
    if (near.best)
        err_hint(err, words("did you mean --%s?"), near.best);
    return r;
}

static int set_choice(const struct option_spec *s, const char **slot, const char *value,
                      struct err *err)
{
    struct suggest near;
    int r;

    suggest_init(&near, value);
    for (const char *const *v = s->values; *v; v++) {
        size_t len = strlen(*v);

        if (strcmp(*v, value) == 0) {
            *slot = *v;
            return 0;
        }
        if ((*v)[len - 1] == '=' && strncmp(*v, value, len) == 0 && value[len]) {
            *slot = value;
            return 0;
        }
        suggest_offer(&near, *v);
    }
    r = err_set(err, ERR_BAD_REQUEST, words("--%s cannot be '%s'"), s->name, value);
    if (near.best)
        err_hint(err, words("did you mean %s? Allowed: %s"), near.best, s->value_name);
    else
        err_hint(err, words("allowed: %s"), s->value_name);
    return r;
}

static int set_int(const struct option_spec *s, int64_t *slot, const char *value, struct err *err)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(value, &end, 10);
    if (errno || *end || end == value || n < 0)
        return err_set(err, ERR_BAD_REQUEST, words("--%s takes a whole number, not '%s'"), s->name,
                       value);
    if (n < s->least)
        return err_set(err, ERR_BAD_REQUEST, words("--%s must be at least %lld, not '%s'"), s->name,
                       (long long)s->least, value);
    *slot = n;
    return 0;
}

static int add_item(const struct option_spec *s, struct option_list *list, const char *value,
                    struct err *err)
{
    if (list->len == OPTION_LIST_LIMIT)
        return err_set(err, ERR_BAD_REQUEST, "--%s may be given at most %d times", s->name,
                       OPTION_LIST_LIMIT);
    list->items[list->len++] = value;
    return 0;
}

static int set_value(const struct option_spec *s, void *values, const char *value, struct err *err)
{
    void *slot = (char *)values + s->offset;

    switch (s->type) {
    case OPTION_FLAG:
        *(bool *)slot = true;
        return 0;
    case OPTION_TEXT:
        if (!*value)
            return err_set(err, ERR_BAD_REQUEST, words("--%s wants a value: %s"), s->name,
                           s->value_name);
        *(const char **)slot = value;
        return 0;
    case OPTION_INT:
        return set_int(s, slot, value, err);
    case OPTION_CHOICE:
        return set_choice(s, slot, value, err);
    case OPTION_LIST:
        return add_item(s, slot, value, err);
    }
    unreachable();
}

struct reader {
    const struct option_spec *specs;
    void *values;
    char **argv;
    int argc, at;
    struct args *args;
    struct err *err;
};

static int missing_value(struct reader *r, const struct option_spec *s)
{
    return err_set(r->err, ERR_BAD_REQUEST, words("--%s wants a value: %s"), s->name,
                   s->value_name);
}

static int read_long(struct reader *r, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const struct option_spec *s = by_name(r->specs, word + 2, len - 2);

    if (len == 6 && memcmp(word, "--help", len) == 0) {
        r->args->help = true;
        return 0;
    }
    if (!s)
        return unknown_option(r->specs, word, len, r->err);
    if (s->type == OPTION_FLAG)
        return equals ? err_set(r->err, ERR_BAD_REQUEST, words("--%s takes no value"), s->name)
                      : set_value(s, r->values, NULL, r->err);
    if (equals)
        return set_value(s, r->values, equals + 1, r->err);
    if (r->at >= r->argc)
        return missing_value(r, s);
    return set_value(s, r->values, r->argv[r->at++], r->err);
}

/* -f, -Af, -nNAME, -n NAME */
static int read_short(struct reader *r, const char *word)
{
    for (const char *p = word + 1; *p; p++) {
        const struct option_spec *s = by_letter(r->specs, *p);
        const char *value;

        if (*p == 'h') {
            r->args->help = true;
            continue;
        }
        if (!s)
            return err_set(r->err, ERR_BAD_REQUEST, words("unknown option '-%c'"), *p);
        if (s->type == OPTION_FLAG) {
            int e = set_value(s, r->values, NULL, r->err);

            if (e)
                return e;
            continue;
        }
        value = p[1] ? p + 1 : r->at < r->argc ? r->argv[r->at++] : NULL;
        return value ? set_value(s, r->values, value, r->err) : missing_value(r, s);
    }
    return 0;
}

static int add_arg(struct reader *r, const char *word)
{
    if (r->args->len == ARGS_LIMIT)
        return err_set(r->err, ERR_BAD_REQUEST, "too many arguments (more than %d)", ARGS_LIMIT);
    r->args->list[r->args->len++] = word;
    return 0;
}

int options_parse(const struct option_spec *specs, void *values, int argc, char **argv,
                  struct args *args, struct err *err)
{
    struct reader r = {
        .specs = specs, .values = values, .argv = argv, .argc = argc, .args = args, .err = err};
    bool only_args = false;

    *args = (struct args){.len = 0};
    while (r.at < argc) {
        const char *word = argv[r.at++];
        int e;

        if (only_args || word[0] != '-' || !word[1])
            e = add_arg(&r, word);
        else if (strcmp(word, "--") == 0)
            only_args = args->dashes = true, args->before_dashes = args->len, e = 0;
        else if (word[1] == '-')
            e = read_long(&r, word);
        else
            e = read_short(&r, word);
        if (e)
            return e;
    }
    if (!args->dashes)
        args->before_dashes = args->len;
    return 0;
}

#define HELP_COLUMN 28

void options_help(const struct option_spec *specs, struct buf *out)
{
    for (const struct option_spec *s = specs; s && s->name; s++) {
        size_t start = out->len;

        if (s->letter)
            buf_addf(out, "  -%c, --%s", s->letter, s->name);
        else
            buf_addf(out, "      --%s", s->name);
        if (s->value_name)
            buf_addf(out, " %s", s->value_name);
        if (out->len - start >= HELP_COLUMN - 1)
            buf_addf(out, "\n%*s", HELP_COLUMN, "");
        else
            buf_addf(out, "%*s", (int)(HELP_COLUMN - (out->len - start)), "");
        buf_addf(out, "%s\n", words(s->doc));
    }
    buf_addf(out, "  -h, --help                %s\n", words("this text"));
}
