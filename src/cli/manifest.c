/* manifest.c - see manifest.h. Reads files; talks to no server. */
#include "cli/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/metadata.h"
#include "api/object.h"
#include "api/yaml.h"
#include "cli/last_applied.h"
#include "cli/suggest.h"
#include "core/job.h"
#include "loop/file.h"

struct loader {
    const struct kind *kind; /* of the object being checked */
    const struct json *object;
    struct arena *arena;
    const struct talk *talk;
    const struct manifest_options *options;
    struct manifest *m;
};

/* --- locations --- */

static const char *line_text(const struct manifest *m, unsigned line, size_t *ret_len)
{
    const char *p = m->text, *end = m->text + m->len, *stop;

    for (unsigned n = 1; n < line && p < end; n++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));

        p = newline ? newline + 1 : end;
    }
    stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop)
        stop = end;
    if (stop > p && stop[-1] == '\r')
        stop--;
    *ret_len = (size_t)(stop - p);
    return p;
}

/* The last member name of a path, or of the part of it before its indices: "restartPolicy" of
 * spec.replicaSpecs[0].restartPolicy, "labels" of metadata.labels[team]. */
static const char *last_member(const char *field, size_t *ret_len)
{
    const char *start = field, *end = field + strlen(field), *open;

    while (end > field && end[-1] == ']') {
        open = end - 1;
        while (open > field && *open != '[')
            open--;
        end = open;
    }
    for (const char *p = field; p < end; p++)
        if (*p == '.')
            start = p + 1;
    *ret_len = (size_t)(end - start);
    return start;
}

/* "team" of metadata.labels[team]; empty if the path ends otherwise. */
static const char *last_key(const char *field, size_t *ret_len)
{
    const char *open = strrchr(field, '['), *end = field + strlen(field);
    bool is_key = open && end[-1] == ']';

    *ret_len = is_key ? (size_t)(end - open) - 2 : 0;
    return is_key ? open + 1 : field;
}

static const char *find_key(const char *line, size_t len, const char *key, size_t key_len)
{
    for (size_t i = 0; key_len && i + key_len < len; i++) {
        size_t after = i + key_len;

        if (memcmp(line + i, key, key_len) != 0)
            continue;
        if (i > 0 && !strchr(" \t-{,\"'", line[i - 1]))
            continue;
        if (line[after] == '"' || line[after] == '\'')
            after++;
        if (after < len && line[after] == ':')
            return line + i;
    }
    return NULL;
}

/* The end of a plain value: before " #", a bracket or comma of a flow collection, and blanks. */
static size_t value_end(const char *line, size_t len, size_t from)
{
    size_t end = from;

    for (size_t i = from; i < len; i++) {
        if (line[i] == '#' && i > from && (line[i - 1] == ' ' || line[i - 1] == '\t'))
            break;
        if (line[from] != '"' && line[from] != '\'' && line[from] != '[' && line[from] != '{' &&
            strchr(",}", line[i]))
            break;
        if (line[i] != ' ' && line[i] != '\t')
            end = i + 1;
    }
    return end;
}

void manifest_caret(const char *line, size_t len, const char *field, unsigned *ret_column,
                    unsigned *ret_width)
{
    size_t key_len, at = 0, end;
    const char *key = last_key(field, &key_len);
    const char *found = find_key(line, len, key, key_len);

    if (!found) {
        key = last_member(field, &key_len);
        found = find_key(line, len, key, key_len);
    }
    if (found) {
        at = (size_t)(found - line);
        for (end = at + key_len; end < len && line[end] != ':'; end++)
            ;
        for (end++; end < len && (line[end] == ' ' || line[end] == '\t'); end++)
            ;
        if (end < len &&
            line[end] != '#') { /* the value; otherwise it is below, and the key is marked */
            at = end;
            end = value_end(line, len, at);
        } else {
            end = at + key_len;
        }
    } else {
        while (at < len && (line[at] == ' ' || line[at] == '\t' ||
                            (line[at] == '-' && at + 1 < len && line[at + 1] == ' ')))
            at++;
        end = value_end(line, len, at);
    }
    *ret_column = (unsigned)at + 1;
    *ret_width = end > at ? (unsigned)(end - at) : 1;
}

static void show_field(struct loader *l, unsigned line, const char *field)
{
    unsigned column, width;
    size_t len;
    const char *text;

    if (line == 0)
        return;
    text = line_text(l->m, line, &len);
    manifest_caret(text, len, field, &column, &width);
    talk_source(l->talk, line, text, len, column, width);
}

