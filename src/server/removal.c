/*
 * removal.c - applies a deletion to an object: it is deleted at once, or marked and deleted when
 * its grace period is over and its finalizers are removed. Also carries out the server's own
 * clean-up.
 */
#include <string.h>

#include "api/problem.h"
#include "base/timefmt.h"
#include "core/app.h"
#include "server/internal.h"
#include "server/rbac.h"

#define SWEEP_MEMORY_BYTES (64u * 1024u * 1024u)

static int check_preconditions(struct arena *a, const struct kind *k, const struct json *object,
                               const struct removal *removal, struct err *err)
{
    const struct {
        const char *label, *wanted, *is;
    } checks[] = {
        {"UID", removal->uid, object_uid(object)},
        {"ResourceVersion", removal->resource_version, object_resource_version(object)},
    };

    for (size_t i = 0; i < ELEMS(checks); i++)
        if (checks[i].wanted && strcmp(checks[i].wanted, checks[i].is) != 0)
            return err_set(err, ERR_CONFLICT,
                           "Operation cannot be fulfilled on %s \"%s\": Precondition failed: %s in "
                           "precondition: %s, %s in object meta: %s",
                           resource_name(a, k), object_name(object), checks[i].label,
                           checks[i].wanted, checks[i].label, checks[i].is);
    return 0;
}

static void mark(struct arena *a, struct json *object, int64_t at_ms, int64_t grace_seconds)
{
    struct json *meta = json_make_object(a, object, "metadata");
    bool first = !object_is_deleting(object);
    char text[TIME_TEXT_SIZE];

    json_set_string(a, meta, "deletionTimestamp", time_format(at_ms, text));
    json_set_int(a, meta, "deletionGracePeriodSeconds", grace_seconds);
    if (first && json_get(meta, "generation"))
        json_set_int(a, meta, "generation", json_get_int(meta, "generation", 0) + 1);
}

/* Its grace period is over and nothing holds it. */
static bool is_over(const struct json *object)
{
    const struct json *meta = json_get(object, "metadata");

    return json_get_int(meta, "deletionGracePeriodSeconds", 0) == 0 &&
           json_len(json_get(meta, "finalizers")) == 0;
}

/* For an object already being deleted: the grace period can only become shorter. */
static enum removal_result again(struct arena *a, const struct kind *k, struct json *object,
                                 int64_t asked)
{
    const struct json *meta = json_get(object, "metadata");
    int64_t had = json_get_int(meta, "deletionGracePeriodSeconds", 0);
    int64_t was_at = object_time(meta, "deletionTimestamp");
    int64_t grace = kind_hooks_grace_seconds(k, object, asked);

    if (asked < 0 && grace > 0)
        return REMOVAL_NONE;
    if (grace == 0 && json_len(json_get(meta, "finalizers")) == 0)
        return REMOVAL_DELETE;
    if (grace >= had)
        return REMOVAL_NONE;
    mark(a, object, was_at - (had - grace) * 1000, grace);
    return REMOVAL_MARK;
}

/* --- dependents ------------------------------------------------------------------------ */

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN "orphan"

static bool has_text(const struct json *list, const char *text)
{
    json_each (item, list)
        if (json_string_is(item, text))
            return true;
    return false;
}

static bool drop_text(struct json *list, const char *text)
{
    json_each (item, list)
        if (json_string_is(item, text))
            return json_remove_item(list, item);
    return false;
}

/* Only on kinds the garbage collector follows: otherwise the finalizer would never be removed. */
static bool set_finalizers(struct arena *a, const struct kind *k, struct json *object,
                           enum propagation wanted)
{
    static const struct {
        enum propagation policy;
        const char *name;
    } finalizers[] = {{FOREGROUND, FINALIZER_FOREGROUND}, {ORPHAN, FINALIZER_ORPHAN}};
    struct json *meta = json_make_object(a, object, "metadata");
    bool changed = false;

