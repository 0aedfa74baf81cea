/* protobuf.c - the reading half of protobuf.h. */
#include "api/protobuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json_keys.h"
#include "base/timefmt.h"
#include "base/wire.h"

#define DEPTH_LIMIT 100u
#define SECONDS_LIMIT 253402300799 /* end of the year 9999 */
#define NANOS_PER_MICRO 1000

bool protobuf_speaks(const struct kind *k)
{
    return k->fields && !k->custom && !k->schema && (k->fields->number || k == &kind_partial);
}

bool protobuf_is(const char *data, size_t len)
{
    return len >= sizeof(PROTOBUF_MAGIC) &&
           memcmp(data, PROTOBUF_MAGIC, sizeof(PROTOBUF_MAGIC)) == 0;
}

struct decoder {
    struct arena *arena;
    warning_fn *warn;
    void *warn_arg;
    const char *path[DEPTH_LIMIT]; /* names of the members on the way here */
    size_t depth;
};

/* A map being read, with an index so that looking up a repeated key is fast. */
struct open_map {
    struct open_map *next;
    const struct field *field;
    struct json *map;
    struct json_keys keys;
};

static bool decode_fields(struct decoder *d, struct wire w, const struct field *fields,
                          const struct field *more, unsigned inside, struct json *into);

static struct wire inner(const struct wire_field *v)
{
    return wire_of(v->data, v->len);
}

static struct json *new_text(struct decoder *d, const struct wire_field *v)
{
    return json_new_string_len(d->arena, (const char *)v->data, v->len);
}

/* The text of a quantity or port. */
static struct json *new_word(struct decoder *d, const struct wire_field *v)
{
    return memchr(v->data, '\0', v->len) ? NULL : new_text(d, v);
}

/* The first field of {1 text} or {1 bytes}. */
static struct wire_field first_bytes(const struct wire_field *v)
{
    struct wire w = inner(v);
    struct wire_field f, found = {.data = v->data};

    while (wire_next(&w, &f))
        if (f.number == 1 && f.type == WIRE_BYTES)
            found = f;
    if (w.bad)
        found = (struct wire_field){.data = NULL};
    return found;
}

static struct json *new_quantity(struct decoder *d, const struct wire_field *v)
{
    struct wire_field text = first_bytes(v);

    if (text.data && text.len == 0)
        return json_new_string(d->arena, "0");
    return text.data ? new_word(d, &text) : NULL;
}

static struct json *new_raw(struct decoder *d, const struct wire_field *v)
{
    struct wire_field text = first_bytes(v);

    return text.data ? json_parse(d->arena, (const char *)text.data, text.len, NULL) : NULL;
}

static struct json *new_base64(struct decoder *d, const struct wire_field *v)
{
    size_t len;
    const char *text = base64_encode(d->arena, (const char *)v->data, v->len, &len);

    return text ? json_new_string(d->arena, text) : NULL;
}

/* Timestamp{1 seconds, 2 nanos}; all zero means unset: null. */
static struct json *new_time(struct decoder *d, const struct field *f, const struct wire_field *v)
{
    int64_t seconds = 0, nanos = 0;
    struct wire w = inner(v);
    char text[TIME_TEXT_SIZE];
    struct wire_field part;

    while (wire_next(&w, &part)) {
        if (part.number == 1 && part.type == WIRE_VARINT)
            seconds = (int64_t)part.number_value;
        if (part.number == 2 && part.type == WIRE_VARINT)
            nanos = (int64_t)part.number_value;
    }
    if (w.bad || seconds < 0 || seconds > SECONDS_LIMIT || nanos < 0 || nanos > 999999999)
        return NULL;
    if (seconds == 0 && nanos == 0)
        return json_new_null(d->arena);
    (void)time_format(seconds * 1000, text);
    if (f->wire == FIELD_WIRE_MICRO)
        return json_new_stringf(d->arena, "%.*s.%06dZ", (int)strlen(text) - 1, text,
                                (int)(nanos / NANOS_PER_MICRO));
    return json_new_string(d->arena, text);
}

/* IntOrString{1 type (0: int), 2 int, 3 string}; an empty one means unset. */
static struct json *new_int_or_string(struct decoder *d, const struct field *f,
                                      const struct wire_field *v)
{
    struct wire_field part, text = {.data = v->data};
    uint64_t type = 0, number = 0;
    struct wire w = inner(v);
    struct json *made;

    while (wire_next(&w, &part)) {
        if (part.number == 1 && part.type == WIRE_VARINT)
            type = part.number_value;
        if (part.number == 2 && part.type == WIRE_VARINT)
            number = part.number_value;
        if (part.number == 3 && part.type == WIRE_BYTES)
            text = part;
    }
    if (w.bad || type > 1)
        return NULL;
    made = type ? new_word(d, &text) : json_new_int(d->arena, (int32_t)number);
    return made && !f->keep_zero && (type ? text.len == 0 : (int32_t)number == 0)
               ? json_new_null(d->arena)
               : made;
}

