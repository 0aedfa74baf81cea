/* list.h - which objects of a collection a request selects: shared by list, watch and delete. */
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

/* From the path and the query; allocates in a. */
int selection_init(struct selection *s, const struct server_request *r, struct arena *a,
                   struct err *err) must_check;
bool selection_matches(const struct selection *s, const struct json *object);
/* For a stored object: 1 it matches, 0 it does not, negative: it cannot be read. *ret is the object
 * if it had to be parsed, as from shape_parse, else NULL. */
int selection_matches_stored(const struct selection *s, struct shape *shape, struct blob *b,
                             const struct json **ret, struct err *err) must_check;

/* A resourceVersion; "" and NULL are 0. */
int revision_parse(const char *text, int64_t *ret, struct err *err) must_check;

#endif
