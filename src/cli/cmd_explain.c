/* cmd_explain.c - `muster explain`: documents a kind and its fields, from their tables. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/suggest.h"
#include "cli/words.h"

#define PIPE_COLUMNS 80u
#define DEPTH_LIMIT 12u

struct explain_options {
    bool recursive;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct explain_options, recursive, "recursive",
                   "list all fields below, with name and type only", .letter = 'r'),
    {0},
};

/* For a scalar type, or for elements. */
static const char *type_name(enum field_type t)
{
    static const char *const names[] = {
        [FIELD_STRING] = "string",     [FIELD_INT32] = "integer",
        [FIELD_INT64] = "integer",     [FIELD_BOOL] = "boolean",
        [FIELD_QUANTITY] = "quantity", [FIELD_TIME] = "time",
        [FIELD_BYTES] = "base64",      [FIELD_INT_OR_STRING] = "integer or string",
        [FIELD_OBJECT] = "object",     [FIELD_LIST] = "list",
        [FIELD_MAP] = "map",           [FIELD_ANY] = "any",
    };

    return names[t];
}

static void write_type(struct buf *out, const struct field *f)
{
    if (f->type == FIELD_LIST)
        buf_addf(out, "[]%s", type_name(f->item));
    else if (f->type == FIELD_MAP)
        buf_addf(out, "map of %s", type_name(f->item));
    else
        buf_adds(out, type_name(f->type));
}

static void write_bounds(struct buf *out, const struct field *f, size_t indent, size_t width)
{
    struct buf text = BUF_INIT(64u * 1024u);

    for (const char *const *v = f->values; v && *v; v++)
        buf_addf(&text, "%s%s", v == f->values ? "One of: " : ", ", **v ? *v : "\"\"");
    if (f->has_min && f->has_max)
        buf_addf(&text, "%s%" PRId64 " to %" PRId64, text.len ? "; " : "", f->min, f->max);
    else if (f->has_min)
        buf_addf(&text, "%sat least %" PRId64, text.len ? "; " : "", f->min);
    if (f->default_json)
        buf_addf(&text, "%sdefault: %s", text.len ? "; " : "", f->default_json);
    if (f->alias)
        buf_addf(&text, "%solder spelling: %s", text.len ? "; " : "", f->alias);
    if (f->flags & FIELD_IMMUTABLE)
        buf_addf(&text, "%sfixed after creation", text.len ? "; " : "");
    if (text.len)
        columns_wrap(out, text.data, indent, width);
    buf_release(&text);
}

static void write_head(struct buf *out, const struct field *f, size_t indent)
{
    buf_addf(out, "%*s%s <", (int)indent, "", f->name);
    write_type(out, f);
    buf_addf(out, ">%s%s\n", f->flags & FIELD_REQUIRED ? " required" : "",
             f->ignored ? " (" FIELD_IGNORED_WORDS ")" : "");
}

static void write_fields(struct buf *out, const struct field *fields, bool recursive, size_t depth,
                         size_t width)
{
    for (const struct field *f = fields; f && f->name; f++) {
        write_head(out, f, 2 + 2 * depth);
        if (recursive && depth < DEPTH_LIMIT)
            write_fields(out, f->fields, true, depth + 1, width);
        if (recursive)
            continue;
        columns_wrap(out, f->doc ? f->doc : "", 6, width);
        write_bounds(out, f, 6, width);
    }
}

/* --- lookup --- */

static int unknown_field(const struct field *fields, const char *path, size_t len, struct err *err)
{
    const char *dot = memrchr(path, '.', len);
    size_t start = dot ? (size_t)(dot + 1 - path) : 0;
    struct suggest near;
    char name[256] = "";

    memcpy(name, path + start, min_size(len - start, sizeof(name) - 1));
    suggest_init(&near, name);
    for (const struct field *f = fields; f && f->name; f++)
        suggest_offer(&near, f->name);
    err_set(err, ERR_NOT_FOUND, "there is no field '%.*s'", (int)len, path);
    if (near.best)
        err_hint(err, "did you mean %s?", near.best);
    else if (fields)
        err_hint(err, "leave '.%s' out to see the fields there are", name);
    return -ENOENT;
}