static struct json *new_double(struct decoder *d, const struct wire_field *v)
{
    char text[40];
    double number;

    memcpy(&number, &v->number_value, sizeof(number));
    if (!isfinite(number))
        return NULL;
    if (fabs(number) < 1e15 && number == (double)(int64_t)number)
        return json_new_int(d->arena, (int64_t)number);
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return json_new_real(d->arena, text);
}

static struct json *new_message(struct decoder *d, const struct field *fields,
                                const struct wire_field *v)
{
    struct json *object = json_new_object(d->arena);

    return decode_fields(d, inner(v), fields, NULL, 0, object) ? object : NULL;
}

static struct json *new_strings(struct decoder *d, const struct wire_field *v, unsigned number)
{
    struct json *list = json_new_array(d->arena);
    struct wire w = inner(v);
    struct wire_field part;

    while (wire_next(&w, &part))
        if (part.number == number && part.type == WIRE_BYTES &&
            !json_append(list, new_text(d, &part)))
            return NULL;
    return w.bad ? NULL : list;
}

/* A union: fields, or a list of them, a bool, or strings. */
static struct json *new_choice(struct decoder *d, const struct field *f, const struct wire_field *v)
{
    unsigned one = f->wire == FIELD_WIRE_OR_BOOL ? 2 : 1;
    struct json *list = json_new_array(d->arena), *object = NULL;
    struct wire w = inner(v);
    struct wire_field part;
    bool truth = false;

    if (f->wire == FIELD_WIRE_OR_STRINGS)
        list = new_strings(d, v, 2);
    while (wire_next(&w, &part)) {
        if (part.number == 1 && part.type == WIRE_VARINT)
            truth = part.number_value;
        else if (part.number == one && part.type == WIRE_BYTES)
            object = new_message(d, f->fields, &part);
        else if (part.number == 2 && part.type == WIRE_BYTES && f->wire == FIELD_WIRE_OR_LIST &&
                 !json_append(list, new_message(d, f->fields, &part)))
            return NULL;
        if (part.number == one && part.type == WIRE_BYTES && !object)
            return NULL;
    }
    if (w.bad || !list)
        return NULL;
    if (object)
        return object;
    return f->wire == FIELD_WIRE_OR_BOOL ? json_new_bool(d->arena, truth) : list;
}

static struct json *new_any(struct decoder *d, const struct field *f, const struct wire_field *v)
{
    switch ((enum field_wire)f->wire) {
    case FIELD_WIRE_PLAIN:
    case FIELD_WIRE_MICRO:
        return f->fields ? new_message(d, f->fields, v) : new_raw(d, v);
    case FIELD_WIRE_DOUBLE:
        return new_double(d, v);
    case FIELD_WIRE_STRINGS:
        return new_strings(d, v, 1);
    case FIELD_WIRE_OR_LIST:
    case FIELD_WIRE_OR_BOOL:
    case FIELD_WIRE_OR_STRINGS:
        return new_choice(d, f, v);
    }
    unreachable();
}

static enum wire_type wire_type_of(const struct field *f, enum field_type type)
{
    if (type == FIELD_INT32 || type == FIELD_INT64 || type == FIELD_BOOL)
        return WIRE_VARINT;
    return type == FIELD_ANY && f->wire == FIELD_WIRE_DOUBLE ? WIRE_FIXED64 : WIRE_BYTES;
}

/* NULL: malformed. null: unset. alone: the field itself rather than a list element. */
static struct json *new_value(struct decoder *d, const struct field *f, enum field_type type,
                              const struct wire_field *v, bool alone)
{
    bool drop_zero = alone && !f->keep_zero;

    if (v->type != wire_type_of(f, type))
        return NULL;
    switch (type) {
    case FIELD_STRING:
        return drop_zero && v->len == 0 ? json_new_null(d->arena) : new_text(d, v);
    case FIELD_INT32:
    case FIELD_INT64:
        if (drop_zero && v->number_value == 0)
            return json_new_null(d->arena);
        return json_new_int(d->arena, type == FIELD_INT32 ? (int32_t)v->number_value
                                                          : (int64_t)v->number_value);
    case FIELD_BOOL:
        if (drop_zero && v->number_value == 0)
            return json_new_null(d->arena);
        return json_new_bool(d->arena, v->number_value != 0);
    case FIELD_QUANTITY:
        return new_quantity(d, v);
    case FIELD_TIME:
        return new_time(d, f, v);
    case FIELD_INT_OR_STRING:
        return new_int_or_string(d, f, v);
    case FIELD_BYTES:
        return drop_zero && v->len == 0 ? json_new_null(d->arena) : new_base64(d, v);
    case FIELD_OBJECT:
        return new_message(d, f->fields, v);
    case FIELD_LIST: /* value of a map: strings */
        return new_strings(d, v, 1);
    case FIELD_MAP:
        return NULL;
    case FIELD_ANY:
        return new_any(d, f, v);
    }
    unreachable();
}

