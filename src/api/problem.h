/*
 * problem.h - invalid fields in Kubernetes' wording: one cause each, with path, line and what is
 * allowed.
 *
 * A path is a chain of frames on the stack whose text is only made for a message, so that checking
 * a valid object formats nothing.
 */
#ifndef MUSTER_API_PROBLEM_H
#define MUSTER_API_PROBLEM_H

#include "api/kind.h"

struct field_path {
    const struct field_path *up; /* NULL: the object itself */
    const char *name;            /* member, or key of a map; NULL for an element of a list */
    size_t index;                /* of the element */
    bool is_key;                 /* written as [name] */
};

#define PATH_MEMBER(parent, member) (&(const struct field_path){.up = (parent), .name = (member)})
#define PATH_INDEX(parent, i) (&(const struct field_path){.up = (parent), .index = (i)})
#define PATH_KEY(parent, key)                                                                      \
    (&(const struct field_path){.up = (parent), .name = (key), .is_key = true})

/* "spec.replicaSpecs[0].type"; truncated at PATH_TEXT_LIMIT bytes. */
#define PATH_TEXT_LIMIT 512u
void field_path_write(struct buf *out, const struct field_path *at);

/* Each adds one cause to e (which may be NULL). A plain string detail may be NULL. */
void problem_required(struct err *e, const struct field_path *at, unsigned line,
                      const char *detail);
void problem_invalid(struct err *e, const struct field_path *at, const struct json *value,
                     const char *fmt, ...) printf_like(4, 5);
void problem_type(struct err *e, const struct field_path *at, const struct json *value,
                  const char *wanted);
void problem_not_supported(struct err *e, const struct field_path *at, const struct json *value,
                           const char *const *allowed);
void problem_duplicate(struct err *e, const struct field_path *at, const struct json *value);
void problem_forbidden(struct err *e, const struct field_path *at, unsigned line, const char *fmt,
                       ...) printf_like(4, 5);
void problem_too_many(struct err *e, const struct field_path *at, const struct json *value,
                      size_t limit);
/* Writes the error's text from its causes:
 * `PyTorchTrainingJob.batch.tensorstack.dev "x" is invalid: [field: problem, ...]`. */
void problem_summary(struct err *e, const struct kind *k, const struct json *object);

#endif
