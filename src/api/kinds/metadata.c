/* metadata.c - the fields of every object's metadata, and their rules. */
#include "api/metadata.h"
#include "api/field_macros.h"

#include <string.h>

#include "api/object.h"

#define ANNOTATIONS_LIMIT_BYTES (256u * 1024u)

static const struct field owner_fields[] = {
    F_STR("apiVersion", "API version of the owner.", PZ(5), REQUIRED),
    F_STR("kind", "Kind of the owner.", PZ(1), REQUIRED),
    F_STR("name", "Name of the owner.", PZ(3), REQUIRED),
    F_STR("uid", "UID of the owner.", PZ(4), REQUIRED),
    F_BOOL("controller", "True for the one owner that manages this object.", PZ(6)),
    F_BOOL("blockOwnerDeletion",
           "True when the owner may not be removed in the foreground before this object.", PZ(7)),
    {0}};

static const struct field managed_fields[] = {
    F_STR("manager", "Who.", P(1)),
    F_STR("operation", "Apply or Update.", P(2)),
    F_STR("apiVersion", "Version of the fields.", P(3)),
    F_TIME("time", "When last.", P(4)),
    F_STR("fieldsType", "FieldsV1.", P(6)),
    F_PLAIN(FIELD_ANY, "fieldsV1", "The fields.", PZ(7)),
    F_STR("subresource", "The part of the object that was written.", P(8)),
    {0}};

const struct field object_reference_fields[] = {
    F_STR("kind", "Kind of the object.", P(1)),
    F_STR("namespace", "Its namespace.", P(2)),
    F_STR("name", "Its name.", P(3)),
    F_STR("uid", "Its UID.", P(4)),
    F_STR("apiVersion", "Its API version.", P(5)),
    F_STR("resourceVersion", "Its version at the time.", P(6)),
    F_STR("fieldPath", "The part of it that is meant.", P(7)),
    {0}};

const struct field object_meta_fields[] = {
    F_STR("name", "Name, unique in the namespace among objects of the kind. It cannot be changed.",
          P(1)),
    F_STR("generateName", "Prefix of a name the server makes when name is not given.", P(2)),
    F_STR("namespace", "Namespace the object is in.", P(3)),
    F_STR_MAP("labels", "Keys and values by which objects are selected.", P(11),
              .flags = FIELD_LABELS),
    F_STR_MAP("annotations", "Keys and values for tools and people; they are not used to select.",
              P(12)),
    F_OBJS("ownerReferences", owner_fields,
           "Objects this one depends on: it is removed when all of them are gone.", P(13),
           MERGED_BY("uid")),
    F_STRS("finalizers", "While any is left a deleted object stays, marked as being deleted.",
           P(14), .flags = FIELD_MERGE_SET),
    F_STR("uid", "Unique in time and space. Set by the server.", P(5), .flags = FIELD_READ_ONLY),
    F_STR("resourceVersion",
          "Changes with every write. Set by the server; give it in an update to be sure nobody "
          "else wrote in between.",
          P(6), .flags = FIELD_READ_ONLY),
    F_INT64("generation", "Counts the changes of what is wanted. Set by the server.", P(7),
            .flags = FIELD_READ_ONLY),
    F_TIME("creationTimestamp", "When the object was created. Set by the server.", P(8),
           .flags = FIELD_READ_ONLY),
    F_TIME("deletionTimestamp",
           "When the object is to be gone, once deletion was asked for. Set by the server.", P(9),
           .flags = FIELD_READ_ONLY),
    F_INT64("deletionGracePeriodSeconds",
            "Seconds given to end gracefully. Set by the server when deletion is asked for.",
            PZ(10), .flags = FIELD_READ_ONLY),
    F_OBJS("managedFields", managed_fields, "Who set which fields, for server-side apply.", P(17),
           .flags = FIELD_READ_ONLY),
    F_STR("selfLink", "Not used.", P(4), .flags = FIELD_READ_ONLY),
    {0}};