static void problem(struct loader *l, unsigned line, const char *field, const char *text)
{
    if (line)
        talk_errorf(l->talk, "%s:%u: %s%s%s", l->m->file, line, field, *field ? ": " : "", text);
    else
        talk_errorf(l->talk, "%s: %s%s%s", l->m->file, field, *field ? ": " : "", text);
    show_field(l, line, field);
    l->m->problems++;
}

/* --- paths in objects --- */

static const struct json *step_into(const struct json *v, const char **path)
{
    const char *p = *path, *end;
    char key[256];
    size_t len;

    if (*p == '[') {
        end = strchr(p, ']');
        len = end ? (size_t)(end - p) - 1 : 0;
        *path = end ? end + 1 : p + strlen(p);
        if (json_is(v, JSON_ARRAY))
            return json_index(v, (size_t)strtoul(p + 1, NULL, 10));
        p++;
    } else {
        if (*p == '.')
            p++;
        len = strcspn(p, ".[");
        *path = p + len;
    }
    if (len == 0 || len >= sizeof(key))
        return NULL;
    memcpy(key, p, len);
    key[len] = '\0';
    return json_get(v, key);
}

/* The line of the deepest existing part of the path: for a missing field, of its parent. */
static unsigned line_of(const struct json *object, const char *path)
{
    unsigned line = object->line;

    while (*path && object) {
        object = step_into(object, &path);
        if (object && object->line)
            line = object->line;
    }
    return line;
}

/* --- checking --- */

/* Parser errors start with "YAML, line 3, column 7: ": shown as file:3:7 and with a caret
 * instead. */
static void say_parse_error(struct loader *l, const struct err *e)
{
    const char *at = strstr(e->text, "line ");
    unsigned line, column;
    const char *text, *rest;
    size_t len;
    int used = 0;

    if (!at || sscanf(at, "line %u, column %u: %n", &line, &column, &used) != 2 || used == 0) {
        problem(l, e->line, "", e->text);
        return;
    }
    rest = at + used;
    talk_errorf(l->talk, "%s:%u:%u: %s", l->m->file, line, column, rest);
    text = line_text(l->m, line, &len);
    talk_source(l->talk, line, text, len, column, 1);
    if (e->hint)
        talk_hint(l->talk, "%s", e->hint);
    l->m->problems++;
}

static void say_causes(struct loader *l, const struct json *object, const struct err *e)
{
    for (const struct err_cause *c = e->causes; c; c = c->next)
        problem(l, c->line ? c->line : line_of(object, c->field), c->field, c->text);
    if (!e->causes)
        problem(l, e->line ? e->line : object->line, "", e->text);
    if (e->hint)
        talk_hint(l->talk, "%s", e->hint);
}

/* How far down a misplaced field is looked for: template.spec.containers is two levels. */
#define LEVELS_BELOW 2

/* Whether a field of this name is that many levels down; ret is its path then. */
static bool find_below(const struct field *fields, const char *name, unsigned levels,
                       struct buf *ret)
{
    for (const struct field *f = fields; f && f->name; f++) {
        size_t len = ret->len;

        if (f->type != FIELD_OBJECT)
            continue;
        buf_addf(ret, "%s.", f->name);
        if (levels > 1 ? find_below(f->fields, name, levels - 1, ret)
                       : field_find(f->fields, name, strlen(name)) != NULL) {
            buf_adds(ret, levels > 1 ? "" : name);
            return true;
        }
        ret->len = len;
    }
    return false;
}

/* The known field that a misspelt or misplaced path probably means, or NULL. */
static const char *meant_field(const struct kind *k, const char *path, struct buf *below)
{
    const struct field *fields = k->fields, *f;
    struct suggest near;
    size_t len = strcspn(path, ".[");

    if (!field_find(fields, path, len))
        fields = object_common_fields;
    while (path[len]) { /* up to the last member */
        f = field_find(fields, path, len);
        fields = f ? f->fields : NULL;
        path += len;
        while (*path == '[')
            path += strcspn(path, "]") + (strchr(path, ']') != NULL);
        path += *path == '.';
        len = strcspn(path, ".[");
    }
    suggest_init(&near, path);
    for (f = fields; f && f->name; f++)
        suggest_offer(&near, f->name);
    for (unsigned levels = 1; !near.best && levels <= LEVELS_BELOW; levels++)
        if (find_below(fields, path, levels, below) && !below->failed)
            return below->data;
    return near.best;
}

