/* schema.h - what others read off the tables: JSON schema, OpenAPI documents, CRDs. */
#ifndef MUSTER_API_SCHEMA_H
#define MUSTER_API_SCHEMA_H

#include "api/kind.h"

/* OpenAPI v3 schema of a kind (structural, as a CRD wants it). */
struct json *schema_of_kind(struct arena *a, const struct kind *k);
/* The CustomResourceDefinition of a custom kind. */
struct json *schema_crd(struct arena *a, const struct kind *k);
/* /openapi/v2 as protobuf (gnostic): definitions and patch operations of every kind. */
void schema_openapi_v2(const struct kind *const *all, struct buf *out);
/* /openapi/v3/{api/v1, apis/G/V}: one group-version's document; NULL when nothing is served there.
 */
struct json *schema_openapi_v3(struct arena *a, const struct kind *const *all, const char *group,
                               const char *version);

/* --- for the files that make those documents ------------------------------------------------- */

enum schema_style {
    SCHEMA_CRD, /* structural; metadata is left to the server */
    SCHEMA_V3,  /* whole, metadata by reference */
    SCHEMA_V2,  /* as V3. Old clients check objects by it, so custom kinds are open wherever unknown
                   members are kept; and they merge lists by it, so built-in ones are not */
};

#define SCHEMA_META_NAME "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

/* Types with a name are put into definitions and referred to; NULL: said in place. */
struct json *schema_styled(struct arena *a, const struct kind *k, enum schema_style style,
                           struct json *definitions);
/* Of metadata, without its name. */
struct json *schema_of_metadata(struct arena *a, enum schema_style style);
/* "io.k8s.api.core.v1.Pod", "dev.tensorstack.batch.v1beta1.PyTorchTrainingJob". */
const char *schema_definition_name(struct arena *a, const struct kind *k);
/* {"group":..., "version":..., "kind":...} */
struct json *schema_group_version_kind(struct arena *a, const struct kind *k);

#endif
