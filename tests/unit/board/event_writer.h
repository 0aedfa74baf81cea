/* event_writer.h - writes event files for tests and benchmarks: records, events and their values,
 * by hand, into a buffer. */
#ifndef MUSTER_TESTS_EVENT_WRITER_H
#define MUSTER_TESTS_EVENT_WRITER_H

#include <string.h>

#include "base/buf.h"
#include "base/crc32c.h"

static inline void put_varint(struct buf *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_addc(b, (char)(value | 0x80));
    buf_addc(b, (char)value);
}

static inline void put_key(struct buf *b, unsigned number, unsigned type)
{
    put_varint(b, (uint64_t)number << 3 | type);
}

static inline void put_bytes(struct buf *b, unsigned number, const void *data, size_t len)
{
    put_key(b, number, 2);
    put_varint(b, len);
    buf_add(b, data, len);
}

static inline void put_int(struct buf *b, unsigned number, uint64_t value)
{
    put_key(b, number, 0);
    put_varint(b, value);
}

static inline void put_float(struct buf *b, unsigned number, float value)
{
    put_key(b, number, 5);
    buf_add(b, &value, sizeof(value));
}

static inline void put_double(struct buf *b, unsigned number, double value)
{
    put_key(b, number, 1);
    buf_add(b, &value, sizeof(value));
}

static inline void put_record(struct buf *out, const void *data, size_t len)
{
    uint64_t length = len;
    uint32_t crc = crc32c_masked(&length, sizeof(length));

    buf_add(out, &length, sizeof(length));
    buf_add(out, &crc, sizeof(crc));
    buf_add(out, data, len);
    crc = crc32c_masked(data, len);
    buf_add(out, &crc, sizeof(crc));
}

/* An Event with one field besides its time and step. */
static inline void put_event(struct buf *out, int64_t step, double wall, unsigned field,
                             const struct buf *content)
{
    struct buf event = BUF_INIT(64u << 20);

    put_double(&event, 1, wall);
    if (step)
        put_int(&event, 2, (uint64_t)step);
    put_bytes(&event, field, content->data, content->len);
    put_record(out, event.data, event.len);
    buf_release(&event);
}

/* A summary of one value: its tag, and the value's other fields as they are. */
static inline void put_summary(struct buf *out, int64_t step, double wall, const char *tag,
                               const struct buf *fields)
{
    struct buf value = BUF_INIT(64u << 20), summary = BUF_INIT(64u << 20);

    put_bytes(&value, 1, tag, strlen(tag));
    buf_add(&value, fields->data, fields->len);
    put_bytes(&summary, 1, value.data, value.len);
    put_event(out, step, wall, 5, &summary);
    buf_release(&value);
    buf_release(&summary);
}

static inline void put_version(struct buf *out)
{
    struct buf text = BUF_INIT(64);

    buf_adds(&text, "brain.Event:2");
    put_event(out, 0, 1e9, 3, &text);
    buf_release(&text);
}

static inline void put_scalar(struct buf *out, int64_t step, double wall, const char *tag,
                              float value)
{
    struct buf fields = BUF_INIT(64);

    put_float(&fields, 2, value);
    put_summary(out, step, wall, tag, &fields);
    buf_release(&fields);
}

/* Metadata naming a plugin, as TensorFlow 2 writes it. */
static inline void put_plugin(struct buf *fields, const char *plugin, const struct buf *content)
{
    struct buf data = BUF_INIT(1u << 20), metadata = BUF_INIT(1u << 20);

    put_bytes(&data, 1, plugin, strlen(plugin));
    if (content)
        put_bytes(&data, 2, content->data, content->len);
    put_bytes(&metadata, 1, data.data, data.len);
    put_bytes(fields, 9, metadata.data, metadata.len);
    buf_release(&data);
    buf_release(&metadata);
}

/* A scalar as a tensor: dtype, and the tensor's other fields as they are. */
static inline void put_tensor(struct buf *out, int64_t step, double wall, const char *tag,
                              const char *plugin, unsigned dtype, const struct buf *rest)
{
    struct buf tensor = BUF_INIT(1u << 20), fields = BUF_INIT(1u << 20);

    put_int(&tensor, 1, dtype);
    put_bytes(&tensor, 2, "", 0);
    if (rest->len)
        buf_add(&tensor, rest->data, rest->len);
    put_bytes(&fields, 8, tensor.data, tensor.len);
    if (plugin)
        put_plugin(&fields, plugin, NULL);
    put_summary(out, step, wall, tag, &fields);
    buf_release(&tensor);
    buf_release(&fields);
}

static inline void put_session_start(struct buf *out, int64_t step, double wall)
{
    struct buf log = BUF_INIT(64);

    put_int(&log, 1, 1);
    put_event(out, step, wall, 7, &log);
    buf_release(&log);
}

#endif