/* The field at path, without a leading dot; NULL with err unset for "". */
static int find_field(const struct kind *k, const char *path, const struct field **ret,
                      struct err *err)
{
    const struct field *fields = k->fields;

    *ret = NULL;
    for (const char *p = path; *p;) {
        size_t len = strcspn(p, ".[");
        const struct field *f = field_find(fields, p, len);

        if (!f && fields == k->fields)
            f = field_find(object_common_fields, p, len);
        if (!f)
            return unknown_field(fields, path, (size_t)(p + len - path), err);
        *ret = f;
        fields = f->fields;
        for (p += len; *p == '[';) /* indexes are ignored */
            p += strcspn(p, "]") + (strchr(p, ']') != NULL);
        p += *p == '.';
    }
    return 0;
}

static void write_kind(struct buf *out, struct arena *a, const struct kind *k,
                       const struct field *f, const char *path, bool recursive, size_t width)
{
    buf_addf(out, "%s (%s)\n", k->name, kind_api_version(a, k));
    if (f) {
        buf_addf(out, "%s <", path);
        write_type(out, f);
        buf_addf(out, ">%s\n", f->flags & FIELD_REQUIRED ? " required" : "");
    }
    buf_addc(out, '\n');
    columns_wrap(out, f ? (f->doc ? f->doc : "") : (k->doc ? k->doc : ""), 2, width);
    if (f)
        write_bounds(out, f, 2, width);
    if (f && f->ignored) {
        buf_adds(out, "\n  " FIELD_IGNORED_WORDS ":\n");
        columns_wrap(out, f->ignored, 2, width);
    }
    if (f ? !f->fields : !k->fields)
        return;
    buf_adds(out, "\nFields:\n");
    if (!f)
        write_fields(out, object_common_fields, false, 0, width);
    write_fields(out, f ? f->fields : k->fields, recursive, 0, width);
}

static void write_kinds(struct buf *out)
{
    static const char *const header[] = {"KIND", "NAME", "VERSION", "MEANING"};
    struct arena a = ARENA_INIT(CLI_ARENA_LIMIT_BYTES);
    struct columns table;

    columns_init(&table, header, ELEMS(header));
    for (size_t i = 0; kinds[i]; i++) {
        if (kinds[i]->refused)
            continue;
        columns_add(&table, kinds[i]->name);
        columns_add(&table, kinds[i]->singular);
        columns_add(&table, kind_api_version(&a, kinds[i]));
        columns_add(&table, kinds[i]->doc ? kinds[i]->doc : "");
    }
    columns_write(&table, PIPE_COLUMNS * 2, out);
    columns_release(&table);
    arena_release(&a);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct explain_options *o = values;
    const char *word = args->len ? args->list[0] : "", *path = word + strcspn(word, ".");
    size_t width = cli->talk.columns ? cli->talk.columns : PIPE_COLUMNS;
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    const struct kind *k = *word ? session_find_kind(word, (size_t)(path - word), &err) : NULL;
    const struct field *f = NULL;

    path += *path == '.';
    if (!*word)
        write_kinds(&out);
    else if (k && find_field(k, path, &f, &err) == 0)
        write_kind(&out, &cli->arena, k, f, path, o->recursive, width);
    output_text(&out);
    buf_release(&out);
    return err_is_set(&err) ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_explain = {
    .name = "explain",
    .args = "[KIND[.FIELD]]",
    .summary = "Explain the fields of a manifest",
    .examples = "  muster explain\n"
                "  muster explain pytorchtrainingjob\n"
                "  muster explain job.spec.torchrunConfig\n"
                "  muster explain queue.spec --recursive\n",
    .help = "Needs no server. job means PyTorchTrainingJob, the kind that 'muster run' creates.\n",
    .options = options,
    .options_size = sizeof(struct explain_options),
    .max_args = 1,
    .run = run,
};
