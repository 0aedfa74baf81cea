/* yaml_scalar.h - the value of a plain YAML scalar: used by the reader and, for quoting, the
 * writer. */
#ifndef MUSTER_API_YAML_SCALAR_H
#define MUSTER_API_YAML_SCALAR_H

#include "base/json.h"

/* The value of a plain scalar by YAML 1.1's rules as sigs.k8s.io/yaml applies them: null, true,
 * yes, 0x1f, 017, 1_000, 1.5e3; anything else is a string. NULL when the arena failed. A number
 * JSON cannot hold (.inf, .nan) gives a string; yaml_scalar_is_infinite tells. */
struct json *yaml_scalar(struct arena *a, const char *text, size_t len) must_check;
bool yaml_scalar_is_infinite(const char *text, size_t len);
/* Whether it would be read as a string. */
bool yaml_scalar_is_string(const char *text, size_t len);

#endif
