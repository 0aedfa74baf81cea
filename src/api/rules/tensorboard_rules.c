/* tensorboard_rules.c - see tensorboard_rules.h. */
#include "api/tensorboard_rules.h"

#include <string.h>

#include "api/object.h"
#include "base/utf8.h"

#define PVC_SCHEME "t9k://pvc/"
#define MINIO_SCHEME "t9k://minio/"

/* --- folders ---------------------------------------------------------------------------------- */

/* The problem with a path inside a claim, or NULL. */
static const char *path_problem(const char *path)
{
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/");

        if (len == 2 && at[0] == '.' && at[1] == '.')
            return "must not contain \"..\": it is a folder inside the claim";
        at += len;
        at += strspn(at, "/");
    }
    for (size_t left = strlen(path), n; left > 0; path += n, left -= n) {
        n = max_size(utf8_sequence(path, left), 1);
        if (utf8_is_control(path, n))
            return "must not contain control characters";
    }
    return NULL;
}

/* "./log/" and "log" are the same folder. */
static const char *clean_path(struct arena *a, const char *path)
{
    char *out = arena_strdup(a, path), *end = out;

    for (const char *at = path + strspn(path, "/"); out && *at;) {
        size_t len = strcspn(at, "/");

        if (len != 1 || at[0] != '.') {
            if (end != out)
                *end++ = '/';
            memcpy(end, at, len);
            end += len;
        }
        at += len;
        at += strspn(at, "/");
    }
    if (out)
        *end = '\0';
    return out;
}

struct folders {
    struct arena *arena;
    struct tensorboard_folder *items;
    size_t len;
};

static void add_folder(struct folders *f, const char *claim, const char *path)
{
    const char *clean = clean_path(f->arena, path);

    if (!claim || !clean || dns_name_problem(claim) || path_problem(path) ||
        f->len == TENSORBOARD_FOLDERS_LIMIT)
        return;
    for (size_t i = 0; i < f->len; i++)
        if (strcmp(f->items[i].claim, claim) == 0 && strcmp(f->items[i].path, clean) == 0)
            return;
    f->items[f->len++] = (struct tensorboard_folder){.claim = claim, .path = clean};
}

static void add_fileset(struct folders *f, const char *fileset)
{
    const char *claim = fileset + strlen(PVC_SCHEME);
    size_t len;

    if (strncmp(fileset, PVC_SCHEME, strlen(PVC_SCHEME)) != 0)
        return;
    len = strcspn(claim, "/");
    add_folder(f, arena_strndup(f->arena, claim, len), claim[len] ? claim + len + 1 : "");
}

