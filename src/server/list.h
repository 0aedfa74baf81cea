/* list.h - which objects of a collection a request means: shared by list, watch and deletion. */
#ifndef MUSTER_SERVER_LIST_H
#define MUSTER_SERVER_LIST_H

#include "api/selector.h"
#include "server/request.h"
#include "server/shape.h"

struct selection {
    const struct kind *kind;
    const struct label_selector *labels;
    const struct field_selector *fields;
    bool has_labels, has_fields;
    const char *prefix; /* of keys: "NS/", or NULL for all */
};

/* From the path and the query; what it keeps is in a. */
int selection_init(struct selection *s, const struct server_request *r, struct arena *a,
                   struct err *err) must_check;
bool selection_matches(const struct selection *s, const struct json *object);
/* Of a stored object: 1 it matches, 0 it does not, negative: it cannot be read. *ret gets it when
 * it had to be parsed for that, as shape_parse gives it, else NULL. */
int selection_matches_stored(const struct selection *s, struct shape *shape, struct blob *b,
                             const struct json **ret, struct err *err) must_check;

/* A resourceVersion; "" and NULL are 0. */
int revision_parse(const char *text, int64_t *ret, struct err *err) must_check;

#endif
