/* media.h - what a client accepts: media types with Kubernetes' parameters. */
#ifndef MUSTER_SERVER_MEDIA_H
#define MUSTER_SERVER_MEDIA_H

#include "base/arena.h"
#include "base/err.h"

struct media {
    const char *type;                 /* lower case as sent: "application/json" */
    const char *as, *group, *version; /* "" when absent */
    const char *stream;               /* "watch", or "" */
    double q;                         /* preference, 1 by default */
};

/* The next clause of an Accept header; false at its end. *at starts as the header's value. */
bool media_next(struct arena *a, const char **at, struct media *ret);
/* Whether it is application/json or a pattern that matches it. */
bool media_is_json(const struct media *m);

enum format { FORMAT_PLAIN, FORMAT_TABLE, FORMAT_PARTIAL };
enum encoding { ENCODING_JSON, ENCODING_YAML, ENCODING_PROTOBUF };

struct format_choice {
    enum format format;
    enum encoding encoding;
    const char *version; /* of a Table: "v1" or "v1beta1" */
};

enum media_purpose { MEDIA_ANSWER, MEDIA_WATCH };

/* The most preferred clause that can be served; none: 406. accept NULL means the plain object in
 * JSON. Tables have no protobuf form, metadata always has one; objects only if `protobuf`. */
int media_choose(struct arena *a, const char *accept, enum media_purpose purpose, bool protobuf,
                 struct format_choice *ret, struct err *err) must_check;
/* "application/yaml" */
const char *media_type(enum encoding encoding);

#endif