static struct open_map *find_map(struct decoder *d, struct open_map **maps, const struct field *f,
                                 struct json *into)
{
    struct open_map *m = *maps;

    while (m && m->field != f)
        m = m->next;
    if (m)
        return m;
    m = arena_alloc(d->arena, sizeof(*m));
    if (m) {
        *m = (struct open_map){
            .next = *maps, .field = f, .map = json_make_object(d->arena, into, f->name)};
        *maps = m;
    }
    return m;
}

/* Go omits the zero value of an entry's type. */
static struct wire_field zero_of(const struct field *f, const struct wire_field *entry)
{
    return (struct wire_field){
        .type = wire_type_of(f, f->item), .data = entry->data, .len = 0, .number_value = 0};
}

/* {1 key, 2 value} */
static bool decode_entry(struct decoder *d, const struct field *f, const struct wire_field *v,
                         struct open_map *m)
{
    struct wire_field part, key = {.data = v->data}, value = zero_of(f, v);
    struct wire w = inner(v);
    struct json *member, *before;
    char *name;

    while (wire_next(&w, &part)) {
        if (part.number == 1 && part.type == WIRE_BYTES)
            key = part;
        if (part.number == 2)
            value = part;
    }
    if (w.bad || !m || memchr(key.data, '\0', key.len))
        return false;
    member = new_value(d, f, f->item, &value, false);
    name = arena_strndup(d->arena, (const char *)key.data, key.len);
    if (!member || !name)
        return false;
    before = json_keys_find(&m->keys, m->map, name, (uint32_t)key.len);
    if (before) {
        (void)json_set(d->arena, m->map, name, member);
        return true;
    }
    member->key = name;
    member->key_len = (uint32_t)key.len;
    return json_append(m->map, member) && json_keys_add(d->arena, &m->keys, m->map, member);
}

/* One element, or a packed run of numbers. */
static bool decode_element(struct decoder *d, const struct field *f, const struct wire_field *v,
                           struct json *into)
{
    bool packed = v->type == WIRE_BYTES && wire_type_of(f, f->item) == WIRE_VARINT;
    struct wire_field one = {.type = WIRE_VARINT};
    struct wire w = inner(v);
    struct json *list;

    if (packed && v->len == 0)
        return true;
    list = json_make_array(d->arena, into, f->name);
    if (!packed)
        return json_append(list, new_value(d, f, f->item, v, false));
    while (w.at < w.end)
        if (!wire_varint(&w, &one.number_value) ||
            !json_append(list, new_value(d, f, f->item, &one, false)))
            return false;
    return true;
}

static bool decode_field(struct decoder *d, const struct field *f, const struct wire_field *v,
                         struct open_map **maps, struct json *into)
{
    struct json *value;

    if (f->type == FIELD_LIST)
        return decode_element(d, f, v, into);
    if (f->type == FIELD_MAP)
        return v->type == WIRE_BYTES && decode_entry(d, f, v, find_map(d, maps, f, into));
    value = new_value(d, f, f->type, v, true);
    if (value && !json_is_null(value))
        (void)json_set(d->arena, into, f->name, value);
    return value;
}

static void say_unknown(struct decoder *d, unsigned number)
{
    struct buf text = BUF_INIT(1024);

    if (!d->warn)
        return;
    buf_adds(&text, "unknown field \"");
    for (size_t i = 0; i < d->depth; i++)
        if (d->path[i])
            buf_addf(&text, "%s.", d->path[i]);
    buf_addf(&text, "<%u>\", by its number in protobuf", number);
    if (!text.failed)
        d->warn(d->warn_arg, text.data);
    buf_release(&text);
}

static const struct field *find_number(const struct field *fields, unsigned inside, unsigned number)
{
    for (const struct field *f = fields; f && f->name; f++)
        if (f->number == number && f->inside == inside)
            return f;
    return NULL;
}

