/* json_schema_fields.c - see json_schema_fields.h. */
#include "api/kinds/json_schema_fields.h"

#include "api/field_macros.h"

/* clang-format off */
#define SCHEMA .fields = json_schema_fields
/* clang-format on */

static const struct field external_docs_fields[] = {F_STR("description", "What it is.", P(1)),
                                                    F_STR("url", "URL of the documentation.", P(2)),
                                                    {0}};

static const struct field validation_fields[] = {
    F_STR("rule", "CEL expression that must be true.", PZ(1)),
    F_STR("message", "Message if the rule is violated.", P(2)),
    F_STR("messageExpression", "The message as a CEL expression.", P(3)),
    F_STR("reason", "CamelCase reason of the refusal.", PZ(4)),
    F_STR("fieldPath", "The field to report.", P(5)),
    F_BOOL("optionalOldSelf", "Whether it may use oldSelf for new values too.", PZ(6)),
    {0}};

const struct field json_schema_fields[] = {
    F_STR("id", "", P(1)),
    F_STR("$schema", "", P(2)),
    F_STR("$ref", "", PZ(3)),
    F_STR("description", "", P(4)),
    F_STR("type", "", P(5)),
    F_STR("format", "", P(6)),
    F_STR("title", "", P(7)),
    F_PLAIN(FIELD_ANY, "default", "", P(8)),
    F_PLAIN(FIELD_ANY, "maximum", "", PZ(9), .wire = FIELD_WIRE_DOUBLE),
    F_BOOL("exclusiveMaximum", "", P(10)),
    F_PLAIN(FIELD_ANY, "minimum", "", PZ(11), .wire = FIELD_WIRE_DOUBLE),
    F_BOOL("exclusiveMinimum", "", P(12)),
    F_INT64("maxLength", "", PZ(13)),
    F_INT64("minLength", "", PZ(14)),
    F_STR("pattern", "", P(15)),
    F_INT64("maxItems", "", PZ(16)),
    F_INT64("minItems", "", PZ(17)),
    F_BOOL("uniqueItems", "", P(18)),
    F_PLAIN(FIELD_ANY, "multipleOf", "", PZ(19), .wire = FIELD_WIRE_DOUBLE),
    F_LIST(FIELD_ANY, "enum", "", P(20)),
    F_INT64("maxProperties", "", PZ(21)),
    F_INT64("minProperties", "", PZ(22)),
    F_STRS("required", "", P(23)),
    F_PLAIN(FIELD_ANY, "items", "", P(24), SCHEMA, .wire = FIELD_WIRE_OR_LIST),
    F_LIST(FIELD_OBJECT, "allOf", "", P(25), SCHEMA),
    F_LIST(FIELD_OBJECT, "oneOf", "", P(26), SCHEMA),
    F_LIST(FIELD_OBJECT, "anyOf", "", P(27), SCHEMA),
    F_PLAIN(FIELD_OBJECT, "not", "", P(28), SCHEMA),
    F_MAP(FIELD_OBJECT, "properties", "", P(29), SCHEMA),
    F_PLAIN(FIELD_ANY, "additionalProperties", "", P(30), SCHEMA, .wire = FIELD_WIRE_OR_BOOL),
    F_MAP(FIELD_OBJECT, "patternProperties", "", P(31), SCHEMA),
    F_MAP(FIELD_ANY, "dependencies", "", P(32), SCHEMA, .wire = FIELD_WIRE_OR_STRINGS),
    F_PLAIN(FIELD_ANY, "additionalItems", "", P(33), SCHEMA, .wire = FIELD_WIRE_OR_BOOL),
    F_MAP(FIELD_OBJECT, "definitions", "", P(34), SCHEMA),
    F_OBJ("externalDocs", external_docs_fields, "", P(35)),
    F_PLAIN(FIELD_ANY, "example", "", P(36)),
    F_BOOL("nullable", "", P(37)),
    F_BOOL("x-kubernetes-preserve-unknown-fields", "", PZ(38)),
    F_BOOL("x-kubernetes-embedded-resource", "", P(39)),
    F_BOOL("x-kubernetes-int-or-string", "", P(40)),
    F_STRS("x-kubernetes-list-map-keys", "", P(41)),
    F_STR("x-kubernetes-list-type", "", PZ(42)),
    F_STR("x-kubernetes-map-type", "", PZ(43)),
    F_OBJS("x-kubernetes-validations", validation_fields, "", P(44)),
    {0}};
