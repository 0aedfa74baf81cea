/*
 * shape.h - the form in which a client wants objects: plain, as rows of a Table, or only metadata.
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
    size_t count, begun;  /* of the current list */
};

/* From Accept and includeObject. Does not refer to the request. */
int shape_init(struct shape *s, const struct server_request *r, struct err *err) must_check;
void shape_release(struct shape *s);

/* Whether stored bytes are returned unchanged. */
bool shape_copies(const struct shape *s);
/* The object of a blob, in scratch, until the next call. */
struct json *shape_parse(struct shape *s, const struct blob *b, struct err *err) must_check;

/* The next element of a list: the object, a row, or metadata. object: from shape_parse, or NULL
 * when not parsed. */
int shape_item(struct shape *s, const struct blob *b, const struct json *object, struct buf *out,
               struct err *err) must_check;
/* One object as an answer, or in a watch event: a Table has one row, with columns if requested. */
int shape_single(struct shape *s, const struct blob *b, struct buf *out,
                 struct err *err) must_check;
int shape_event(struct shape *s, const struct blob *b, const struct json *object, bool with_columns,
                struct buf *out, struct err *err) must_check;

/* A watch event in protobuf; type "ADDED". */
int shape_frame(struct shape *s, const char *type, const struct blob *b, const struct json *object,
                struct buf *out, struct err *err) must_check;
/* Answers with what was written. */
void reply_shaped(struct server_request *r, const struct shape *s, struct buf *body);

/* What comes before and after a list's elements. Its metadata comes last, because only then it is
 * known whether there is more. */
void shape_list_begin(struct shape *s, struct buf *out);
void shape_list_end(struct shape *s, int64_t revision, const char *continue_token,
                    int64_t remaining, struct buf *out); /* remaining 0: not reported */

#endif
