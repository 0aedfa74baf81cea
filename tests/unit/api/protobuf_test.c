/* protobuf_test.c - bodies as clients send them, broken ones, and every field of every kind there
 * and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/object.h"
#include "api/protobuf.h"

/* A message is built from the inside: each of these writes one field. */
static void add_bytes(struct buf *b, unsigned number, const void *data, size_t len)
{
    assert_true(number < 16 && len < 16384);
    buf_addc(b, (char)(number << 3 | 2));
    if (len >= 128)
        buf_addc(b, (char)(0x80 | (len & 0x7f)));
    buf_addc(b, (char)(len >= 128 ? len >> 7 : len));
    buf_add(b, data, len);
}

static void add_text(struct buf *b, unsigned number, const char *text)
{
    add_bytes(b, number, text, strlen(text));
}

static void add_int(struct buf *b, unsigned number, unsigned value)
{
    assert_true(number < 16 && value < 128);
    buf_addc(b, (char)(number << 3));
    buf_addc(b, (char)value);
}

/* Puts sub into b as field number and empties it. */
static void add_message(struct buf *b, unsigned number, struct buf *sub)
{
    add_bytes(b, number, sub->data ? sub->data : "", sub->len);
    buf_clear(sub);
}

static void add_entry(struct buf *b, unsigned number, const char *key, const char *value)
{
    struct buf entry = BUF_INIT(1024);

    add_text(&entry, 1, key);
    add_text(&entry, 2, value);
    add_message(b, number, &entry);
    buf_release(&entry);
}

static void wrap(struct buf *out, const char *api_version, const char *kind, struct buf *raw)
{
    struct buf type = BUF_INIT(1024);

    buf_add(out, "k8s", 4);
    add_text(&type, 1, api_version);
    add_text(&type, 2, kind);
    add_message(out, 1, &type);
    add_message(out, 2, raw);
    add_text(out, 3, "");
    add_text(out, 4, "");
    buf_release(&type);
}

static const struct kind *kind_named(const char *name)
{
    for (const struct kind *const *k = kinds; *k; k++)
        if (strcmp((*k)->name, name) == 0)
            return *k;
    for (const struct kind *const *k = message_kinds; *k; k++)
        if (strcmp((*k)->name, name) == 0)
            return *k;
    fail_msg("there is no kind %s", name);
    return NULL;
}

static void note(void *arg, const char *text)
{
    (void)snprintf(arg, 256, "%s", text);
}

/* warning: the last one, or NULL for none. */
static void expect_warned(struct buf *body, const char *kind, const char *json, const char *warning)
{
    struct arena a = ARENA_INIT(1u << 20);
    auto_err err = ERR_INIT;
    struct buf text = BUF_INIT(1u << 20);
    char said[256] = "";
    const struct json *v = object_parse(&a, kind_named(kind), PROTOBUF_TYPE, body->data, body->len,
                                        note, said, &err);

    if (!v)
        fail_msg("%s", err.text);
    json_write(&text, v);
    assert_string_equal(text.data, json);
    assert_string_equal(said, warning ? warning : "");
    buf_release(&text);
    buf_release(body);
    arena_release(&a);
}

static void expect(struct buf *body, const char *kind, const char *json)
{
    expect_warned(body, kind, json, NULL);
}

static void metadata_without_what_is_not_set(void **state)
{
    struct buf meta = BUF_INIT(4096), raw = BUF_INIT(4096), body = BUF_INIT(8192),
               sub = BUF_INIT(4096);

    (void)state;
    add_text(&meta, 1, "team");
    add_text(&meta, 2, "");
    add_text(&meta, 3, "");
    add_int(&meta, 7, 0);
    add_message(&meta, 8, &sub); /* a creation time of nothing */
    add_entry(&meta, 11, "a", "1");
    add_entry(&meta, 11, "b", "");
    add_text(&sub, 1, "Job");
    add_text(&sub, 4, "u-1");
    add_int(&sub, 6, 1);
    add_message(&meta, 13, &sub);
    add_text(&meta, 14, "keep");
    add_text(&meta, 15, "a field nobody knows");
    add_message(&raw, 1, &meta);
    add_message(&raw, 2, &sub); /* an empty spec */
    wrap(&body, "v1", "Namespace", &raw);
    expect_warned(&body, "Namespace",
                  "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\","
                  "\"labels\":{\"a\":\"1\",\"b\":\"\"},\"ownerReferences\":[{\"kind\":\"Job\","
                  "\"uid\":\"u-1\",\"controller\":true}],\"finalizers\":[\"keep\"]},\"spec\":{}}",
                  "unknown field \"metadata.<15>\", by its number in protobuf");
    buf_release(&meta);
    buf_release(&raw);
    buf_release(&sub);
}

