/* protobuf_test.c - bodies as kubectl 1.32 sends them, and broken ones. */
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

static void expect(struct buf *body, const char *json)
{
    struct arena a = ARENA_INIT(1u << 20);
    auto_err err = ERR_INIT;
    struct buf text = BUF_INIT(1u << 20);
    const struct json *v = object_parse(&a, PROTOBUF_TYPE, body->data, body->len, NULL, NULL, &err);

    if (!v)
        fail_msg("%s", err.text);
    json_write(&text, v);
    assert_string_equal(text.data, json);
    buf_release(&text);
    buf_release(body);
    arena_release(&a);
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
    expect(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\","
                  "\"labels\":{\"a\":\"1\",\"b\":\"\"},\"ownerReferences\":[{\"kind\":\"Job\","
                  "\"uid\":\"u-1\",\"controller\":true}],\"finalizers\":[\"keep\"]},\"spec\":{}}");
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
    expect(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"p\":\"aHVudGVyMg==\"},"
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
    expect(&body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
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
    expect(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"lastTimestamp\":"
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
    expect(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"spec\":{\"ports\":[{\"port\":80,"
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
        if (!protobuf_parse(&a, exact, len, &err))
            assert_true(err_is_set(&err));
        free(exact);
        arena_release(&a);
    }
    buf_release(&raw);
    buf_release(&body);
    buf_release(&meta);
    buf_release(&sub);
}

static void refuse(const char *data, size_t len, enum err_reason reason)
{
    struct arena a = ARENA_INIT(1u << 20);
    auto_err err = ERR_INIT;
    char *exact = malloc(len ? len : 1); /* so that a byte too far is noticed */

    assert_non_null(exact);
    memcpy(exact, data, len);
    assert_null(protobuf_parse(&a, exact, len, &err));
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
        {"k8s\0\x0a\x04\x12\x02\x00\x61", 10},                         /* NUL in the kind */
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
        refuse(cases[i].bytes, cases[i].len, ERR_BAD_REQUEST);
    refuse("k8s\0\x0a\x0c\x12\x0a"
           "Deployment",
           18, ERR_UNSUPPORTED_MEDIA);
}

static void maps_are_bounded(void **state)
{
    struct buf raw = BUF_INIT(1u << 20), body = BUF_INIT(1u << 20), type = BUF_INIT(64);
    unsigned char length[3];

    (void)state;
    for (int i = 0; i < 5000; i++) {
        char key[16];

        (void)snprintf(key, sizeof(key), "k%d", i);
        add_entry(&raw, 2, key, "");
    }
    buf_add(&body, "k8s", 4);
    add_text(&type, 2, "ConfigMap");
    add_message(&body, 1, &type);
    length[0] = (unsigned char)(0x80 | (raw.len & 0x7f));
    length[1] = (unsigned char)(0x80 | (raw.len >> 7 & 0x7f));
    length[2] = (unsigned char)(raw.len >> 14);
    buf_addc(&body, 2 << 3 | 2);
    buf_add(&body, length, sizeof(length));
    buf_add(&body, raw.data, raw.len);
    refuse(body.data, body.len, ERR_BAD_REQUEST);
    buf_release(&raw);
    buf_release(&body);
    buf_release(&type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_without_what_is_not_set),
        cmocka_unit_test(bytes_become_base64),
        cmocka_unit_test(zeros_that_were_said_stay),
        cmocka_unit_test(times_are_written_out),
        cmocka_unit_test(broken_bodies_are_refused),
        cmocka_unit_test(maps_are_bounded),
        cmocka_unit_test(ports_are_numbers_or_names),
        cmocka_unit_test(strange_bodies_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