/* Warnings start with the field, or with: unknown field "FIELD". */
static void on_warning(void *arg, const char *text)
{
    static const char unknown[] = "unknown field \"";
    struct loader *l = arg;
    bool is_unknown = strncmp(text, unknown, strlen(unknown)) == 0;
    const char *from = is_unknown ? text + strlen(unknown) : text, *meant;
    struct buf below = BUF_INIT(1024);
    char path[1024];
    unsigned line;

    (void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(from, "\" :"), from);
    line = strchr(path, '.') ? line_of(l->object, path) : 0;
    meant = is_unknown ? meant_field(l->kind, path, &below) : NULL;
    if (line == 0)
        talk_warn(l->talk, "%s: %s", l->m->file, text);
    else if (meant)
        talk_warn(l->talk, "%s:%u: %s; did you mean %s?", l->m->file, line, text, meant);
    else
        talk_warn(l->talk, "%s:%u: %s", l->m->file, line, text);
    buf_release(&below);
}

static void on_duplicate(void *arg, const char *key, unsigned line)
{
    struct loader *l = arg;

    talk_warn(l->talk, "%s:%u: key \"%s\" is given twice; the last one counts", l->m->file, line,
              key);
}

/* A typo; kinds that merely have most letters in common are not suggested. */
#define KIND_SLIP_EDITS 2

/* Our own first: those are what people usually mean. */
static const char *known_kinds(struct loader *l)
{
    struct buf list = BUF_INIT(4096);
    const char *text;

    for (int custom = 1; custom >= 0; custom--)
        for (size_t i = 0; kinds[i]; i++) {
            const struct kind *k = kinds[i];
            bool said = false;

            for (size_t j = 0; j < i && !said; j++)
                said = strcmp(kinds[j]->name, k->name) == 0;
            if (!said && !k->refused && k->custom == (custom == 1))
                buf_addf(&list, "%s%s", list.len ? ", " : "", k->name);
        }
    text = list.data ? arena_strndup(l->arena, list.data, list.len) : NULL;
    buf_release(&list);
    return text ? text : "";
}

static void say_unknown_kind(struct loader *l, const struct json *object)
{
    const char *name = json_get_string(object, "kind", "");
    const char *version = json_get_string(object, "apiVersion", "");
    struct suggest near;
    char text[512];

    suggest_init(&near, name);
    for (size_t i = 0; kinds[i]; i++) {
        if (strcmp(kinds[i]->name, name) == 0 && kinds[i]->refused) {
            (void)snprintf(text, sizeof(text),
                           "muster has no controller for a %s: create pods, or a "
                           "PyTorchTrainingJob or MPIJob",
                           name);
            problem(l, line_of(object, "kind"), "kind", text);
            return;
        }
        if (strcmp(kinds[i]->name, name) == 0) {
            (void)snprintf(text, sizeof(text),
                           *version ? "\"%s\" has no %s: it must be %s"
                                    : "Required value%s: for a %s it is %s",
                           version, name, kind_api_version(l->arena, kinds[i]));
            problem(l, line_of(object, "apiVersion"), "apiVersion", text);
            return;
        }
        suggest_offer(&near, kinds[i]->name);
    }
    if (!*name)
        (void)snprintf(text, sizeof(text), "Required value: which kind of object this is");
    else if (strcmp(name, "PyTorchJob") == 0)
        (void)snprintf(text, sizeof(text),
                       "unknown kind \"%s\": Kubeflow's PyTorchJob is a PyTorchTrainingJob here; "
                       "'muster explain job' lists its fields",
                       name);
    else if (near.best && near.distance <= KIND_SLIP_EDITS)
        (void)snprintf(text, sizeof(text), "unknown kind \"%.200s\": did you mean %s?", name,
                       near.best);
    else
        (void)snprintf(text, sizeof(text), "unknown kind \"%.200s\" of \"%.200s\"", name, version);
    problem(l, line_of(object, "kind"), "kind", text);
    talk_hint(l->talk, "kinds known here: %s", known_kinds(l));
}

static bool is_job_kind(const struct kind *k)
{
    for (size_t i = 0; job_kinds[i]; i++)
        if (job_kinds[i]->kind == k)
            return true;
    return false;
}

static void set_metadata(struct loader *l, const struct kind *k, struct json *object)
{
    struct json *metadata = json_get_mut(object, "metadata");
    const char *ns = json_get_string(metadata, "namespace", NULL);
    char text[512];

    if (!json_is(metadata, JSON_OBJECT) || !k->namespaced)
        return;
    if (ns && l->options->ns && strcmp(ns, l->options->ns) != 0) {
        (void)snprintf(text, sizeof(text), "the file says \"%s\", the command line --namespace %s",
                       ns, l->options->ns);
        problem(l, line_of(object, "metadata.namespace"), "metadata.namespace", text);
    }
    if (!ns)
        json_set_string(l->arena, metadata, "namespace",
                        l->options->ns           ? l->options->ns
                        : l->options->default_ns ? l->options->default_ns
                                                 : "default");
    if (l->options->name && is_job_kind(k))
        json_set_string(l->arena, metadata, "name", l->options->name);
}