const struct field object_common_fields[] = {
    F_STR("apiVersion", "Group and version of this object's schema."),
    F_STR("kind", "Kind of the object."),
    F_OBJ("metadata", object_meta_fields, "Name, namespace, labels and what else every object has.",
          P(1)),
    {0}};

static bool has_nul(const struct json *v)
{
    return json_is(v, JSON_STRING) && strlen(v->u.text) != v->len;
}

/* Whether it cannot be a path segment, and why. */
static const char *path_name_problem(const char *text)
{
    if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return "may not be '.' or '..'";
    return strpbrk(text, "/%") ? "may not contain '/' or '%'" : NULL;
}

static const char *name_problem(const struct kind *k, const struct json *name, const char *text)
{
    if (has_nul(name))
        return "may not contain a NUL byte";
    return k->free_names ? path_name_problem(text) : dns_name_problem(text);
}

static void check_name(const struct kind *k, const struct json *meta, unsigned line,
                       const struct field_path *at, struct err *err)
{
    const struct json *name = json_get(meta, "name"), *prefix = json_get(meta, "generateName");
    const char *text = json_string(name, ""), *problem = NULL;

    if (!*text && !*json_string(prefix, "")) {
        problem_required(err, PATH_MEMBER(at, "name"), line, "name or generateName is required");
        return;
    }
    if (*text) {
        problem = name_problem(k, name, text);
        if (problem)
            problem_invalid(err, PATH_MEMBER(at, "name"), name, "%s", problem);
    } else {
        /* the prefix may end in '-' or '.', because a suffix is appended */
        char whole[300];
        size_t len = strlen(json_string(prefix, ""));

        if (len < sizeof(whole) - 2) {
            memcpy(whole, json_string(prefix, ""), len);
            memcpy(whole + len, "x", 2);
            problem = name_problem(k, prefix, whole);
        } else {
            problem = "must be no more than 253 characters";
        }
        if (problem)
            problem_invalid(err, PATH_MEMBER(at, "generateName"), prefix, "%s", problem);
    }
}

static void check_namespace(const struct json *meta, const struct field_path *at, struct err *err)
{
    const struct json *ns = json_get(meta, "namespace");
    const char *text = json_string(ns, "");
    const char *problem = *text ? dns_label_problem(text) : NULL;

    if (has_nul(ns))
        problem = "may not contain a NUL byte";
    if (problem)
        problem_invalid(err, PATH_MEMBER(at, "namespace"), ns, "%s", problem);
}

/* A bad key is reported against the map, and quoted. */
static void bad_key(struct err *err, const struct field_path *at, const struct json *member,
                    const char *problem)
{
    const struct json quoted = {
        .type = JSON_STRING, .u.text = member->key, .len = member->key_len, .line = member->line};

    problem_invalid(err, at, &quoted, "%s", problem);
}

void metadata_validate_labels(const struct json *labels, const struct field_path *at,
                              struct err *err)
{
    json_each (m, labels) {
        const char *problem = strlen(m->key) != m->key_len ? "may not contain a NUL byte"
                                                           : label_key_problem(m->key);

        if (problem)
            bad_key(err, at, m, problem);
        problem = has_nul(m) ? "may not contain a NUL byte"
                             : label_value_problem(json_string(m, ""));
        if (problem)
            problem_invalid(err, PATH_KEY(at, m->key), m, "%s", problem);
    }
}

/* Unlike label keys, annotation keys may have capitals in their prefix. */
static const char *annotation_key_problem(const struct json *m)
{
    char lower[400];

    if (strlen(m->key) != m->key_len)
        return "may not contain a NUL byte";
    if (m->key_len >= sizeof(lower))
        return "must be no more than 317 characters";
    for (size_t i = 0; i <= m->key_len; i++)
        lower[i] = (char)(m->key[i] >= 'A' && m->key[i] <= 'Z' ? m->key[i] + 32 : m->key[i]);
    return label_key_problem(lower);
}

static void check_annotations(const struct json *annotations, const struct field_path *at,
                              struct err *err)
{
    size_t total = 0;

