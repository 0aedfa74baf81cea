/* protobuf_write.c - the writing half of protobuf.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/protobuf.h"
#include "base/base64.h"
#include "base/timefmt.h"
#include "base/wire.h"

#define NANOS_PER_MICRO 1000

struct encoder {
    struct buf *out;
    struct arena *scratch; /* for bytes that are base64 in JSON */
    bool lost;             /* something had to be left out */
};

static void put_varint(struct buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_addc(out, (char)(v | 0x80));
    buf_addc(out, (char)v);
}

static void put_tag(struct buf *out, unsigned number, enum wire_type type)
{
    put_varint(out, (uint64_t)number << 3 | type);
}

static void put_int(struct buf *out, unsigned number, int64_t v)
{
    put_tag(out, number, WIRE_VARINT);
    put_varint(out, (uint64_t)v);
}

static void put_bytes(struct buf *out, unsigned number, const char *data, size_t len)
{
    put_tag(out, number, WIRE_BYTES);
    put_varint(out, len);
    buf_add(out, data, len);
}

static void put_text(struct buf *out, unsigned number, const char *text)
{
    put_bytes(out, number, text, strlen(text));
}

/* Starts a message of unknown length: one byte is reserved for the length, and the body is moved if
 * that turns out not to be enough. */
static size_t open_message(struct buf *out, unsigned number)
{
    put_tag(out, number, WIRE_BYTES);
    buf_addc(out, 0);
    return out->len;
}

static void close_message(struct buf *out, size_t start)
{
    size_t len = out->len - start, extra = 0;

    for (size_t rest = len; rest >= 0x80; rest >>= 7)
        extra++;
    if (out->failed || (extra && !buf_reserve(out, extra)))
        return;
    if (extra) {
        memmove(out->data + start + extra, out->data + start, len);
        out->len += extra;
        out->data[out->len] = '\0';
    }
    for (char *at = out->data + start - 1; at; len >>= 7) {
        *at = (char)((len & 0x7f) | (len >= 0x80 ? 0x80 : 0));
        at = len >= 0x80 ? at + 1 : NULL;
    }
}

static void encode_fields(struct encoder *e, const struct field *fields, const struct field *more,
                          unsigned inside, const struct json *object);

/* The fraction of a second as nanoseconds. */
static int64_t nanos_of(const char *text)
{
    const char *dot = strchr(text, '.');
    int64_t nanos = 0, unit = 100000000;

    for (const char *c = dot ? dot + 1 : ""; *c >= '0' && *c <= '9' && unit; c++, unit /= 10)
        nanos += (*c - '0') * unit;
    return nanos;
}

static void put_time(struct encoder *e, unsigned number, const struct field *f, const char *text)
{
    struct buf *out = e->out;
    int64_t ms, nanos;
    size_t start;

    if (time_parse(text, &ms) < 0) {
        e->lost = true;
        return;
    }
    start = open_message(out, number);
    put_int(out, 1, (ms - (ms % 1000 + 1000) % 1000) / 1000);
    nanos = f->wire == FIELD_WIRE_MICRO ? nanos_of(text) : 0;
    put_int(out, 2, nanos - nanos % NANOS_PER_MICRO);
    close_message(out, start);
}

static void put_int_or_string(struct buf *out, unsigned number, const struct json *v)
{
    size_t start = open_message(out, number);

    put_int(out, 1, json_is(v, JSON_STRING));
    if (json_is(v, JSON_STRING))
        put_bytes(out, 3, v->u.text, v->len);
    else
        put_int(out, 2, json_int(v, 0));
    close_message(out, start);
}

static void put_quantity(struct buf *out, unsigned number, const struct json *v)
{
    char text[24];
    size_t start = open_message(out, number);

    if (json_is(v, JSON_INT)) {
        (void)snprintf(text, sizeof(text), "%lld", (long long)v->u.integer);
        put_text(out, 1, text);
    } else {
        put_bytes(out, 1, v->u.text, v->len);
    }
    close_message(out, start);
}

static void put_base64(struct encoder *e, unsigned number, const struct json *v)
{
    size_t len;
    const char *bytes = base64_decode(e->scratch, v->u.text, v->len, &len);

    if (bytes)
        put_bytes(e->out, number, bytes, len);
    else
        e->lost = true;
}