static void copy_names(struct loader *l, struct json *to, const struct json *from)
{
    static const char *const names[] = {"name", "namespace"};
    struct json *metadata = json_get_mut(to, "metadata");

    for (size_t i = 0; json_is(metadata, JSON_OBJECT) && i < ELEMS(names); i++)
        json_set(l->arena, metadata, names[i],
                 json_clone(l->arena, json_at(from, "metadata", names[i])));
}

/* On a single machine the program is a file next to the manifest, not something inside an image.
 * Set outside the template, which stays as in the file. */
static void set_folder(struct loader *l, const struct kind *k, struct json *object)
{
    struct json *metadata = json_get_mut(object, "metadata"), *annotations;

    if ((k != &kind_pod && !is_job_kind(k)) || !json_is(metadata, JSON_OBJECT))
        return;
    annotations = json_make_object(l->arena, metadata, "annotations");
    if (annotations && !json_get(annotations, ANNOTATION_FOLDER))
        json_set_string(l->arena, annotations, ANNOTATION_FOLDER, l->m->folder);
}

static void add_object(struct loader *l, const struct kind *k, struct json *object,
                       const struct json *said, const struct json *config)
{
    struct manifest_object *o = arena_alloc(l->arena, sizeof(*o));

    if (!o)
        return;
    *o = (struct manifest_object){.kind = k, .object = object, .said = said, .config = config};
    if (l->m->last)
        l->m->last->next = o;
    else
        l->m->first = o;
    l->m->last = o;
    l->m->count++;
}

static void check_object(struct loader *l, struct json *object)
{
    auto_err err = ERR_INIT;
    const struct kind *k;
    struct json *whole, *said, *config;

    if (!json_is(object, JSON_OBJECT)) {
        problem(l, object->line, "",
                "not an object: a document must be a mapping with apiVersion, kind and metadata");
        return;
    }
    k = kind_of_object(object);
    if (!k) {
        say_unknown_kind(l, object);
        return;
    }
    l->kind = k;
    l->object = object;
    said = json_clone(l->arena, object);
    if (object_decode(l->arena, k, object, FIELD_VALIDATION_WARN, on_warning, l, &err)) {
        say_causes(l, object, &err);
        return;
    }
    set_metadata(l, k, object);
    if (said)
        copy_names(l, said, object);
    config = json_clone(l->arena, object);
    whole = json_clone(l->arena, object);
    object_set_defaults(l->arena, k, whole);
    if (object_validate(k, whole, NULL, &err)) {
        say_causes(l, object, &err);
        return;
    }
    if (k->warn)
        k->warn(whole, on_warning, l);
    if (l->options->set_folder)
        set_folder(l, k, object);
    if (!said || !config)
        return;
    last_applied_set(l->arena, object, said);
    add_object(l, k, object, said, config);
}

/* A List contains objects, but is not one. */
static void check_document(struct loader *l, struct json *document)
{
    struct json *next;

    if (!json_string_is(json_get(document, "kind"), "List") ||
        !json_string_is(json_get(document, "apiVersion"), "v1")) {
        check_object(l, document);
        return;
    }
    for (struct json *item = json_first_mut(json_get_mut(document, "items")); item; item = next) {
        next = item->next;
        check_object(l, item);
    }
}

/* --- reading --- */

static int read_stdin(struct buf *out)
{
    char piece[8192];
    ssize_t n;

    while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
        buf_add(out, piece, (size_t)n);
    return n < 0 ? -errno : out->failed ? -EFBIG : 0;
}

static int read_text(struct loader *l, const char *file, struct err *err)
{
    struct buf text = BUF_INIT(MANIFEST_LIMIT_BYTES);
    bool from_stdin = strcmp(file, "-") == 0;
    int r = from_stdin ? read_stdin(&text) : file_read(file, MANIFEST_LIMIT_BYTES, &text);

    if (r == 0) {
        l->m->text = arena_strndup(l->arena, text.data ? text.data : "", text.len);
        l->m->len = text.len;
        if (!l->m->text)
            r = -ENOMEM;
    }
    buf_release(&text);
    if (r == -ENOENT) {
        err_set(err, ERR_NOT_FOUND, "no such file: %s", file);
        return -ENOENT;
    }
    return r ? err_set(err, ERR_BAD_REQUEST, "cannot read %s: %s", file, strerror(-r)) : 0;
}