static void bytes_become_base64(void **state)
{
    struct buf raw = BUF_INIT(4096), body = BUF_INIT(8192);

    (void)state;
    add_entry(&raw, 2, "p", "hunter2");
    add_text(&raw, 3, "Opaque");
    wrap(&body, "v1", "Secret", &raw);
    expect(&body, "Secret",
           "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"p\":\"aHVudGVyMg==\"},"
           "\"type\":\"Opaque\"}");
    buf_release(&raw);
}

static void zeros_that_were_said_stay(void **state)
{
    struct buf raw = BUF_INIT(4096), body = BUF_INIT(8192), sub = BUF_INIT(64);

    (void)state;
    add_int(&raw, 1, 0);
    add_text(&sub, 1, "u-1");
    add_message(&raw, 2, &sub);
    add_text(&raw, 5, "All");
    wrap(&body, "v1", "DeleteOptions", &raw);
    expect(&body, "DeleteOptions",
           "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
           "\"preconditions\":{\"uid\":\"u-1\"},\"dryRun\":[\"All\"]}");
    buf_release(&raw);
    buf_release(&sub);
}

static void times_are_written_out(void **state)
{
    struct buf raw = BUF_INIT(4096), body = BUF_INIT(8192), sub = BUF_INIT(64);

    (void)state;
    add_int(&sub, 1, 90);
    add_message(&raw, 7, &sub);
    add_int(&sub, 1, 90);
    add_message(&raw, 10, &sub);
    wrap(&body, "v1", "Event", &raw);
    expect(&body, "Event",
           "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"lastTimestamp\":"
           "\"1970-01-01T00:01:30Z\",\"eventTime\":\"1970-01-01T00:01:30.000000Z\"}");
    buf_release(&raw);
    buf_release(&sub);
}

static void ports_are_numbers_or_names(void **state)
{
    struct buf raw = BUF_INIT(4096), body = BUF_INIT(8192), spec = BUF_INIT(1024);
    struct buf port = BUF_INIT(256), target = BUF_INIT(64);

    (void)state;
    add_int(&port, 3, 80);
    add_int(&target, 1, 0);
    add_int(&target, 2, 81);
    add_text(&target, 3, "");
    add_message(&port, 4, &target);
    add_int(&port, 5, 0);
    add_message(&spec, 1, &port);
    add_int(&port, 3, 82);
    add_int(&target, 1, 1);
    add_text(&target, 3, "web");
    add_message(&port, 4, &target);
    add_message(&spec, 1, &port);
    add_int(&port, 3, 83);
    add_int(&target, 1, 0);
    add_int(&target, 2, 0);
    add_message(&port, 4, &target);
    add_message(&spec, 1, &port);
    add_message(&raw, 2, &spec);
    wrap(&body, "v1", "Service", &raw);
    expect(&body, "Service",
           "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"spec\":{\"ports\":[{\"port\":80,"
           "\"targetPort\":81},{\"port\":82,\"targetPort\":\"web\"},{\"port\":83}]}}");
    buf_release(&raw);
    buf_release(&spec);
    buf_release(&port);
    buf_release(&target);
}

