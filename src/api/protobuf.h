/*
 * protobuf.h - objects in Kubernetes' protobuf form: "k8s", a NUL, and Unknown{1 TypeMeta, 2 the
 * object}. Which number a member has is in the kinds' tables (field.number); there is no other
 * list.
 *
 * Reading makes of it what the same client would have sent as JSON: what Go writes for "not set",
 * an empty string or a zero that is no pointer, is absent. Numbers no table knows are skipped and
 * told. Writing leaves out what has no number, and what is not set.
 */
#ifndef MUSTER_API_PROTOBUF_H
#define MUSTER_API_PROTOBUF_H

#include "api/kind.h"
#include "api/object.h"

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"
#define PROTOBUF_MAGIC "k8s" /* and its NUL */

/* Whether such objects have a protobuf form: those of Kubernetes, not ours and no installed ones.
 */
bool protobuf_speaks(const struct kind *k);
bool protobuf_is(const char *data, size_t len); /* by how it begins */

/* The object, as if it had come as JSON; of one that says another kind only what it says it is. 400
 * when it is malformed, 415 when the kind has no such form. warn may be NULL. */
struct json *protobuf_parse(struct arena *a, const struct kind *k, const char *data, size_t len,
                            warning_fn *warn, void *arg, struct err *err) must_check;

/* The whole object. scratch: for one call. False: the tables lack something of it, or memory is
 * short, and that is left out. */
bool protobuf_write(struct buf *out, struct arena *scratch, const struct kind *k,
                    const struct json *object);
/* A list of k: begin returns what end needs. */
size_t protobuf_list_begin(struct buf *out, const struct kind *k);
void protobuf_list_item(struct buf *out, struct arena *scratch, const struct kind *k,
                        const struct json *object);
void protobuf_list_end(struct buf *out, struct arena *scratch, size_t begun,
                       const struct json *metadata);
/* A frame of a watch: its length in four bytes, WatchEvent{1 type, 2 {1 the object}}. */
void protobuf_write_event(struct buf *out, struct arena *scratch, const char *type,
                          const struct kind *k, const struct json *object);
/* Such a frame without its length, as {"type": ..., "object": ...}. */
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