static int find_folder(struct loader *l, const char *file, struct err *err)
{
    char *path = strcmp(file, "-") == 0 ? getcwd(NULL, 0) : realpath(file, NULL);
    char *slash;

    if (!path)
        return err_set(err, ERR_INTERNAL, "cannot tell the folder of %s: %s", file,
                       strerror(errno));
    slash = strcmp(file, "-") == 0 ? NULL : strrchr(path, '/');
    l->m->folder = !slash         ? arena_strdup(l->arena, path)
                   : slash > path ? arena_strndup(l->arena, path, (size_t)(slash - path))
                                  : "/";
    free(path);
    return l->m->folder ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
}

/* An array of documents, in either language. */
static struct json *parse(struct loader *l, struct err *err)
{
    const struct manifest *m = l->m;
    size_t start = strspn(m->text, " \t\r\n");
    struct json *one, *all;

    if (m->text[start] != '{' && m->text[start] != '[')
        return yaml_parse(l->arena, m->text, m->len, on_duplicate, l, err);
    /* YAML documents may look like JSON, separated by ---. */
    if (strstr(m->text, "\n---"))
        return yaml_parse(l->arena, m->text, m->len, on_duplicate, l, err);
    one = json_parse_reporting(l->arena, m->text, m->len, on_duplicate, l, err);
    if (!one || one->type == JSON_ARRAY)
        return one;
    all = json_new_array(l->arena);
    json_append(all, one);
    return all;
}

/* Each object in the text: checked, and either reported or added. */
static int check_text(struct loader *l, struct err *err)
{
    auto_err parse_err = ERR_INIT;
    struct json *documents = parse(l, &parse_err), *next;

    if (!documents) {
        say_parse_error(l, &parse_err);
        return 0;
    }
    if (json_len(documents) > MANIFEST_OBJECTS_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "%s contains more than %d documents", l->m->file,
                       MANIFEST_OBJECTS_LIMIT);
    for (struct json *d = json_first_mut(documents); d; d = next) {
        next = d->next; /* objects are moved out of the array one by one */
        check_document(l, d);
    }
    return 0;
}

static int load_file(struct loader *l, const char *file, struct err *err)
{
    l->m->file = strcmp(file, "-") == 0 ? "standard input" : file;
    return read_text(l, file, err) || find_folder(l, file, err) ? -EINVAL : check_text(l, err);
}

static int is_manifest(const struct dirent *entry)
{
    static const char *const ends[] = {".yaml", ".yml", ".json"};
    const char *dot = strrchr(entry->d_name, '.');

    for (size_t i = 0; dot && dot > entry->d_name && i < ELEMS(ends); i++)
        if (strcmp(dot, ends[i]) == 0)
            return 1;
    return 0;
}

static int load_folder(struct loader *l, const char *folder, struct err *err)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_manifest, alphasort), r = 0;

    if (count < 0)
        return err_set(err, ERR_BAD_REQUEST, "cannot read %s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *file = arena_printf(l->arena, "%s/%s", folder, entries[i]->d_name);

        if (r == 0)
            r = file ? load_file(l, file, err) : err_set(err, ERR_INTERNAL, "out of memory");
        free(entries[i]);
    }
    free(entries);
    l->m->file = folder;
    return r;
}

static int finish(struct loader *l, struct err *err)
{
    if (l->m->count == 0 && l->m->problems == 0)
        problem(l, 0, "", "contains no objects");
    if (arena_failed(l->arena))
        return err_set(err, ERR_INTERNAL, "out of memory");
    return l->m->problems ? -EINVAL : 0;
}

int manifest_load(struct arena *a, const struct talk *t, const char *file,
                  const struct manifest_options *options, struct manifest *ret, struct err *err)
{
    struct loader l = {.arena = a, .talk = t, .options = options, .m = ret};
    struct stat st;
    int r;

    *ret = (struct manifest){0};
    r = stat(file, &st) == 0 && S_ISDIR(st.st_mode) ? load_folder(&l, file, err)
                                                    : load_file(&l, file, err);
    return r ? r : finish(&l, err);
}

int manifest_of_object(struct arena *a, const struct talk *t, const char *what, struct json *object,
                       const struct manifest_options *options, struct manifest *ret,
                       struct err *err)
{
    struct loader l = {.arena = a, .talk = t, .options = options, .m = ret};

    ret->file = what;
    ret->text = "";
    if (find_folder(&l, "-", err))
        return -EINVAL;
    check_object(&l, object);
    return finish(&l, err);
}
