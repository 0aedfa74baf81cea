/*
 * openapi_v2.c - /openapi/v2: one document for all kinds, and its form as protobuf, the only one
 * kubectl accepts.
 *
 * The document is encoded here by hand: a message is a sequence of
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
static void encode_query_parameter(struct buf *out, const struct json *parameter)
{
    static const unsigned wrappers[] = {3, 2, 1};
    struct buf inner = BUF_INIT(1024);

    add_string(&inner, QUERY_IN, "query");
    add_string(&inner, QUERY_NAME, json_get_string(parameter, "name", ""));
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

static void encode_path(struct buf *out, const struct json *path)
{
    struct buf op = BUF_INIT(4096), item = BUF_INIT(4096), named = BUF_INIT(8192);
    const struct json *patch = json_get(path, "patch");

    add_string(&op, OP_ID, json_get_string(patch, "operationId", ""));
    json_each (parameter, json_get(patch, "parameters"))
        encode_query_parameter(&op, parameter);
    encode_responses(&op);
    json_each (m, patch)
        if (strncmp(m->key, "x-", 2) == 0)
            add_extension(&op, OP_EXTENSION, m->key, m);
    add_message(&item, PATH_PATCH, &op);
    add_string(&named, NAMED_NAME, path->key);
    add_message(&named, NAMED_VALUE, &item);
    add_message(out, PATHS_PATH, &named);
}

void schema_openapi_v2_encode(const struct json *document, struct buf *out)
{
    struct buf paths = BUF_INIT(DOCUMENT_LIMIT_BYTES), definitions = BUF_INIT(DOCUMENT_LIMIT_BYTES);
    struct buf info = BUF_INIT(256);

    add_string(out, DOC_SWAGGER, json_get_string(document, "swagger", ""));
    add_string(&info, INFO_TITLE, json_string(json_at(document, "info", "title"), ""));
    add_string(&info, INFO_VERSION, json_string(json_at(document, "info", "version"), ""));
    add_message(out, DOC_INFO, &info);
    json_each (path, json_get(document, "paths"))
        encode_path(&paths, path);
    json_each (schema, json_get(document, "definitions"))
        encode_named_schema(&definitions, DEFINITIONS_SCHEMA, schema->key, schema);
    add_message(out, DOC_PATHS, &paths);
    add_message(out, DOC_DEFINITIONS, &definitions);
}

/* --- the document --------------------------------------------------------------------------- */

struct json *schema_openapi_v2(struct arena *a, const struct kind *const *all)
{
    struct json *doc = json_new_object(a), *paths, *definitions;

    json_set_string(a, doc, "swagger", "2.0");
    schema_add_info(a, doc);
    paths = json_make_object(a, doc, "paths");
    definitions = json_make_object(a, doc, "definitions");
    json_set(a, definitions, SCHEMA_META_NAME, schema_of_metadata(a, SCHEMA_V2));
    for (const struct kind *const *k = all; *k; k++)
        schema_add_kind(a, paths, definitions, *k, SCHEMA_V2);
    return doc;
}
