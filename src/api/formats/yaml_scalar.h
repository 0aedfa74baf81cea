/* yaml_scalar.h - what a plain YAML scalar means: shared by the reader and, for quoting, the
 * writer. */
#ifndef MUSTER_API_YAML_SCALAR_H
#define MUSTER_API_YAML_SCALAR_H

#include "base/json.h"

/* The value of a plain scalar by YAML 1.1's rules as sigs.k8s.io/yaml applies them: null, true,
 * yes, 0x1f, 017, 1_000, 1.5e3; anything else is a string. NULL when the arena failed. A number
 * JSON cannot hold (.inf, .nan) gives a string; yaml_scalar_is_infinite tells. */
struct json *yaml_scalar(struct arena *a, const char *text, size_t len) must_check;
bool yaml_scalar_is_infinite(const char *text, size_t len);
/* Whether it would stay a string. */
bool yaml_scalar_is_string(const char *text, size_t len);

#endif
