/* shape.c - see shape.h. Plain objects are copied from the store as bytes, never encoded again. */
#include "server/shape.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "api/managed.h"
#include "api/protobuf.h"
#include "api/yaml.h"
#include "server/internal.h"

#define SCRATCH_LIMIT_BYTES (48u * 1024u * 1024u)
#define YAML_LIMIT_BYTES (256u * 1024u * 1024u)

static int include_object(const struct server_request *r, enum table_include *ret, struct err *err)
{
    static const struct {
        const char *name;
        enum table_include include;
    } choices[] = {{"", TABLE_INCLUDE_METADATA},
                   {"Metadata", TABLE_INCLUDE_METADATA},
                   {"Object", TABLE_INCLUDE_OBJECT},
                   {"None", TABLE_INCLUDE_NONE}};
    const char *asked = query_get(r, "includeObject");

    if (!asked)
        asked = "";
    for (size_t i = 0; i < ELEMS(choices); i++)
        if (strcmp(asked, choices[i].name) == 0) {
            *ret = choices[i].include;
            return 0;
        }
    return err_set(err, ERR_BAD_REQUEST,
                   "includeObject: Unsupported value: \"%s\": supported: \"Metadata\", \"None\", "
                   "\"Object\"",
                   asked);
}

int shape_init(struct shape *s, const struct server_request *r, struct err *err)
{
    *s = (struct shape){.format = r->media.format,
                        .encoding = r->media.encoding,
                        .table_version = r->media.version,
                        .kind = r->route.kind,
                        .bare = r->bare,
                        .server = r->server};
    arena_init(&s->scratch, SCRATCH_LIMIT_BYTES);
    return include_object(r, &s->include, err);
}

void shape_release(struct shape *s)
{
    arena_release(&s->scratch);
}

struct json *shape_parse(struct shape *s, const struct blob *b, struct err *err)
{
    bool bare = s->bare || (s->format == FORMAT_TABLE && s->include != TABLE_INCLUDE_OBJECT);
    struct json *object;

    arena_reset(&s->scratch);
    object = stored_parse(&s->scratch, s->kind, b, bare, err);
    if (!object)
        return NULL;
    managed_show(&s->scratch, s->kind, object);
    kind_hooks_complete(s->server, &s->scratch, s->kind, object);
    return object;
}

bool shape_copies(const struct shape *s)
{
    return s->format == FORMAT_PLAIN && s->encoding == ENCODING_JSON && !s->kind->from_stored &&
           !kind_hooks_completes(s->kind);
}

/* Only what columns read is parsed. */
static bool skims(const struct shape *s)
{
    return s->format == FORMAT_TABLE && s->include != TABLE_INCLUDE_OBJECT && s->kind->row_parts &&
           !kind_hooks_completes(s->kind);
}

static const struct json *parsed(struct shape *s, const struct blob *b, const struct json *object,
                                 struct err *err)
{
    if (object)
        return object;
    assert(b);
    if (!skims(s))
        return shape_parse(s, b, err);
    arena_reset(&s->scratch);
    return json_skim(&s->scratch, b->data, b->len, s->kind->row_parts, err);
}

static void write_row(struct shape *s, const struct blob *b, const struct json *object,
                      struct buf *out)
{
    table_write_row(out, &s->scratch, s->kind, object, skims(s) ? b : NULL, s->include,
                    clock_now_ms(s->server->clock));
}

static void write_columns(struct shape *s, bool with_columns, struct buf *out)
{
    buf_adds(out, "\"columnDefinitions\":");
    json_write(out, with_columns ? table_columns(&s->scratch, s->kind) : NULL);
    buf_adds(out, ",\"rows\":[");
}

static int write_checked(struct shape *s, const struct json *v, struct buf *out, struct err *err)
{
    if (!v || arena_failed(&s->scratch))
        return out_of_memory(err);
    json_write(out, v);
    return 0;
}

/* What is returned of it, except for rows; and as which kind. */
static const struct json *shown(struct shape *s, const struct json *object)
{
    return s->format == FORMAT_PARTIAL ? partial_of(&s->scratch, object) : object;
}

static const struct kind *kind_shown(const struct shape *s)
{
    return s->format == FORMAT_PARTIAL ? &kind_partial : s->kind;
}

