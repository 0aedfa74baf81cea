/*
 * protobuf.h - objects in Kubernetes' protobuf encoding: "k8s", a NUL, and Unknown{1 TypeMeta, 2
 * the object}. Field numbers are in the kinds' tables (field.number); there is no other list.
 *
 * Reading yields what the same client would have sent as JSON: what Go writes for unset members,
 * such as an empty string or a zero that is not a pointer, is absent. Unknown numbers are skipped
 * with a warning. Writing omits members that have no number or are unset.
 */
#ifndef MUSTER_API_PROTOBUF_H
#define MUSTER_API_PROTOBUF_H

#include "api/kind.h"
#include "api/object.h"

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"
#define PROTOBUF_MAGIC "k8s" /* and its NUL */

/* Whether the kind has a protobuf form: Kubernetes' own have, ours and installed ones do not. */
bool protobuf_speaks(const struct kind *k);
bool protobuf_is(const char *data, size_t len); /* by its magic bytes */

/* The object as if it had come as JSON; if it says it is another kind, only its type. 400 when
 * malformed, 415 when the kind has no protobuf form. warn may be NULL. */
struct json *protobuf_parse(struct arena *a, const struct kind *k, const char *data, size_t len,
                            warning_fn *warn, void *arg, struct err *err) must_check;

/* Writes the whole object. scratch is only used during the call. False: something is not in the
 * tables, or memory ran out, and it was omitted. */
bool protobuf_write(struct buf *out, struct arena *scratch, const struct kind *k,
                    const struct json *object);
/* A list of k: pass end the result of begin. */
size_t protobuf_list_begin(struct buf *out, const struct kind *k);
void protobuf_list_item(struct buf *out, struct arena *scratch, const struct kind *k,
                        const struct json *object);
void protobuf_list_end(struct buf *out, struct arena *scratch, size_t begun,
                       const struct json *metadata);
/* A watch frame: four bytes of length, WatchEvent{1 type, 2 {1 the object}}. */
void protobuf_write_event(struct buf *out, struct arena *scratch, const char *type,
                          const struct kind *k, const struct json *object);
/* Such a frame, without the length, as {"type": ..., "object": ...}. */
struct json *protobuf_parse_event(struct arena *a, const struct kind *k, const char *data,
                                  size_t len, struct err *err) must_check;

/* struct field's inside: a message in a message. */
#define PROTOBUF_INSIDE(outer, inner) ((outer) | (inner) << 8)

static inline unsigned protobuf_inside_bits(unsigned inside)
{
    return !inside ? 0 : inside < 256 ? 8 : 16;
}

/* The next message on the way from inside to the field's; 0: that is not below. */
static inline unsigned protobuf_inside_next(const struct field *f, unsigned inside)
{
    unsigned bits = protobuf_inside_bits(inside), mask = (1u << bits) - 1;

    if (f->inside == inside || (f->inside & mask) != inside)
        return 0;
    return inside | (((unsigned)f->inside >> bits & 0xff) << bits);
}

#endif
