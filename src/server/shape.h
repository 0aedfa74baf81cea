/*
 * shape.h - how a client wants objects: as they are, as rows of a Table, or their metadata only.
 */
#ifndef MUSTER_SERVER_SHAPE_H
#define MUSTER_SERVER_SHAPE_H

#include "api/table.h"
#include "server/media.h"
#include "server/request.h"

struct shape {
    enum format format;
    enum encoding encoding;
    const struct kind *kind;
    const char *table_version; /* "v1" or "v1beta1" */
    enum table_include include;
    bool bare; /* without managedFields */
    const struct server *server;
    struct arena scratch; /* for one object at a time */
    size_t count, begun;  /* of the list that is being written */
};

/* From Accept and includeObject. Owns nothing of the request's. */
int shape_init(struct shape *s, const struct server_request *r, struct err *err) must_check;
void shape_release(struct shape *s);

/* Whether stored bytes are answered as they are. */
bool shape_copies(const struct shape *s);
/* The object of a blob, in scratch, until the next call. */
struct json *shape_parse(struct shape *s, const struct blob *b, struct err *err) must_check;

/* The next element of a list: the object, a row, or metadata. object: as shape_parse gave it, or
 * NULL when it was not parsed. */
int shape_item(struct shape *s, const struct blob *b, const struct json *object, struct buf *out,
               struct err *err) must_check;
/* One object as an answer of its own, or in a watch event: a Table has one row, and its columns
 * when asked. */
int shape_single(struct shape *s, const struct blob *b, struct buf *out,
                 struct err *err) must_check;
int shape_event(struct shape *s, const struct blob *b, const struct json *object, bool with_columns,
                struct buf *out, struct err *err) must_check;

/* An event of a watch as protobuf has it; type "ADDED". */
int shape_frame(struct shape *s, const char *type, const struct blob *b, const struct json *object,
                struct buf *out, struct err *err) must_check;
/* Answers with what was written. */
void reply_shaped(struct server_request *r, const struct shape *s, struct buf *body);

/* What stands before and after the elements of a list. Its metadata comes last: whether there is
 * more is known only then. */
void shape_list_begin(struct shape *s, struct buf *out);
void shape_list_end(struct shape *s, int64_t revision, const char *continue_token,
                    int64_t remaining, struct buf *out); /* remaining 0: not said */

#endif