/* A body kubectl sends, cut at every byte, and with bytes changed. */
static void strange_bodies_do_no_harm(void **state)
{
    struct buf raw = BUF_INIT(4096), body = BUF_INIT(8192), meta = BUF_INIT(4096);
    struct buf sub = BUF_INIT(256);
    unsigned seed = 20261115;

    (void)state;
    add_text(&meta, 1, "name");
    add_int(&sub, 1, 90);
    add_message(&meta, 8, &sub);
    add_entry(&meta, 11, "k", "v");
    add_text(&sub, 1, "Pod");
    add_int(&sub, 6, 1);
    add_message(&meta, 13, &sub);
    add_message(&raw, 1, &meta);
    add_entry(&raw, 2, "a", "x");
    add_entry(&raw, 3, "b", "y");
    wrap(&body, "v1", "ConfigMap", &raw);
    for (size_t i = 0; i < 40000; i++) {
        struct arena a = ARENA_INIT(1u << 20);
        auto_err err = ERR_INIT;
        size_t len = i < body.len ? i : body.len;
        char *exact = malloc(len ? len : 1);

        assert_non_null(exact);
        memcpy(exact, body.data, len);
        for (size_t n = 0; i >= body.len && n < 1 + i % 4; n++)
            exact[4 + (size_t)rand_r(&seed) % (len - 4)] = (char)rand_r(&seed);
        if (!protobuf_parse(&a, &kind_config_map, exact, len, NULL, NULL, &err))
            assert_true(err_is_set(&err));
        free(exact);
        arena_release(&a);
    }
    buf_release(&raw);
    buf_release(&body);
    buf_release(&meta);
    buf_release(&sub);
}

static void refuse(const struct kind *k, const char *data, size_t len, enum err_reason reason)
{
    struct arena a = ARENA_INIT(1u << 20);
    auto_err err = ERR_INIT;
    char *exact = malloc(len ? len : 1); /* so that a byte too far is noticed */

    assert_non_null(exact);
    memcpy(exact, data, len);
    if (protobuf_parse(&a, k, exact, len, NULL, NULL, &err))
        fail_msg("%zu bytes were taken: %.*s", len, (int)len, data);
    assert_int_equal(err.reason, reason);
    free(exact);
    arena_release(&a);
}

