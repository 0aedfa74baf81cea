/* pod_columns.h - the columns of `kubectl get pods`. */
#ifndef MUSTER_API_POD_COLUMNS_H
#define MUSTER_API_POD_COLUMNS_H

#include "api/kind.h"

extern const struct column pod_columns[];
extern const struct json_part pod_row_parts[];

#endif
