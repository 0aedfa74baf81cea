/* schema.h - documents generated from the tables: JSON schemas, OpenAPI, CRDs. */
#ifndef MUSTER_API_SCHEMA_H
#define MUSTER_API_SCHEMA_H

#include "api/kind.h"

/* OpenAPI v3 schema of a kind (structural, as CRDs require). */
struct json *schema_of_kind(struct arena *a, const struct kind *k);
/* The CustomResourceDefinition of a custom kind. */
struct json *schema_crd(struct arena *a, const struct kind *k);
/* /openapi/v2: definitions and patch operations of all kinds; and the same as protobuf (gnostic).
 */
struct json *schema_openapi_v2(struct arena *a, const struct kind *const *all);
void schema_openapi_v2_encode(const struct json *document, struct buf *out);
/* /openapi/v3/{api/v1, apis/G/V}: the document of one group-version; NULL when it is not served. */
struct json *schema_openapi_v3(struct arena *a, const struct kind *const *all, const char *group,
                               const char *version);

/* --- for the files that generate those documents --------------------------------------------- */

enum schema_style {
    SCHEMA_CRD, /* structural; leaves metadata to the server */
    SCHEMA_V3,  /* complete, metadata by reference */
    SCHEMA_V2,  /* like V3. Old clients validate by it, so custom kinds are open wherever unknown
                 * members are kept; they also merge lists by it, so built-in kinds are not */
};

#define SCHEMA_META_NAME "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

/* Named types are put into definitions and referred to; with NULL they are inlined. */
struct json *schema_styled(struct arena *a, const struct kind *k, enum schema_style style,
                           struct json *definitions);
/* Of metadata, without its type name. */
struct json *schema_of_metadata(struct arena *a, enum schema_style style);
/* "io.k8s.api.core.v1.Pod", "dev.tensorstack.batch.v1beta1.PyTorchTrainingJob". */
const char *schema_definition_name(struct arena *a, const struct kind *k);
void schema_add_info(struct arena *a, struct json *document);
/* The kind's patch operation and its schema. */
void schema_add_kind(struct arena *a, struct json *paths, struct json *schemas,
                     const struct kind *k, enum schema_style style);
/* {"group":..., "version":..., "kind":...} */
struct json *schema_group_version_kind(struct arena *a, const struct kind *k);

#endif