/* The message of that number, when fields are in it, as inside; 0: none are. */
static unsigned holds_inside(const struct field *fields, unsigned inside, unsigned number)
{
    for (const struct field *f = fields; f && f->name; f++) {
        unsigned next = protobuf_inside_next(f, inside);

        if (next && next >> protobuf_inside_bits(inside) == number)
            return next;
    }
    return 0;
}

static bool decode_one(struct decoder *d, const struct field *fields, const struct field *more,
                       unsigned inside, const struct wire_field *v, struct open_map **maps,
                       struct json *into)
{
    const struct field *f = find_number(fields, inside, v->number);
    unsigned below = f ? 0 : holds_inside(fields, inside, v->number);

    if (!f && more && !inside)
        f = find_number(more, 0, v->number);
    d->path[d->depth - 1] = f ? f->name : NULL;
    if (f)
        return decode_field(d, f, v, maps, into);
    if (below)
        return v->type == WIRE_BYTES && decode_fields(d, inner(v), fields, NULL, below, into);
    say_unknown(d, v->number);
    return true;
}

static bool decode_fields(struct decoder *d, struct wire w, const struct field *fields,
                          const struct field *more, unsigned inside, struct json *into)
{
    struct open_map *maps = NULL;
    struct wire_field v;
    bool fine = d->depth < DEPTH_LIMIT;

    if (!fine)
        return false;
    d->depth++;
    while (fine && wire_next(&w, &v))
        fine = v.number && decode_one(d, fields, more, inside, &v, &maps, into);
    d->depth--;
    return fine && !w.bad && !arena_failed(d->arena);
}

/* Unknown{1 TypeMeta{1 apiVersion, 2 kind}, 2 the object} */
static const struct field type_fields[] = {
    {.name = "apiVersion", .type = FIELD_STRING, .number = 1},
    {.name = "kind", .type = FIELD_STRING, .number = 2},
    {0}};

static bool decode_envelope(struct decoder *d, struct wire w, struct json *object,
                            struct wire_field *ret_raw)
{
    struct wire_field v;

    while (wire_next(&w, &v)) {
        if (v.number == 0)
            return false;
        if (v.number == 1 &&
            (v.type != WIRE_BYTES || !decode_fields(d, inner(&v), type_fields, NULL, 0, object)))
            return false;
        if (v.number == 2 && v.type == WIRE_BYTES)
            *ret_raw = v;
    }
    return !w.bad;
}

struct json *protobuf_parse(struct arena *a, const struct kind *k, const char *data, size_t len,
                            warning_fn *warn, void *arg, struct err *err)
{
    struct decoder d = {.arena = a, .warn = warn, .warn_arg = arg};
    struct json *object = json_new_object(a);
    struct wire_field raw = {.data = NULL};
    bool fine;

    if (!k || !protobuf_speaks(k)) {
        err_set(err, ERR_UNSUPPORTED_MEDIA,
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json, application/yaml");
        return NULL;
    }
    fine = protobuf_is(data, len) &&
           decode_envelope(&d, wire_of(data + sizeof(PROTOBUF_MAGIC), len - sizeof(PROTOBUF_MAGIC)),
                           object, &raw);
    if (fine && raw.data && strcmp(json_get_string(object, "kind", k->name), k->name) == 0)
        fine = decode_fields(&d, inner(&raw), k->fields, object_common_fields, 0, object);
    if (arena_failed(a))
        err_set(err, ERR_UNAVAILABLE, "out of memory");
    else if (!fine)
        err_set(err, ERR_BAD_REQUEST, "the body of the request is not valid protobuf");
    return fine && !arena_failed(a) ? object : NULL;
}

struct json *protobuf_parse_event(struct arena *a, const struct kind *k, const char *data,
                                  size_t len, struct err *err)
{
    struct decoder d = {.arena = a};
    struct wire w = wire_of(data, len);
    struct json *event = json_new_object(a);
    struct wire_field v, object = {.data = NULL};

    while (wire_next(&w, &v)) {
        if (v.number == 1 && v.type == WIRE_BYTES)
            json_set(a, event, "type", new_text(&d, &v));
        if (v.number == 2 && v.type == WIRE_BYTES)
            object = first_bytes(&v);
    }
    if (w.bad || !object.data) {
        err_set(err, ERR_BAD_REQUEST, "a frame of the watch is not valid protobuf");
        return NULL;
    }
    if (json_string_is(json_get(event, "type"), "ERROR"))
        k = &kind_status;
    json_set(a, event, "object",
             protobuf_parse(a, k, (const char *)object.data, object.len, NULL, NULL, err));
    return json_get(event, "object") ? event : NULL;
}
