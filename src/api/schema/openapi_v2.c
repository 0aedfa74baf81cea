/*
 * openapi_v2.c - /openapi/v2 as protobuf, the only form kubectl accepts.
 *
 * schema.c makes the schemas as JSON, and they are encoded here by hand: a message is a sequence of
 * (field number, length, bytes), written from the inside out. Field numbers are those of gnostic's
 * OpenAPIv2.proto.
 */
#include <string.h>

#include "api/schema.h"

#define DOCUMENT_LIMIT_BYTES (8u * 1024u * 1024u)
#define WIRE_VARINT 0u
#define WIRE_BYTES 2u

enum document_field { DOC_SWAGGER = 1, DOC_INFO = 2, DOC_PATHS = 8, DOC_DEFINITIONS = 9 };
enum info_field { INFO_TITLE = 1, INFO_VERSION = 2 };
enum named_field { NAMED_NAME = 1, NAMED_VALUE = 2 };
enum path_field { PATHS_PATH = 2, PATH_PATCH = 8 };
enum definitions_field { DEFINITIONS_SCHEMA = 1 };
enum operation_field {
    OP_ID = 5,
    OP_PARAMETERS = 8,
    OP_RESPONSES = 9,
    OP_EXTENSION = 13,
};
enum schema_field {
    SCHEMA_REF = 1,
    SCHEMA_FORMAT = 2,
    SCHEMA_DESCRIPTION = 4,
    SCHEMA_REQUIRED = 19,
    SCHEMA_ADDITIONAL = 21,
    SCHEMA_TYPE = 22,
    SCHEMA_ITEMS = 23,
    SCHEMA_PROPERTIES = 25,
    SCHEMA_EXTENSION = 31,
};
enum query_field { QUERY_IN = 2, QUERY_NAME = 4, QUERY_TYPE = 6, QUERY_UNIQUE = 20 };

static void add_varint(struct buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_addc(out, (char)(0x80 | (v & 0x7f)));
    buf_addc(out, (char)v);
}

static void add_bytes(struct buf *out, unsigned field, const char *data, size_t len)
{
    add_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
    add_varint(out, len);
    buf_add(out, data, len);
}

static void add_string(struct buf *out, unsigned field, const char *text)
{
    add_bytes(out, field, text, strlen(text));
}

/* Adds inner as a message and frees it. */
static void add_message(struct buf *out, unsigned field, struct buf *inner)
{
    if (inner->failed)
        out->failed = true;
    add_bytes(out, field, inner->data ? inner->data : "", inner->len);
    buf_release(inner);
}

/* NamedAny{name, Any{yaml}}: an extension's value is JSON text. */
static void add_extension(struct buf *out, unsigned field, const char *name, const struct json *v)
{
    struct buf text = BUF_INIT(DOCUMENT_LIMIT_BYTES), any = BUF_INIT(DOCUMENT_LIMIT_BYTES);
    struct buf named = BUF_INIT(DOCUMENT_LIMIT_BYTES);

    json_write(&text, v);
    add_string(&named, NAMED_NAME, name);
    add_bytes(&any, 2, text.data ? text.data : "", text.len);
    add_message(&named, NAMED_VALUE, &any);
    add_message(out, field, &named);
    buf_release(&text);
}

/* --- schemas -------------------------------------------------------------------------------- */

static void encode_schema(struct buf *out, const struct json *schema);

static void encode_named_schema(struct buf *out, unsigned field, const char *name,
                                const struct json *schema)
{
    struct buf named = BUF_INIT(DOCUMENT_LIMIT_BYTES), value = BUF_INIT(DOCUMENT_LIMIT_BYTES);

    add_string(&named, NAMED_NAME, name);
    encode_schema(&value, schema);
    add_message(&named, NAMED_VALUE, &value);
    add_message(out, field, &named);
}

/* ItemsItem{1 Schema}, AdditionalPropertiesItem{1 Schema}. */
static void encode_wrapped(struct buf *out, unsigned field, const struct json *schema)
{
    struct buf wrapper = BUF_INIT(DOCUMENT_LIMIT_BYTES), value = BUF_INIT(DOCUMENT_LIMIT_BYTES);

    encode_schema(&value, schema);
    add_message(&wrapper, 1, &value);
    add_message(out, field, &wrapper);
}

static void encode_properties(struct buf *out, const struct json *properties)
{
    struct buf all = BUF_INIT(DOCUMENT_LIMIT_BYTES);

    json_each (p, properties)
        encode_named_schema(&all, 1, p->key, p);
    add_message(out, SCHEMA_PROPERTIES, &all);
}

static void encode_schema(struct buf *out, const struct json *schema)
{
    static const struct {
        const char *key;
        unsigned field;
    } texts[] = {
        {"$ref", SCHEMA_REF}, {"format", SCHEMA_FORMAT}, {"description", SCHEMA_DESCRIPTION}};

    for (size_t i = 0; i < ELEMS(texts); i++) {
        const char *text = json_get_string(schema, texts[i].key, NULL);

        if (text)
            add_string(out, texts[i].field, text);
    }
    json_each (name, json_get(schema, "required"))
        add_string(out, SCHEMA_REQUIRED, json_string(name, ""));
    if (json_get(schema, "additionalProperties"))
        encode_wrapped(out, SCHEMA_ADDITIONAL, json_get(schema, "additionalProperties"));
    if (json_get(schema, "type")) {
        struct buf type = BUF_INIT(256);

        add_string(&type, 1, json_get_string(schema, "type", ""));
        add_message(out, SCHEMA_TYPE, &type);
    }
    if (json_get(schema, "items"))
        encode_wrapped(out, SCHEMA_ITEMS, json_get(schema, "items"));
    if (json_get(schema, "properties"))
        encode_properties(out, json_get(schema, "properties"));
    json_each (m, schema)
        if (strncmp(m->key, "x-", 2) == 0)
            add_extension(out, SCHEMA_EXTENSION, m->key, m);
}