int shape_item(struct shape *s, const struct blob *b, const struct json *object, struct buf *out,
               struct err *err)
{
    if (s->count++ && s->encoding != ENCODING_PROTOBUF)
        buf_addc(out, ',');
    if (b && shape_copies(s)) {
        arena_reset(&s->scratch);
        stored_write(out, &s->scratch, s->kind, b, s->bare);
        return 0;
    }
    object = parsed(s, b, object, err);
    if (!object)
        return -1;
    if (s->encoding == ENCODING_PROTOBUF) {
        protobuf_list_item(out, &s->scratch, kind_shown(s), shown(s, object));
        return arena_failed(&s->scratch) ? out_of_memory(err) : 0;
    }
    if (s->format == FORMAT_TABLE) {
        write_row(s, b, object, out);
        return arena_failed(&s->scratch) ? out_of_memory(err) : 0;
    }
    return write_checked(s, shown(s, object), out, err);
}

int shape_event(struct shape *s, const struct blob *b, const struct json *object, bool with_columns,
                struct buf *out, struct err *err)
{
    if (b && shape_copies(s)) {
        arena_reset(&s->scratch);
        stored_write(out, &s->scratch, s->kind, b, s->bare);
        return 0;
    }
    object = parsed(s, b, object, err);
    if (!object)
        return -1;
    if (s->encoding == ENCODING_PROTOBUF) {
        protobuf_write(out, &s->scratch, kind_shown(s), shown(s, object));
        return arena_failed(&s->scratch) ? out_of_memory(err) : 0;
    }
    if (s->format != FORMAT_TABLE)
        return write_checked(s, shown(s, object), out, err);
    buf_addf(out,
             "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":{"
             "\"resourceVersion\":\"%s\"},",
             s->table_version, object_resource_version(object));
    write_columns(s, with_columns, out);
    write_row(s, b, object, out);
    buf_adds(out, "]}");
    return arena_failed(&s->scratch) ? out_of_memory(err) : 0;
}

int shape_frame(struct shape *s, const char *type, const struct blob *b, const struct json *object,
                struct buf *out, struct err *err)
{
    object = parsed(s, b, object, err);
    if (!object)
        return -1;
    protobuf_write_event(out, &s->scratch, type, kind_shown(s), shown(s, object));
    return arena_failed(&s->scratch) ? out_of_memory(err) : 0;
}

int shape_single(struct shape *s, const struct blob *b, struct buf *out, struct err *err)
{
    return shape_event(s, b, NULL, true, out, err);
}

static void reply_as_yaml(struct server_request *r, struct buf *json)
{
    struct arena a = ARENA_INIT(YAML_LIMIT_BYTES);
    struct json *v = json_parse(&a, json->data, json->len, NULL);

    buf_clear(json);
    if (v)
        yaml_write(json, v);
    json->failed = json->failed || !v;
    arena_release(&a);
    reply_buf(r, 200, media_type(ENCODING_YAML), json);
}

void reply_shaped(struct server_request *r, const struct shape *s, struct buf *body)
{
    if (s->encoding == ENCODING_YAML && !body->failed)
        reply_as_yaml(r, body);
    else
        reply_buf(r, 200, media_type(s->encoding), body);
}

void shape_list_begin(struct shape *s, struct buf *out)
{
    const struct kind *k = s->kind;

    if (s->encoding == ENCODING_PROTOBUF) {
        s->begun = protobuf_list_begin(out, kind_shown(s));
        return;
    }
    switch (s->format) {
    case FORMAT_PLAIN:
        buf_addf(out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s%s%s\",\"items\":[", k->name,
                 k->group, *k->group ? "/" : "", k->version);
        return;
    case FORMAT_PARTIAL:
        buf_adds(out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\","
                      "\"items\":[");
        return;
    case FORMAT_TABLE:
        arena_reset(&s->scratch);
        buf_addf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",", s->table_version);
        write_columns(s, true, out);
        return;
    }
}

void shape_list_end(struct shape *s, int64_t revision, const char *continue_token,
                    int64_t remaining, struct buf *out)
{
    struct json *meta;

    arena_reset(&s->scratch);
    meta = json_new_object(&s->scratch);
    json_set_stringf(&s->scratch, meta, "resourceVersion", "%" PRId64, revision);
    if (continue_token)
        json_set_string(&s->scratch, meta, "continue", continue_token);
    if (remaining)
        json_set_int(&s->scratch, meta, "remainingItemCount", remaining);
    if (arena_failed(&s->scratch))
        out->failed = true;
    if (s->encoding == ENCODING_PROTOBUF) {
        protobuf_list_end(out, &s->scratch, s->begun, meta);
        return;
    }
    buf_adds(out, "],\"metadata\":");
    json_write(out, meta);
    buf_addc(out, '}');
}
