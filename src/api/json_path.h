/* json_path.h - the JSONPath of printer columns: .a.b, ['a'], .a\.b, ..b, [0], [-1:], [0:9:2], [*],
 * [?(@.type=="X")], [?(@.n>3)]. */
#ifndef MUSTER_API_JSON_PATH_H
#define MUSTER_API_JSON_PATH_H

#include "base/json.h"

/* The first value the path selects; NULL when there is none, or the path is invalid. */
const struct json *json_path_first(const struct json *v, const char *path);
bool json_path_is_valid(const char *path);

#endif