static void put_double(struct buf *out, unsigned number, const struct json *v)
{
    double d = json_is(v, JSON_REAL) ? strtod(v->u.text, NULL) : (double)json_int(v, 0);

    put_tag(out, number, WIRE_FIXED64);
    buf_add(out, &d, sizeof(d)); /* little-endian, as every machine we run on */
}

static void put_message(struct encoder *e, unsigned number, const struct field *fields,
                        const struct json *v)
{
    size_t start = open_message(e->out, number);

    encode_fields(e, fields, NULL, 0, v);
    close_message(e->out, start);
}

static void put_strings(struct encoder *e, unsigned number, const struct json *list)
{
    json_each (v, list) {
        if (json_is(v, JSON_STRING))
            put_bytes(e->out, number, v->u.text, v->len);
        else
            e->lost = true;
    }
}

static void put_choice(struct encoder *e, unsigned number, const struct field *f,
                       const struct json *v)
{
    size_t start = open_message(e->out, number);

    if (f->wire == FIELD_WIRE_OR_BOOL)
        put_int(e->out, 1, json_is(v, JSON_OBJECT) || json_bool(v, false));
    if (json_is(v, JSON_OBJECT))
        put_message(e, f->wire == FIELD_WIRE_OR_BOOL ? 2 : 1, f->fields, v);
    else if (f->wire == FIELD_WIRE_OR_STRINGS)
        put_strings(e, 2, v);
    else if (f->wire == FIELD_WIRE_OR_LIST)
        json_each (item, v)
            put_message(e, 2, f->fields, item);
    close_message(e->out, start);
}

static void put_any(struct encoder *e, unsigned number, const struct field *f, const struct json *v)
{
    size_t start;

    if (f->wire == FIELD_WIRE_DOUBLE) {
        put_double(e->out, number, v);
    } else if (f->wire) {
        put_choice(e, number, f, v);
    } else if (f->fields) {
        put_message(e, number, f->fields, v);
    } else {
        size_t raw;

        start = open_message(e->out, number);
        raw = open_message(e->out, 1);
        json_write(e->out, v);
        close_message(e->out, raw);
        close_message(e->out, start);
    }
}

static bool is_of(enum field_type type, const struct json *v)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_TIME:
    case FIELD_BYTES:
        return json_is(v, JSON_STRING);
    case FIELD_INT32:
        return json_is(v, JSON_INT) && v->u.integer == (int32_t)v->u.integer;
    case FIELD_INT64:
        return json_is(v, JSON_INT);
    case FIELD_BOOL:
        return json_is(v, JSON_BOOL);
    case FIELD_QUANTITY:
        return json_is(v, JSON_INT) || json_is(v, JSON_STRING) || json_is(v, JSON_REAL);
    case FIELD_INT_OR_STRING:
        return is_of(FIELD_INT32, v) || json_is(v, JSON_STRING);
    case FIELD_LIST:
        return json_is(v, JSON_ARRAY);
    case FIELD_OBJECT:
    case FIELD_MAP:
        return json_is(v, JSON_OBJECT);
    case FIELD_ANY:
        return true;
    }
    unreachable();
}

/* A value whose type does not match its table is left out. */
static void put_value(struct encoder *e, unsigned number, const struct field *f,
                      enum field_type type, const struct json *v)
{
    size_t start;

    if (!is_of(type, v)) {
        e->lost = true;
        return;
    }
    switch (type) {
    case FIELD_STRING:
        put_bytes(e->out, number, v->u.text, v->len);
        return;
    case FIELD_INT32:
    case FIELD_INT64:
        put_int(e->out, number, v->u.integer);
        return;
    case FIELD_BOOL:
        put_int(e->out, number, v->u.boolean);
        return;
    case FIELD_QUANTITY:
        put_quantity(e->out, number, v);
        return;
    case FIELD_TIME:
        put_time(e, number, f, v->u.text);
        return;
    case FIELD_INT_OR_STRING:
        put_int_or_string(e->out, number, v);
        return;
    case FIELD_BYTES:
        put_base64(e, number, v);
        return;
    case FIELD_OBJECT:
        put_message(e, number, f->fields, v);
        return;
    case FIELD_LIST: /* value of a map: strings */
        start = open_message(e->out, number);
        put_strings(e, 1, v);
        close_message(e->out, start);
        return;
    case FIELD_MAP: /* there are no maps of maps */
        e->lost = true;
        return;
    case FIELD_ANY:
        put_any(e, number, f, v);
        return;
    }
    unreachable();
}