/* --- operations ----------------------------------------------------------------------------- */

/* ParametersItem{Parameter{NonBodyParameter{QueryParameterSubSchema}}}, from the inside out. */
static void encode_query_parameter(struct buf *out, const char *name)
{
    static const unsigned wrappers[] = {3, 2, 1};
    struct buf inner = BUF_INIT(1024);

    add_string(&inner, QUERY_IN, "query");
    add_string(&inner, QUERY_NAME, name);
    add_string(&inner, QUERY_TYPE, "string");
    add_varint(&inner, (uint64_t)QUERY_UNIQUE << 3 | WIRE_VARINT);
    add_varint(&inner, 1);
    for (size_t i = 0; i < ELEMS(wrappers); i++) {
        struct buf outer = BUF_INIT(1024);

        add_message(&outer, wrappers[i], &inner);
        inner = outer;
    }
    add_message(out, OP_PARAMETERS, &inner);
}

/* Responses{NamedResponseValue{"200", ResponseValue{Response{description}}}} */
static void encode_responses(struct buf *out)
{
    struct buf response = BUF_INIT(256), value = BUF_INIT(256), named = BUF_INIT(256);
    struct buf all = BUF_INIT(256);

    add_string(&response, 1, "OK");
    add_message(&value, 1, &response);
    add_string(&named, NAMED_NAME, "200");
    add_message(&named, NAMED_VALUE, &value);
    add_message(&all, 1, &named);
    add_message(out, OP_RESPONSES, &all);
}

static void encode_path(struct buf *out, struct arena *a, const struct kind *k)
{
    struct buf op = BUF_INIT(4096), item = BUF_INIT(4096), named = BUF_INIT(8192);
    const struct json action = {
        .type = JSON_STRING, .u.text = "patch", .len = (uint32_t)strlen("patch")};
    const char *id = arena_printf(a, "patch%s%s", k->namespaced ? "Namespaced" : "", k->name);
    const char *path = arena_printf(a, "%s%s/%s%s/%s/{name}", *k->group ? "/apis/" : "/api",
                                    k->group, k->version,
                                    k->namespaced ? "/namespaces/{namespace}" : "", k->plural);

    add_string(&op, OP_ID, id ? id : "");
    encode_query_parameter(&op, "dryRun");
    encode_query_parameter(&op, "fieldManager");
    encode_query_parameter(&op, "fieldValidation");
    encode_responses(&op);
    add_extension(&op, OP_EXTENSION, "x-kubernetes-action", &action);
    add_extension(&op, OP_EXTENSION, "x-kubernetes-group-version-kind",
                  schema_group_version_kind(a, k));
    add_message(&item, PATH_PATCH, &op);
    add_string(&named, NAMED_NAME, path ? path : "");
    add_message(&named, NAMED_VALUE, &item);
    add_message(out, PATHS_PATH, &named);
}

static void encode_definition(struct buf *out, struct arena *a, const struct kind *k,
                              struct json *types)
{
    struct json *schema = schema_styled(a, k, SCHEMA_V2, types);
    const char *name = schema_definition_name(a, k);

    json_append(json_make_array(a, schema, "x-kubernetes-group-version-kind"),
                schema_group_version_kind(a, k));
    encode_named_schema(out, DEFINITIONS_SCHEMA, name ? name : "", schema);
}

static void encode_info(struct buf *out)
{
    struct buf info = BUF_INIT(256);

    add_string(&info, INFO_TITLE, "muster");
    add_string(&info, INFO_VERSION, "v1.32.0");
    add_message(out, DOC_INFO, &info);
}

void schema_openapi_v2(const struct kind *const *all, struct buf *out)
{
    struct arena a = ARENA_INIT(DOCUMENT_LIMIT_BYTES);
    struct buf paths = BUF_INIT(DOCUMENT_LIMIT_BYTES), definitions = BUF_INIT(DOCUMENT_LIMIT_BYTES);
    struct json *types = json_new_object(&a);

    add_string(out, DOC_SWAGGER, "2.0");
    encode_info(out);
    for (const struct kind *const *k = all; *k; k++)
        encode_path(&paths, &a, *k);
    encode_named_schema(&definitions, DEFINITIONS_SCHEMA, SCHEMA_META_NAME,
                        schema_of_metadata(&a, SCHEMA_V2));
    for (const struct kind *const *k = all; *k; k++)
        encode_definition(&definitions, &a, *k, types);
    json_each (type, types)
        encode_named_schema(&definitions, DEFINITIONS_SCHEMA, type->key, type);
    add_message(out, DOC_PATHS, &paths);
    add_message(out, DOC_DEFINITIONS, &definitions);
    if (arena_failed(&a))
        out->failed = true;
    arena_release(&a);
}