static void broken_bodies_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"", 0},
        {"k8s", 3},
        {"{\"kind\":1}", 10},
        {"k8s\0\x0a", 5},     /* a length is missing */
        {"k8s\0\x0a\x7f", 6}, /* ... or too much */
        {"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15},
        {"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16}, /* ... without an end */
        {"k8s\0\x02\x00", 6},                                          /* field 0 */
        {"k8s\0\x0b", 5},                                              /* a group */
        {"k8s\0\x08\x01", 6},                                          /* the type is no message */
        {"k8s\0\x0a\x0b\x12\x09"
         "Namespace"
         "\x12\x02\x08\x01",
         21}, /* metadata a number */
        {"k8s\0\x0a\x0b\x12\x09"
         "ConfigMap"
         "\x12\x04\x12\x02\x0a\x05",
         23}, /* a broken entry */
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        refuse(strstr(cases[i].bytes + min_size(cases[i].len, 8), "Config") ? &kind_config_map
                                                                            : &kind_namespace,
               cases[i].bytes, cases[i].len, ERR_BAD_REQUEST);
    refuse(&kind_pytorch_training_job, "k8s\0", 4, ERR_UNSUPPORTED_MEDIA);
    refuse(NULL, "k8s\0", 4, ERR_UNSUPPORTED_MEDIA);
}

/* Each entry is looked for among the others: however many there are, and in whatever order. */
static void large_maps_are_read(void **state)
{
    struct arena a = ARENA_INIT(64u << 20);
    struct buf body = BUF_INIT(8u << 20);
    struct json *map = json_new_object(&a), *v;
    auto_err err = ERR_INIT;

    (void)state;
    json_set_string(&a, map, "kind", "ConfigMap");
    for (int n = 0; n < 50000; n++) {
        struct json *value = json_new_string(&a, "");

        value->key = arena_printf(&a, "k%d", n);
        value->key_len = (uint32_t)strlen(value->key);
        assert_non_null(json_append(json_make_object(&a, map, "data"), value));
    }
    protobuf_write(&body, &a, &kind_config_map, map);
    buf_add(&body, "\x12\x06\x12\x04\x0a\x02k0", 8); /* the object goes on, with a key it has */
    v = protobuf_parse(&a, &kind_config_map, body.data, body.len, NULL, NULL, &err);
    assert_non_null(v);
    buf_release(&body);
    arena_release(&a);
}

static void deep_nesting_is_refused(void **state)
{
    struct arena a = ARENA_INIT(64u << 20);
    struct buf body = BUF_INIT(8u << 20);
    struct json *crd = json_new_object(&a), *schema, *version;
    auto_err err = ERR_INIT;

    (void)state;
    version = json_append(json_make_array(&a, json_make_object(&a, crd, "spec"), "versions"),
                          json_new_object(&a));
    schema = json_make_object(&a, json_make_object(&a, version, "schema"), "openAPIV3Schema");
    for (int n = 0; n < 200; n++)
        schema = json_make_object(&a, schema, "not");
    protobuf_write(&body, &a, &kind_crd, crd);
    assert_null(protobuf_parse(&a, &kind_crd, body.data, body.len, NULL, NULL, &err));
    assert_int_equal(err.reason, ERR_BAD_REQUEST);
    buf_release(&body);
    arena_release(&a);
}

static void what_is_left_out_is_said(void **state)
{
    static const struct {
        const char *pod;
        bool whole;
    } cases[] = {
        {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{"
         "\"containers\":[{\"name\":\"c\",\"livenessProbe\":{\"exec\":{\"command\":[\"x\"]}},"
         "\"resources\":{\"limits\":{\"cpu\":1}}}],\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],"
         "\"nodeName\":null}}",
         true},
        {"{\"spec\":{\"ofTomorrow\":1}}", false},
        {"{\"spec\":{\"containers\":[{\"livenessProbe\":{\"ofTomorrow\":{}}}]}}", false},
        {"{\"spec\":{\"volumes\":[{\"name\":\"v\",\"ofTomorrow\":{}}]}}", false},
        {"{\"metadata\":{\"ofTomorrow\":{}}}", false},
        {"{\"ofTomorrow\":{}}", false},
        {"{\"spec\":{\"nodeName\":1}}", false},
        {"{\"spec\":{\"containers\":{}}}", false},
        {"{\"spec\":{\"nodeSelector\":[]}}", false},
        {"{\"spec\":{\"priority\":2147483648}}", false},
        {"{\"spec\":{\"activeDeadlineSeconds\":1.5}}", false},
        {"{\"metadata\":{\"deletionTimestamp\":\"soon\"}}", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct arena a = ARENA_INIT(1u << 20);
        struct buf body = BUF_INIT(1u << 20);
        const struct json *pod = json_parse(&a, cases[i].pod, strlen(cases[i].pod), NULL);

        assert_non_null(pod);
        if (protobuf_write(&body, &a, &kind_pod, pod) != cases[i].whole)
            fail_msg("%s: whole is not %d", cases[i].pod, cases[i].whole);
        buf_release(&body);
        arena_release(&a);
    }
}

static void events_there_and_back(void **state)
{
    static const char pod[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
                              "\"name\":\"a\",\"resourceVersion\":\"7\"}}";
    static const char gone[] = "{\"apiVersion\":\"v1\",\"kind\":\"Status\",\"message\":"
                               "\"too old\",\"code\":410}";
    struct arena a = ARENA_INIT(1u << 20);
    struct buf frame = BUF_INIT(1u << 20), text = BUF_INIT(1u << 20);
    auto_err err = ERR_INIT;

    (void)state;
    protobuf_write_event(&frame, &a, "ADDED", &kind_pod, json_parse(&a, pod, strlen(pod), NULL));
    json_write(&text, protobuf_parse_event(&a, &kind_pod, frame.data + 4, frame.len - 4, &err));
    assert_string_equal(json_get_string(json_parse(&a, text.data, text.len, NULL), "type", ""),
                        "ADDED");
    assert_non_null(strstr(text.data, pod));
    for (size_t len = 0; len < frame.len - 4; len++) /* cut short anywhere */
        assert_null(protobuf_parse_event(&a, &kind_pod, frame.data + 4, len, &err));
    buf_clear(&frame);
    buf_clear(&text);
    protobuf_write_event(&frame, &a, "ERROR", &kind_status,
                         json_parse(&a, gone, strlen(gone), NULL));
    json_write(&text, protobuf_parse_event(&a, &kind_pod, frame.data + 4, frame.len - 4, NULL));
    assert_non_null(strstr(text.data, gone));
    buf_release(&frame);
    buf_release(&text);
    arena_release(&a);
}

/* --- every field of every kind -------------------------------------------------------------- */

#define SCHEMA_DEPTH 6 /* a schema may hold schemas */

static struct json *filled(struct arena *a, const struct field *fields, unsigned depth);

static struct json *sample_choice(struct arena *a, const struct field *f, unsigned depth)
{
    struct json *list = json_new_array(a);

    if (depth % 2 == 0)
        return filled(a, f->fields, depth + 1);
    if (f->wire == FIELD_WIRE_OR_BOOL)
        return json_new_bool(a, true);
    if (f->wire == FIELD_WIRE_OR_STRINGS)
        json_append_string(a, list, "text");
    else
        (void)json_append(list, filled(a, f->fields, depth + 1));
    return list;
}

static struct json *sample(struct arena *a, const struct field *f, enum field_type type,
                           unsigned depth)
{
    struct json *v;

    switch (type) {
    case FIELD_STRING:
        return json_new_stringf(a, "a %s", f->name);
    case FIELD_INT32:
        return json_new_int(a, -1 - f->number);
    case FIELD_INT64:
        return json_new_int(a, 1000000000000 + f->number);
    case FIELD_BOOL:
        return json_new_bool(a, true);
    case FIELD_QUANTITY:
        return json_new_string(a, "1500m");
    case FIELD_TIME:
        return json_new_string(a, f->wire == FIELD_WIRE_MICRO ? "2026-11-17T03:04:05.678901Z"
                                                              : "2026-11-17T03:04:05Z");
    case FIELD_INT_OR_STRING:
        return depth % 2 ? json_new_int(a, 8080) : json_new_string(a, "web");
    case FIELD_BYTES:
        return json_new_string(a, "AAECAwT/");
    case FIELD_OBJECT:
        return filled(a, f->fields, depth + 1);
    case FIELD_LIST:
        v = json_new_array(a);
        (void)json_append(v, f->type == FIELD_MAP ? json_new_string(a, "one")
                                                  : sample(a, f, f->item, depth));
        return v;
    case FIELD_MAP:
        v = json_new_object(a);
        (void)json_set(a, v, "a/key", sample(a, f, f->item, depth));
        (void)json_set(a, v, "another", sample(a, f, f->item, depth + 1));
        return v;
    case FIELD_ANY:
        if (f->wire == FIELD_WIRE_DOUBLE)
            return json_new_real(a, "0.1");
        if (f->wire)
            return sample_choice(a, f, depth);
        return f->fields ? filled(a, f->fields, depth + 1)
                         : json_parse(a, "{\"f:a\":{},\"b\":[1,null]}", 23, NULL);
    }
    return NULL;
}

static struct json *filled(struct arena *a, const struct field *fields, unsigned depth)
{
    struct json *object = json_new_object(a);

    for (const struct field *f = fields; f->name; f++)
        if (f->number && (depth < SCHEMA_DEPTH || f->fields != fields))
            (void)json_set(a, object, f->name, sample(a, f, f->type, depth));
    return object;
}

static void check_round(const struct kind *k)
{
    struct arena a = ARENA_INIT(256u << 20);
    struct json *object = filled(&a, k->fields, 0), *again;
    struct buf bytes = BUF_INIT(64u << 20), text = BUF_INIT(64u << 20), other = BUF_INIT(64u << 20);
    char said[256] = "";
    auto_err err = ERR_INIT;

    json_set_string(&a, object, "apiVersion", kind_api_version(&a, k));
    json_set_string(&a, object, "kind", k->name);
    if (!json_get(object, "metadata") && k->fields->number != 1)
        (void)json_set(&a, object, "metadata",
                       filled(&a, field_find(object_common_fields, "metadata", 8)->fields, 1));
    assert_true(protobuf_write(&bytes, &a, k, object));
    assert_false(bytes.failed || arena_failed(&a));
    again = protobuf_parse(&a, k, bytes.data, bytes.len, note, said, &err);
    if (!again)
        fail_msg("%s: %s", k->name, err.text);
    assert_string_equal(said, "");
    if (!json_equal(object, again)) {
        json_write_pretty(&text, object);
        json_write_pretty(&other, again);
        fail_msg("%s was\n%s\nand is\n%s", k->name, text.data, other.data);
    }
    buf_release(&bytes);
    buf_release(&text);
    buf_release(&other);
    arena_release(&a);
}

static void every_kind_there_and_back(void **state)
{
    (void)state;
    for (const struct kind *const *k = kinds; *k; k++)
        if (protobuf_speaks(*k) && !(*k)->refused)
            check_round(*k);
    for (const struct kind *const *k = message_kinds; *k; k++)
        check_round(*k);
}

struct seen {
    const struct field *tables[1024];
    size_t len;
};

static void check_numbers(struct seen *seen, const struct field *fields, const char *path)
{
    for (size_t i = 0; i < seen->len; i++)
        if (seen->tables[i] == fields)
            return;
    assert_true(seen->len < ELEMS(seen->tables));
    seen->tables[seen->len++] = fields;
    for (const struct field *f = fields; f && f->name; f++) {
        char here[512];

        (void)snprintf(here, sizeof(here), "%s.%s", path, f->name);
        if (!f->number)
            fail_msg("%s has no number in protobuf", here);
        for (const struct field *other = fields; other != f; other++)
            if (other->number == f->number && other->inside == f->inside)
                fail_msg("%s has the number of %s", here, other->name);
        if (f->type == FIELD_OBJECT && !f->fields)
            fail_msg("%s has no table", here);
        if (f->type != FIELD_MAP || f->item == FIELD_OBJECT) /* else keys, not members */
            check_numbers(seen, f->fields, here);
    }
}

static void every_field_has_a_number(void **state)
{
    static struct seen seen;

    (void)state;
    for (const struct kind *const *k = kinds; *k; k++)
        if (!(*k)->custom && !(*k)->refused)
            check_numbers(&seen, (*k)->fields, (*k)->name);
    for (const struct kind *const *k = message_kinds; *k; k++)
        check_numbers(&seen, (*k)->fields, (*k)->name);
    check_numbers(&seen, field_find(object_common_fields, "metadata", 8)->fields, "metadata");
    assert_true(seen.len > 200);
}

/* Go's own bytes of a Pod: VolumeSource, ProbeHandler and the like are messages there. */
static void what_go_holds_inside(void **state)
{
    struct buf raw = BUF_INIT(4096), body = BUF_INIT(8192), spec = BUF_INIT(1024);
    struct buf volume = BUF_INIT(256), source = BUF_INIT(256), inner = BUF_INIT(64);
    struct buf name = BUF_INIT(64);

    (void)state;
    add_text(&volume, 1, "cache");
    add_message(&source, 2, &inner); /* emptyDir: {} */
    add_message(&volume, 2, &source);
    add_message(&spec, 1, &volume);
    add_text(&volume, 1, "settings");
    add_text(&name, 1, "cm");
    add_message(&inner, 1, &name); /* LocalObjectReference */
    add_int(&inner, 4, 0);
    buf_adds(&source, "\x9a\x01"); /* 19: configMap */
    buf_addc(&source, (char)inner.len);
    buf_add(&source, inner.data, inner.len);
    add_message(&volume, 2, &source);
    add_message(&spec, 1, &volume);
    add_message(&raw, 2, &spec);
    wrap(&body, "v1", "Pod", &raw);
    expect(&body, "Pod",
           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"volumes\":[{\"name\":\"cache\","
           "\"emptyDir\":{}},{\"name\":\"settings\",\"configMap\":{\"name\":\"cm\",\"optional\":"
           "false}}]}}");
    buf_release(&raw);
    buf_release(&spec);
    buf_release(&volume);
    buf_release(&source);
    buf_release(&inner);
    buf_release(&name);
}

/* A text with a NUL, which JSON has as \u0000: who read it can write it back. */
static void a_nul_is_a_character(void **state)
{
    static const char json[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"a\":"
                               "\"x\\u0000y\"}}";
    struct arena a = ARENA_INIT(1u << 16);
    struct buf body = BUF_INIT(4096);

    (void)state;
    protobuf_write(&body, &a, &kind_config_map, json_parse(&a, json, strlen(json), NULL));
    expect(&body, "ConfigMap", json);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nul_is_a_character),
        cmocka_unit_test(metadata_without_what_is_not_set),
        cmocka_unit_test(bytes_become_base64),
        cmocka_unit_test(zeros_that_were_said_stay),
        cmocka_unit_test(times_are_written_out),
        cmocka_unit_test(broken_bodies_are_refused),
        cmocka_unit_test(large_maps_are_read),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(every_field_has_a_number),
        cmocka_unit_test(what_is_left_out_is_said),
        cmocka_unit_test(events_there_and_back),
        cmocka_unit_test(every_kind_there_and_back),
        cmocka_unit_test(what_go_holds_inside),
        cmocka_unit_test(ports_are_numbers_or_names),
        cmocka_unit_test(strange_bodies_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
