/* selector.h - label selectors (a=b, a!=b, a in (x,y), a notin (x), a, !a) and field selectors
 * (path=value, !=). */
#ifndef MUSTER_API_SELECTOR_H
#define MUSTER_API_SELECTOR_H

#include "api/kind.h"

struct label_selector;
struct field_selector;

/* NULL or "" selects everything. */
int label_selector_parse(struct arena *a, const char *text, const struct label_selector **ret,
                         struct err *err) must_check;
bool label_selector_matches(const struct label_selector *s, const struct json *labels);
/* Matches anything that can look up its labels: find returns the value of one, or NULL. */
typedef const char *selector_find_fn(const void *arg, const char *name);
bool label_selector_matches_by(const struct label_selector *s, selector_find_fn *find,
                               const void *arg);
/* A LabelSelector object (matchLabels, matchExpressions) or a plain map, as in a Service. */
bool label_map_matches(const struct json *wanted, const struct json *labels);

/* Unsupported paths: 400 `field label not supported: spec.x`. */
int field_selector_parse(struct arena *a, const struct kind *k, const char *text,
                         const struct field_selector **ret, struct err *err) must_check;
bool field_selector_matches(const struct field_selector *s, const struct json *object);
/* Matches anything that can look up the value of a path, "" if there is none. */
bool field_selector_matches_by(const struct field_selector *s, selector_find_fn *find,
                               const void *arg);
#define FIELD_DIGITS_SIZE 24
/* The value of a path as used in comparisons; digits is the buffer for a number. */
const char *field_selector_value(const struct json *object, const char *path,
                                 char digits[FIELD_DIGITS_SIZE]);
/* The value required for metadata.name, or NULL: turns a list into a lookup. */
const char *field_selector_name(const struct field_selector *s);

#endif