    if (wanted == PROPAGATION_DEFAULT || !k->collected)
        return false;
    for (size_t i = 0; i < ELEMS(finalizers); i++) {
        struct json *list = json_get_mut(meta, "finalizers");

        if (wanted != finalizers[i].policy) {
            changed = drop_text(list, finalizers[i].name) || changed;
        } else if (!has_text(list, finalizers[i].name)) {
            json_append_string(a, json_make_array(a, meta, "finalizers"), finalizers[i].name);
            changed = true;
        }
    }
    if (json_get(meta, "finalizers") && json_len(json_get(meta, "finalizers")) == 0)
        json_remove(meta, "finalizers");
    return changed;
}

int removal_plan(struct arena *a, const struct kind *k, struct json *object,
                 const struct removal *removal, int64_t now_ms, enum removal_result *ret,
                 struct err *err)
{
    int64_t grace;
    bool changed;
    int rc = check_preconditions(a, k, object, removal, err);

    if (rc < 0)
        return rc;
    changed = set_finalizers(a, k, object, removal->propagation);
    if (k == &kind_namespace) { /* its contents first: namespace.c */
        *ret = object_is_deleting(object) ? REMOVAL_NONE : REMOVAL_MARK;
        if (*ret == REMOVAL_MARK)
            mark(a, object, now_ms, 0);
        json_set_string(a, json_make_object(a, object, "status"), "phase", "Terminating");
    } else if (object_is_deleting(object)) {
        *ret = again(a, k, object, removal->grace_seconds);
        if (*ret == REMOVAL_NONE && changed)
            *ret = is_over(object) ? REMOVAL_DELETE : REMOVAL_MARK;
    } else {
        grace = kind_hooks_grace_seconds(k, object, removal->grace_seconds);
        *ret = grace > 0 || json_len(json_at(object, "metadata", "finalizers")) > 0
                   ? REMOVAL_MARK
                   : REMOVAL_DELETE;
        if (*ret == REMOVAL_MARK)
            mark(a, object, now_ms + grace * 1000, grace);
    }
    return arena_failed(a) ? out_of_memory(err) : 0;
}

/* --- options --------------------------------------------------------------------------- */

static int read_propagation(const struct server_request *r, const char *policy,
                            const struct json *orphan, enum propagation *ret, struct err *err)
{
    static const struct {
        const char *name;
        enum propagation policy;
    } known[] = {{"", PROPAGATION_DEFAULT},
                 {"Background", BACKGROUND},
                 {"Foreground", FOREGROUND},
                 {"Orphan", ORPHAN}};

    if (*policy && json_is(orphan, JSON_BOOL))
        return option_invalid(r, "FieldValueInvalid", "propagationPolicy",
                              arena_printf(r->arena,
                                           "Invalid value: \"%s\": orphanDependents and "
                                           "deletionPropagation cannot be both set",
                                           policy),
                              err);
    for (size_t i = 0; i < ELEMS(known); i++)
        if (strcmp(policy, known[i].name) == 0) {
            *ret = json_is(orphan, JSON_BOOL) ? (json_bool(orphan, false) ? ORPHAN : BACKGROUND)
                                              : known[i].policy;
            return 0;
        }
    return option_invalid(r, "FieldValueNotSupported", "propagationPolicy",
                          arena_printf(r->arena,
                                       "Unsupported value: \"%s\": supported values: "
                                       "\"Background\", \"Foreground\", \"Orphan\"",
                                       policy),
                          err);
}

static int read_body(struct server_request *r, const struct json **ret, struct err *err)
{
    *ret = NULL;
    if (r->body_len == 0)
        return 0;
    *ret = object_parse(r->arena, &kind_delete_options, r->content_type, r->body, r->body_len, NULL,
                        NULL, err);
    if (*ret && !json_string_is(json_get(*ret, "kind"), "DeleteOptions") &&
        *json_get_string(*ret, "kind", ""))
        return err_set(err, ERR_BAD_REQUEST, "the body of a deletion is DeleteOptions, not %s",
                       json_get_string(*ret, "kind", ""));
    return *ret ? 0 : -1;
}

static int read_grace(const struct server_request *r, const struct json *options, int64_t *ret,
                      struct err *err)
{
    const struct json *given = json_get(options, "gracePeriodSeconds");
    int rc = query_int(r, "gracePeriodSeconds", json_int(given, -1), ret, err);

    if (rc == 0 && !json_is_null(given) && (!json_is(given, JSON_INT) || json_int(given, 0) < 0))
        rc = err_set(err, ERR_BAD_REQUEST,
                     "gracePeriodSeconds: Invalid value: must be a whole number, 0 or more");
    return rc;
}

