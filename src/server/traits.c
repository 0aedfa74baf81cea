/*
 * traits.c - see traits.h. One allocation of NUL-terminated strings: the values of fields in the
 * order of field_path(), then keys and values of labels.
 */
#include "server/traits.h"

#include <stdlib.h>
#include <string.h>

#include "server/internal.h"

struct traits {
    const char *const *field_selectors; /* of the kind they were taken for */
    size_t fields_len;
    uint32_t labels, end; /* offsets in text */
    char text[];
};

/* The paths a kind supports, by index; NULL at the end. */
static const char *field_path(const char *const *field_selectors, size_t i)
{
    if (i < 2)
        return i == 0 ? "metadata.name" : "metadata.namespace";
    return field_selectors ? field_selectors[i - 2] : NULL;
}

/* All that is taken of a pod: every agent selects from all of them. */
static const struct json_part pod_metadata[] = {
    {"name", NULL}, {"namespace", NULL}, {"labels", NULL}, {NULL, NULL}};
static const struct json_part pod_spec[] = {{"nodeName", NULL},      {"restartPolicy", NULL},
                                            {"schedulerName", NULL}, {"serviceAccountName", NULL},
                                            {"hostNetwork", NULL},   {NULL, NULL}};
static const struct json_part pod_status[] = {
    {"phase", NULL}, {"podIP", NULL}, {"nominatedNodeName", NULL}, {NULL, NULL}};
static const struct json_part pod_parts[] = {
    {"metadata", pod_metadata}, {"spec", pod_spec}, {"status", pod_status}, {NULL, NULL}};

static void add_text(struct buf *out, const char *text)
{
    buf_add(out, text, strlen(text) + 1);
}

static size_t add_fields(struct buf *out, const struct kind *k, const struct json *object)
{
    char digits[FIELD_DIGITS_SIZE];
    const char *path;
    size_t n = 0;

    for (; (path = field_path(k->field_selectors, n)); n++)
        add_text(out, field_selector_value(object, path, digits));
    return n;
}

static void add_labels(struct buf *out, const struct json *object)
{
    json_each (l, object_labels(object))
        if (json_is(l, JSON_STRING)) {
            add_text(out, l->key);
            add_text(out, l->u.text);
        }
}

static struct traits *take(const struct kind *k, const struct json *object)
{
    struct buf out = BUF_INIT(OBJECT_LIMIT_BYTES);
    struct traits *t = NULL;
    size_t fields_len = add_fields(&out, k, object), labels = out.len;

    add_labels(&out, object);
    if (!out.failed)
        t = malloc(sizeof(*t) + out.len);
    if (t) {
        *t = (struct traits){.field_selectors = k->field_selectors,
                             .fields_len = fields_len,
                             .labels = (uint32_t)labels,
                             .end = (uint32_t)out.len};
        memcpy(t->text, out.data, out.len);
    }
    buf_release(&out);
    return t;
}

const struct traits *traits_of(const struct kind *k, struct blob *b, struct arena *scratch)
{
    struct traits *t = b->note;
    const struct json *object;

    if (k->from_stored)
        return NULL;
    if (t)
        return t->field_selectors == k->field_selectors ? t : NULL; /* its definition changed */
    arena_reset(scratch);
    object = k == &kind_pod ? json_skim(scratch, b->data, b->len, pod_parts, NULL)
                            : blob_parse(scratch, b, NULL);
    t = object ? take(k, object) : NULL;
    b->note = t;
    return t;
}

static const char *after(const char *text)
{
    return text + strlen(text) + 1;
}

static const char *find_field(const void *arg, const char *path)
{
    const struct traits *t = arg;
    const char *at = t->text;

    for (size_t i = 0; i < t->fields_len; i++, at = after(at))
        if (strcmp(field_path(t->field_selectors, i), path) == 0)
            return at;
    return "";
}

static const char *find_label(const void *arg, const char *key)
{
    const struct traits *t = arg;

    for (const char *at = t->text + t->labels; at < t->text + t->end; at = after(after(at)))
        if (strcmp(at, key) == 0)
            return after(at);
    return NULL;
}

bool traits_match(const struct traits *t, const struct label_selector *labels,
                  const struct field_selector *fields)
{
    return label_selector_matches_by(labels, find_label, t) &&
           field_selector_matches_by(fields, find_field, t);
}
