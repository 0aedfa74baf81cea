/* media.h - what a client accepts: media types with the parameters Kubernetes gives them. */
#ifndef MUSTER_SERVER_MEDIA_H
#define MUSTER_SERVER_MEDIA_H

#include "base/arena.h"
#include "base/err.h"

struct media {
    const char *type;                 /* lower case as sent: "application/json" */
    const char *as, *group, *version; /* "" when absent */
};

/* The next clause of an Accept header; false at its end. *at starts as the header's text. */
bool media_next(struct arena *a, const char **at, struct media *ret);
/* application/json, or a pattern that covers it. */
bool media_is_json(const struct media *m);

enum format { FORMAT_PLAIN, FORMAT_TABLE, FORMAT_PARTIAL };

struct format_choice {
    enum format format;
    const char *version; /* of a Table: "v1" or "v1beta1" */
};

/* The first clause that can be served; none: 406. NULL accept takes the plain object. */
int media_choose(struct arena *a, const char *accept, struct format_choice *ret,
                 struct err *err) must_check;

#endif
