/* schema.h - what others read off the tables: JSON schema, OpenAPI documents, CRDs. */
#ifndef MUSTER_API_SCHEMA_H
#define MUSTER_API_SCHEMA_H

#include "api/kind.h"

/* OpenAPI v3 schema of a kind (structural, as a CRD wants it). */
struct json *schema_of_kind(struct arena *a, const struct kind *k);
/* The CustomResourceDefinition of a custom kind. */
struct json *schema_crd(struct arena *a, const struct kind *k);
/* /openapi/v2 as protobuf (gnostic): definitions and patch operations of every kind. */
void schema_openapi_v2(struct buf *out);
/* /openapi/v3/{api/v1, apis/G/V}: one group-version's document; NULL when nothing is served there.
 */
struct json *schema_openapi_v3(struct arena *a, const char *group, const char *version);

#endif