static void encode_field(struct encoder *e, const struct field *f, const struct json *v)
{
    if ((f->type == FIELD_LIST || f->type == FIELD_MAP) && !is_of(f->type, v)) {
        e->lost = true;
    } else if (f->type == FIELD_LIST) {
        json_each (item, v)
            put_value(e, f->number, f, f->item, item);
    } else if (f->type == FIELD_MAP) {
        json_each (m, v) {
            size_t start = open_message(e->out, f->number);

            put_bytes(e->out, 1, m->key, m->key_len);
            put_value(e, 2, f, f->item, m);
            close_message(e->out, start);
        }
    } else {
        put_value(e, f->number, f, f->type, v);
    }
}

static void encode_fields(struct encoder *e, const struct field *fields, const struct field *more,
                          unsigned inside, const struct json *object)
{
    unsigned below = 0;

    json_each (m, object) {
        const struct field *f = field_find(fields, m->key, m->key_len);
        const struct field *common = f ? NULL : field_find(more, m->key, m->key_len);

        f = f ? f : common;
        if (json_is_null(m))
            continue;
        if (f && f->number && f->inside == inside)
            encode_field(e, f, m);
        else if (f && protobuf_inside_next(f, inside))
            below = protobuf_inside_next(f, inside);
        else if (!common && !inside) /* apiVersion and kind are in the envelope */
            e->lost = true;
    }
    if (below) {
        size_t start = open_message(e->out, below >> protobuf_inside_bits(inside));

        encode_fields(e, fields, NULL, below, object);
        close_message(e->out, start);
    }
}

/* Writes up to where the object starts. */
static size_t open_envelope(struct buf *out, const struct kind *k, const char *suffix)
{
    size_t type, text;

    buf_add(out, PROTOBUF_MAGIC, sizeof(PROTOBUF_MAGIC));
    type = open_message(out, 1);
    text = open_message(out, 1);
    buf_adds(out, k->group);
    buf_adds(out, *k->group ? "/" : "");
    buf_adds(out, k->version);
    close_message(out, text);
    text = open_message(out, 2);
    buf_adds(out, k->name);
    buf_adds(out, suffix);
    close_message(out, text);
    close_message(out, type);
    return open_message(out, 2);
}

bool protobuf_write(struct buf *out, struct arena *scratch, const struct kind *k,
                    const struct json *object)
{
    struct encoder e = {.out = out, .scratch = scratch};
    size_t start = open_envelope(out, k, "");

    encode_fields(&e, k->fields, object_common_fields, 0, object);
    close_message(out, start);
    return !e.lost && !out->failed;
}

size_t protobuf_list_begin(struct buf *out, const struct kind *k)
{
    return open_envelope(out, k, "List");
}

void protobuf_list_item(struct buf *out, struct arena *scratch, const struct kind *k,
                        const struct json *object)
{
    struct encoder e = {.out = out, .scratch = scratch};
    size_t start = open_message(out, 2);

    encode_fields(&e, k->fields, object_common_fields, 0, object);
    close_message(out, start);
}

void protobuf_list_end(struct buf *out, struct arena *scratch, size_t begun,
                       const struct json *metadata)
{
    struct encoder e = {.out = out, .scratch = scratch};

    put_message(&e, 1, list_fields->fields, metadata);
    close_message(out, begun);
}

void protobuf_write_event(struct buf *out, struct arena *scratch, const char *type,
                          const struct kind *k, const struct json *object)
{
    size_t frame = out->len, event, raw;

    buf_add(out, "\0\0\0\0", 4);
    put_text(out, 1, type);
    event = open_message(out, 2);
    raw = open_message(out, 1);
    protobuf_write(out, scratch, k, object);
    close_message(out, raw);
    close_message(out, event);
    for (size_t i = 0; i < 4 && !out->failed; i++)
        out->data[frame + i] = (char)((out->len - frame - 4) >> (24 - 8 * i));
}
