/* shape.c - see shape.h. Plain objects are copied byte by byte from the store, never encoded anew.
 */
#include "server/shape.h"

#include <inttypes.h>
#include <string.h>

#include "server/internal.h"

#define SCRATCH_LIMIT_BYTES (48u * 1024u * 1024u)

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
    struct format_choice choice;
    int rc = media_choose(r->arena, r->accept, &choice, err);

    *s = (struct shape){.kind = r->route.kind, .server = r->server};
    arena_init(&s->scratch, SCRATCH_LIMIT_BYTES);
    if (rc < 0)
        return rc;
    s->format = choice.format;
    s->table_version = choice.version;
    return include_object(r, &s->include, err);
}

void shape_release(struct shape *s)
{
    arena_release(&s->scratch);
}

struct json *shape_parse(struct shape *s, const struct blob *b, struct err *err)
{
    struct json *object;

    arena_reset(&s->scratch);
    object = blob_parse(&s->scratch, b, err);
    if (object && s->kind->from_stored)
        s->kind->from_stored(&s->scratch, s->kind, object);
    if (object)
        habits_complete(s->server, &s->scratch, s->kind, object);
    return object;
}

bool shape_copies(const struct shape *s)
{
    return s->format == FORMAT_PLAIN && !s->kind->from_stored && !habits_completes(s->kind);
}

static struct json *table_of(struct shape *s, const struct json *object, bool with_columns)
{
    struct json *table = table_new(&s->scratch, s->kind, with_columns);

    table_add_row(&s->scratch, table, s->kind, object, s->include, clock_now_ms(s->server->clock));
    json_set_stringf(&s->scratch, table, "apiVersion", "meta.k8s.io/%s", s->table_version);
    return table;
}

/* Rows keep what belongs to the object in scratch: the table may share it. */
static const struct json *parsed(struct shape *s, const struct blob *b, const struct json *object,
                                 struct err *err)
{
    return object ? object : shape_parse(s, b, err);
}

static struct json *partial_of(struct shape *s, const struct json *object)
{
    struct json *p = json_new_object(&s->scratch);

    json_set_string(&s->scratch, p, "kind", "PartialObjectMetadata");
    json_set_string(&s->scratch, p, "apiVersion", "meta.k8s.io/v1");
    json_set(&s->scratch, p, "metadata", json_clone(&s->scratch, json_get(object, "metadata")));
    return p;
}

static int write_checked(struct shape *s, const struct json *v, struct buf *out, struct err *err)
{
    if (!v || arena_failed(&s->scratch))
        return out_of_memory(err);
    json_write(out, v);
    return 0;
}

int shape_item(struct shape *s, const struct blob *b, const struct json *object, struct buf *out,
               struct err *err)
{
    if (b && shape_copies(s)) {
        buf_add(out, b->data, b->len);
        return 0;
    }
    object = parsed(s, b, object, err);
    if (!object)
        return -1;
    if (s->format == FORMAT_PLAIN)
        return write_checked(s, object, out, err);
    if (s->format == FORMAT_PARTIAL)
        return write_checked(s, partial_of(s, object), out, err);
    return write_checked(s, json_first(json_get(table_of(s, object, false), "rows")), out, err);
}

int shape_event(struct shape *s, const struct blob *b, const struct json *object, bool with_columns,
                struct buf *out, struct err *err)
{
    struct json *table;

    if (s->format != FORMAT_TABLE)
        return shape_item(s, b, object, out, err);
    object = parsed(s, b, object, err);
    if (!object)
        return -1;
    table = table_of(s, object, with_columns);
    json_set_string(&s->scratch, json_make_object(&s->scratch, table, "metadata"),
                    "resourceVersion", object_resource_version(object));
    return write_checked(s, table, out, err);
}

int shape_single(struct shape *s, const struct blob *b, struct buf *out, struct err *err)
{
    return shape_event(s, b, NULL, true, out, err);
}

void shape_list_begin(struct shape *s, struct buf *out)
{
    const struct kind *k = s->kind;

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
        buf_addf(out,
                 "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"columnDefinitions\":",
                 s->table_version);
        json_write(out, json_get(table_new(&s->scratch, k, true), "columnDefinitions"));
        buf_adds(out, ",\"rows\":[");
        return;
    }
}

void shape_list_end(struct shape *s, int64_t revision, const char *continue_token,
                    int64_t remaining, struct buf *out)
{
    (void)s;
    buf_addf(out, "],\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"", revision);
    if (continue_token)
        buf_addf(out, ",\"continue\":\"%s\"", continue_token);
    if (remaining)
        buf_addf(out, ",\"remainingItemCount\":%" PRId64, remaining);
    buf_adds(out, "}}");
}
