/* yaml.h - YAML 1.1 (libyaml) to the same values as JSON, with lines; and back. */
#ifndef MUSTER_API_YAML_H
#define MUSTER_API_YAML_H

#include "base/json.h"

/* All documents of a stream as a JSON array, without empty ones. Aliases are expanded up to a
 * limit. Errors name line and column. Duplicate keys are reported and the last wins. */
struct json *yaml_parse(struct arena *a, const char *text, size_t len, json_duplicate_fn *duplicate,
                        void *arg, struct err *err) must_check;
void yaml_write(struct buf *out, const struct json *v);

#endif