int removal_read(const struct server_request *r, const struct json *options, struct removal *ret,
                 bool *ret_dry_run, struct err *err)
{
    const char *policy = query_get(r, "propagationPolicy");
    const struct json *preconditions = json_get(options, "preconditions");
    int rc = query_dry_run(r, ret_dry_run, err);

    *ret = removal_plain;
    if (rc == 0)
        rc = read_grace(r, options, &ret->grace_seconds, err);
    if (rc < 0)
        return rc;
    json_each (item, json_get(options, "dryRun"))
        *ret_dry_run = *ret_dry_run || json_string_is(item, "All");
    ret->uid = json_get_string(preconditions, "uid", NULL);
    ret->resource_version = json_get_string(preconditions, "resourceVersion", NULL);
    return read_propagation(r, json_get_string(options, "propagationPolicy", policy ? policy : ""),
                            json_get(options, "orphanDependents"), &ret->propagation, err);
}

int removal_options(struct server_request *r, struct removal *ret, bool *ret_dry_run,
                    struct err *err)
{
    const struct json *options;
    int rc = read_body(r, &options, err);

    return rc < 0 ? rc : removal_read(r, options, ret, ret_dry_run, err);
}

/* --- sweeps ---------------------------------------------------------------------------- */

const struct removal removal_plain = {.grace_seconds = -1};

static int sweep_object(struct server *s, struct arena *a, const struct kind *k, const char *key,
                        const struct store_item *item, const struct removal *removal,
                        struct err *err)
{
    struct json *object = stored_parse(a, k, item->value, false, err);
    enum removal_result result;
    int rc;

    if (!object)
        return -1;
    rc = removal_plan(a, k, object, removal, clock_now_ms(s->clock), &result, err);
    if (rc < 0 || result == REMOVAL_NONE)
        return rc;
    return object_write(s, a, k, key, object, result == REMOVAL_DELETE ? WRITE_DELETE : WRITE_PUT,
                        NULL, NULL, NULL, err);
}

int removal_sweep(struct server *s, const struct kind *k, const char *key,
                  const struct removal *removal, bool *ret_gone, struct err *err)
{
    const struct store_item *item = store_head(server_collection(s, k), key);
    struct arena a = ARENA_INIT(SWEEP_MEMORY_BYTES);
    int rc = item ? sweep_object(s, &a, k, key, item, removal, err) : 0;

    arena_release(&a);
    *ret_gone = !store_head(server_collection(s, k), key);
    return rc;
}

static bool owners_change(const struct json *old, const struct json *next)
{
    const struct json *before = json_at(old, "metadata", "ownerReferences");
    const struct json *after = json_at(next, "metadata", "ownerReferences");

    return (json_len(before) > 0 || json_len(after) > 0) && !json_equal(before, after);
}

int removal_check_later(struct server_request *r, const struct json *old, const struct json *next,
                        struct err *err)
{
    const struct kind *k = r->route.kind;
    const struct field_path meta = {.name = "metadata"};
    const struct field_path *at = PATH_KEY(PATH_MEMBER(&meta, "annotations"), ANNOTATION_DELETE_AT);
    const struct json *said = json_at(next, "metadata", "annotations", ANNOTATION_DELETE_AT);
    int64_t ms;

    if (old && owners_change(old, next) && rbac_check_verb(r, "delete", err) < 0) {
        err_context(err,
                    "metadata.ownerReferences: an object without a remaining owner is deleted");
        return err_errno(err->reason);
    }
    if (!said || json_equal(said, json_at(old, "metadata", "annotations", ANNOTATION_DELETE_AT)))
        return 0;
    if (!job_is_kind(k) && !app_is_kind(k))
        problem_forbidden(err, at, said->line,
                          "only jobs, TensorBoards and Notebooks are deleted by it");
    else if (time_parse(json_string(said, ""), &ms) < 0)
        problem_invalid(err, at, said, "must be a time such as 2026-11-16T21:00:00Z");
    else
        return rbac_check_verb(r, "delete", err);
    problem_summary(err, k, next);
    return err_errno(ERR_INVALID);
}
