/* columns.c - see columns.h. */
#include "api/columns.h"

#include "api/object.h"
#include "api/quantity.h"
#include "base/timefmt.h"

#define CELL_LIMIT_BYTES 4096u

struct json *column_since(struct arena *a, int64_t ms, int64_t now_ms)
{
    char text[TIME_TEXT_SIZE];

    return json_new_string(a, ms ? time_age(now_ms - ms, text) : "<unknown>");
}

struct json *column_age(struct arena *a, const struct json *object, int64_t now_ms)
{
    return column_since(a, object_created_ms(object), now_ms);
}

struct json *column_string(struct arena *a, const struct json *v)
{
    return json_is(v, JSON_STRING) && v->len ? json_new_string_len(a, v->u.text, v->len) : NULL;
}

struct json *column_map(struct arena *a, const struct json *map)
{
    struct buf out = BUF_INIT(CELL_LIMIT_BYTES);
    struct json *cell = NULL;

    json_each (m, map)
        buf_addf(&out, "%s%s=%s", out.len ? "," : "", m->key, quantity_json_text(a, m));
    if (out.data)
        cell = json_new_string_len(a, out.data, out.len);
    buf_release(&out);
    return cell;
}