size_t tensorboard_folders(struct arena *a, const struct json *spec, struct tensorboard_folder *ret)
{
    struct folders f = {.arena = a, .items = ret};

    json_each (fileset, json_get(spec, "trainingLogFilesets"))
        add_fileset(&f, json_string(fileset, ""));
    json_each (pvc, json_at(spec, "logDir", "pvc")) {
        const struct json *paths = json_get(pvc, "subPath");

        if (!paths)
            paths = json_get(pvc, "subpath"); /* stored by another server */
        json_each (path, paths)
            add_folder(&f, json_get_string(pvc, "name", ""), json_string(path, ""));
        if (json_len(paths) == 0)
            add_folder(&f, json_get_string(pvc, "name", ""), "");
    }
    return f.len;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* TensorBoard gets several folders as one separated list. */
static void check_separators(const struct json *path, bool several, const struct field_path *at,
                             struct err *err)
{
    if (several && strpbrk(json_string(path, ""), ",:"))
        problem_invalid(err, at, path,
                        "must not contain ',' or ':' where there are several log folders: "
                        "TensorBoard separates them with these");
}

static void check_path(const struct json *path, bool several, const struct field_path *at,
                       struct err *err)
{
    const char *problem = path_problem(json_string(path, ""));

    if (problem)
        problem_invalid(err, at, path, "%s", problem);
    else
        check_separators(path, several, at, err);
}

static void check_fileset(const struct json *fileset, bool several, const struct field_path *at,
                          struct err *err)
{
    const char *text = json_string(fileset, ""), *claim = text + strlen(PVC_SCHEME), *problem;
    char name[256];
    size_t len;

    if (strncmp(text, MINIO_SCHEME, strlen(MINIO_SCHEME)) == 0) {
        problem_invalid(err, at, fileset,
                        "object stores cannot be read yet: copy the event files to a "
                        "PersistentVolumeClaim and use t9k://pvc/NAME/PATH");
        return;
    }
    if (strncmp(text, PVC_SCHEME, strlen(PVC_SCHEME)) != 0) {
        problem_invalid(err, at, fileset, "must be t9k://pvc/NAME/PATH");
        return;
    }
    len = strcspn(claim, "/");
    memcpy(name, claim, min_size(len, sizeof(name) - 1));
    name[min_size(len, sizeof(name) - 1)] = '\0';
    problem = dns_name_problem(name);
    if (problem)
        problem_invalid(err, at, fileset, "must be t9k://pvc/NAME/PATH; NAME: %s", problem);
    else if ((problem = path_problem(claim + len)))
        problem_invalid(err, at, fileset, "%s", problem);
    else if (several && strpbrk(claim, ",:"))
        check_separators(fileset, several, at, err);
}

static void check_pvc(const struct json *pvc, bool several, const struct field_path *at,
                      struct err *err)
{
    const struct json *name = json_get(pvc, "name");
    const char *problem = *json_string(name, "") ? dns_name_problem(json_string(name, "")) : NULL;
    size_t i = 0;

    if (name && !*json_string(name, ""))
        problem_required(err, PATH_MEMBER(at, "name"), name->line, "a PersistentVolumeClaim");
    if (problem)
        problem_invalid(err, PATH_MEMBER(at, "name"), name, "%s", problem);
    json_each (path, json_get(pvc, "subPath"))
        check_path(path, several, PATH_INDEX(PATH_MEMBER(at, "subPath"), i++), err);
}

/* Otherwise a mistake would only surface when the curves are opened. */
static void check_unreadable(const struct json *dir, const struct field_path *at, struct err *err)
{
    static const struct {
        const char *member, *what;
    } later[] = {{"s3", "S3 stores"}, {"http", "web servers"}};

    for (size_t i = 0; i < ELEMS(later); i++) {
        const struct json *v = json_get(dir, later[i].member);

        if (v)
            problem_forbidden(err, PATH_MEMBER(at, later[i].member), v->line,
                              "event files on %s cannot be read yet: copy them to a "
                              "PersistentVolumeClaim and use logDir.pvc",
                              later[i].what);
    }
}

static size_t count_folders(const struct json *spec)
{
    size_t count = json_len(json_get(spec, "trainingLogFilesets"));

    json_each (pvc, json_at(spec, "logDir", "pvc"))
        count += json_len(json_get(pvc, "subPath")) ? json_len(json_get(pvc, "subPath")) : 1;
    return count;
}

void tensorboard_spec_validate(const struct json *spec, const struct field_path *at,
                               struct err *err)
{
    const struct json *filesets = json_get(spec, "trainingLogFilesets");
    const struct json *dir = json_get(spec, "logDir");
    size_t count = count_folders(spec), i = 0;

    if (count > TENSORBOARD_FOLDERS_LIMIT) {
        problem_too_many(err, at, spec, TENSORBOARD_FOLDERS_LIMIT);
        return;
    }
    json_each (fileset, filesets)
        check_fileset(fileset, count > 1, PATH_INDEX(PATH_MEMBER(at, "trainingLogFilesets"), i++),
                      err);
    i = 0;
    json_each (pvc, json_get(dir, "pvc"))
        check_pvc(pvc, count > 1, PATH_INDEX(PATH_MEMBER(PATH_MEMBER(at, "logDir"), "pvc"), i++),
                  err);
    check_unreadable(dir, PATH_MEMBER(at, "logDir"), err);
}

static void check_name(const struct json *board, struct err *err)
{
    const struct json *name = json_at(board, "metadata", "name");
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(NULL, "metadata"), "name");
    const char *text = json_string(name, ""), *problem;

    if (!*text || dns_name_problem(text))
        return; /* already reported */
    problem = dns_1035_label_problem(text);
    if (strlen(text) > TENSORBOARD_NAME_LIMIT)
        problem_invalid(err, at, name,
                        "must be no more than %d characters: its pod and service are named "
                        "NAME" TENSORBOARD_SUFFIX ", which may have 63",
                        TENSORBOARD_NAME_LIMIT);
    else if (problem)
        problem_invalid(err, at, name, "a service is named after it: %s", problem);
}

void tensorboard_validate(const struct json *board, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(board, "spec");
    const struct field_path *at = PATH_MEMBER(NULL, "spec");

    if (!old)
        check_name(board, err);
    tensorboard_spec_validate(spec, at, err);
    if (json_is(spec, JSON_OBJECT) && count_folders(spec) == 0 && !json_at(spec, "logDir", "s3") &&
        !json_at(spec, "logDir", "http"))
        problem_required(err, PATH_MEMBER(at, "logDir"), spec->line,
                         "where the event files are: logDir.pvc[].name and subPath, or "
                         "trainingLogFilesets with t9k://pvc/NAME/PATH");
}

/* --- layouts ---------------------------------------------------------------------------------- */

void tensorboard_unify(struct arena *a, struct json *board,
                       void (*say)(void *arg, const char *text), void *arg, struct err *err)
{
    struct json *spec = json_get_mut(board, "spec");
    const struct json *mode = json_get(spec, "runMode");

    (void)say, (void)arg, (void)err;
    if (!json_string_is(mode, "paused") && !json_string_is(mode, "running"))
        return; /* the table refuses anything else */
    json_set_bool(a, spec, "suspend", json_string_is(mode, "paused"));
    json_remove(spec, "runMode");
}