    json_each (m, annotations) {
        const char *problem = annotation_key_problem(m);

        if (problem)
            bad_key(err, at, m, problem);
        total += m->key_len + (json_is(m, JSON_STRING) ? m->len : 0);
    }
    if (total > ANNOTATIONS_LIMIT_BYTES)
        problem_forbidden(err, at, annotations->line,
                          "annotations may hold at most %u bytes together, these hold %zu",
                          ANNOTATIONS_LIMIT_BYTES, total);
}

void metadata_refuse_annotations(const struct json *meta, const struct json *old_meta,
                                 const char *const *names, size_t len, const struct field_path *at,
                                 struct err *err)
{
    const struct json *annotations = json_get(meta, "annotations");
    const struct json *before = json_get(old_meta, "annotations");

    for (size_t i = 0; i < len; i++) {
        const struct json *said = json_get(annotations, names[i]);

        if (said && !json_equal(said, json_get(before, names[i])))
            problem_forbidden(err, PATH_KEY(PATH_MEMBER(at, "annotations"), names[i]), said->line,
                              "muster itself writes this annotation; leave it out");
    }
}

static void check_owners(const struct json *owners, const struct field_path *at, struct err *err)
{
    const struct json *controller = NULL;

    json_each (owner, owners) {
        if (!json_get_bool(owner, "controller", false))
            continue;
        if (controller)
            problem_invalid(err, at, owner, "only one reference can have controller set to true");
        controller = owner;
    }
}

static void check_finalizers(const struct json *meta, const struct json *old_meta,
                             const struct field_path *at, struct err *err)
{
    const struct json *finalizers = json_get(meta, "finalizers");
    bool deleting = !json_is_null(json_get(old_meta, "deletionTimestamp"));
    size_t i = 0;

    json_each (f, finalizers) {
        const char *problem = has_nul(f) ? "may not contain a NUL byte"
                                         : label_key_problem(json_string(f, ""));

        if (problem)
            problem_invalid(err, PATH_INDEX(at, i), f, "%s", problem);
        if (deleting && !json_has(json_get(old_meta, "finalizers"), json_string(f, "")))
            problem_forbidden(err, at, f->line,
                              "no new finalizers can be added if the object is being deleted, "
                              "found new finalizers []string{\"%.100s\"}",
                              json_string(f, ""));
        i++;
    }
}

static void check_unchanged(const struct json *meta, const struct json *old_meta,
                            const struct field_path *at, struct err *err)
{
    static const char *const names[] = {"name", "namespace", "uid", "creationTimestamp"};

    for (size_t i = 0; i < ELEMS(names); i++) {
        const struct json *now = json_get(meta, names[i]), *then = json_get(old_meta, names[i]);

        if (now && then && !json_equal(now, then))
            problem_invalid(err, PATH_MEMBER(at, names[i]), now, "field is immutable");
    }
}

void metadata_validate(const struct kind *k, const struct json *object, const struct json *old,
                       struct err *err)
{
    const struct json *meta = json_get(object, "metadata");
    const struct json *old_meta = json_get(old, "metadata");
    const struct field_path at = {.name = "metadata"};

    check_name(k, meta, meta ? meta->line : object->line, &at, err);
    check_namespace(meta, &at, err);
    check_annotations(json_get(meta, "annotations"), PATH_MEMBER(&at, "annotations"), err);
    if (old || !json_string_is(json_at(meta, "annotations", ANNOTATION_RUN_AS), RUN_AS_NAMESPACE))
        metadata_refuse_annotations(meta, old_meta, (const char *const[]){ANNOTATION_RUN_AS}, 1,
                                    &at, err);
    check_owners(json_get(meta, "ownerReferences"), PATH_MEMBER(&at, "ownerReferences"), err);
    check_finalizers(meta, old_meta, PATH_MEMBER(&at, "finalizers"), err);
    if (old)
        check_unchanged(meta, old_meta, &at, err);
}
