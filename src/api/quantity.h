/* quantity.h - Kubernetes quantities: 100m, 1.5, 4Gi, 129e6, 128974848000m. */
#ifndef MUSTER_API_QUANTITY_H
#define MUSTER_API_QUANTITY_H

#include "base/json.h"

/* Both round up and saturate at INT64_MAX; -EINVAL for anything else. Negative quantities are
 * accepted. */
int quantity_milli(const char *text, int64_t *ret) must_check; /* thousandths: CPU */
int quantity_value(const char *text, int64_t *ret) must_check; /* whole units: bytes, GPUs */
/* Of a JSON string or number; `otherwise` when absent or malformed. */
int64_t quantity_json_milli(const struct json *v, int64_t otherwise);
int64_t quantity_json_value(const struct json *v, int64_t otherwise);
/* As it was written: numbers need not be quoted. */
const char *quantity_json_text(struct arena *a, const struct json *v);

#define QUANTITY_TEXT_SIZE 32
const char *quantity_format_milli(int64_t milli, char out[QUANTITY_TEXT_SIZE]); /* 250m, 2, 1500m */
const char *quantity_format_bytes(int64_t bytes,
                                  char out[QUANTITY_TEXT_SIZE]); /* 4Gi, 512Mi, 1000 */

#endif
