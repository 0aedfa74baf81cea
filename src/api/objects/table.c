/* table.c - see table.h. A cell comes from the column's render function or its path. */
#include "api/table.h"

#include <string.h>

#include "api/json_path.h"
#include "api/object.h"
#include "base/timefmt.h"
#include "base/utf8.h"

struct json *table_columns(struct arena *a, const struct kind *k)
{
    struct json *list = json_new_array(a);

    for (const struct column *c = k->columns; c && c->name; c++) {
        struct json *d = json_append(list, json_new_object(a));

        json_set_string(a, d, "name", c->name);
        json_set_string(a, d, "type", c->type);
        json_set_string(a, d, "format", c->format ? c->format : "");
        json_set_string(a, d, "description", c->doc ? c->doc : "");
        json_set_int(a, d, "priority", c->priority);
    }
    return list;
}

static struct json *age_cell(struct arena *a, const struct json *v, int64_t now_ms)
{
    char text[TIME_TEXT_SIZE];
    int64_t ms;

    if (!json_is(v, JSON_STRING))
        return json_new_null(a);
    if (time_parse(v->u.text, &ms) < 0)
        return json_new_string(a, "<invalid>");
    return json_new_string(a, time_age(now_ms - ms, text));
}

static struct json *raw_cell(struct arena *a, const struct column *c, const struct json *object,
                             int64_t now_ms)
{
    const struct json *v;
    struct json *copy;

    if (c->render) {
        struct json *rendered = c->render(a, object, now_ms);

        return rendered ? rendered : json_new_string(a, "<none>");
    }
    v = json_path_first(object, c->path);
    if (strcmp(c->type, "date") == 0)
        return age_cell(a, v, now_ms);
    copy = json_clone(a, v);
    return copy ? copy : json_new_null(a);
}

/* Without what a terminal would obey: kubectl prints cells as they are. */
static struct json *cell(struct arena *a, const struct column *c, const struct json *object,
                         int64_t now_ms)
{
    struct json *v = raw_cell(a, c, object, now_ms);

    if (!json_is(v, JSON_STRING) || !utf8_has_controls(v->u.text, v->len))
        return v;
    return json_new_string(a, utf8_without_controls(a, v->u.text, v->len));
}

struct json *table_cell(struct arena *a, const struct kind *k, const char *column,
                        const struct json *object, int64_t now_ms)
{
    for (const struct column *c = k->columns; c && c->name; c++)
        if (strcmp(c->name, column) == 0)
            return cell(a, c, object, now_ms);
    return json_new_null(a);
}

static struct json *cells_of(struct arena *a, const struct kind *k, const struct json *object,
                             int64_t now_ms)
{
    struct json *cells = json_new_array(a);

    for (const struct column *c = k->columns; c && c->name; c++)
        json_append(cells, cell(a, c, object, now_ms));
    return cells;
}

static void write_metadata(struct buf *out, const struct json *object, const struct blob *text)
{
    size_t len = 0;
    const char *stored = text ? json_member_text(text->data, text->len, "metadata", &len) : NULL;

    if (stored)
        buf_add(out, stored, len);
    else
        json_write(out, json_get(object, "metadata"));
}

void table_write_row(struct buf *out, struct arena *a, const struct kind *k,
                     const struct json *object, const struct blob *text, enum table_include include,
                     int64_t now_ms)
{
    buf_adds(out, "{\"cells\":");
    json_write(out, cells_of(a, k, object, now_ms));
    if (include != TABLE_INCLUDE_NONE)
        buf_adds(out, ",\"object\":");
    if (include == TABLE_INCLUDE_METADATA) {
        buf_adds(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                      "\"metadata\":");
        write_metadata(out, object, text);
        buf_addc(out, '}');
    } else if (include == TABLE_INCLUDE_OBJECT) {
        json_write(out, object);
    }
    buf_addc(out, '}');
}

const char *table_cell_text(struct arena *a, const struct json *v)
{
    struct buf out = BUF_INIT(64u * 1024u);
    const char *text = "";

    if (json_is_null(v))
        return "";
    if (json_is(v, JSON_STRING))
        return v->u.text;
    json_write(&out, v);
    if (!out.failed && out.data)
        text = arena_strdup(a, out.data);
    buf_release(&out);
    return text ? text : "";
}
