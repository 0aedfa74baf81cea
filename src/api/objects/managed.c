/* managed.c - see api/managed.h. */
#include "api/managed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/objects/fields_v1.h"
#include "base/timefmt.h"

#define MANAGED_TEXT_LIMIT (8u * 1024u * 1024u)

enum part { MANAGER, OPERATION, SUBRESOURCE, API_VERSION, TIME, FIELDS, PARTS };

/* --- words: "%XX" for what means something else here ----------------------------------------- */

static void add_word(struct buf *out, const char *word)
{
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;

        if (c < ' ' || c == 0x7f || strchr("%;|\"\\", c))
            buf_addf(out, "%%%02X", c);
        else
            buf_addc(out, (char)c);
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

struct span {
    const char *at;
    size_t len;
};

static void read_word(struct buf *out, struct span word)
{
    buf_clear(out);
    for (size_t i = 0; i < word.len; i++) {
        int high = word.at[i] == '%' && i + 2 < word.len ? hex_value(word.at[i + 1]) : -1;
        int low = high >= 0 ? hex_value(word.at[i + 2]) : -1;

        if (low >= 0)
            i += 2;
        if (high == 0 && low == 0)
            continue;
        buf_addc(out, (char)(low >= 0 ? high << 4 | low : word.at[i]));
    }
    if (!out->len)
        buf_add(out, "", 0);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* The next of *rest, cut into its parts; false at the end. */
static bool next_entry(struct span *rest, struct span parts[PARTS])
{
    const char *end, *at = rest->at;

    if (!rest->len)
        return false;
    end = memchr(at, '|', rest->len);
    if (!end)
        end = at + rest->len;
    for (int i = 0; i < PARTS; i++) {
        const char *stop = i == FIELDS ? end : memchr(at, ';', (size_t)(end - at));

        if (!stop)
            stop = end;
        parts[i] = (struct span){.at = at, .len = (size_t)(stop - at)};
        at = stop < end ? stop + 1 : end;
    }
    rest->len -= (size_t)(end - rest->at);
    rest->at = end;
    if (rest->len) {
        rest->at++;
        rest->len--;
    }
    return true;
}

static bool is_operation(const struct json *v)
{
    return json_string_is(v, "Apply") || json_string_is(v, "Update");
}

static bool pack_entry(struct buf *out, const struct json *entry)
{
    const char *time = json_get_string(entry, "time", "");
    int64_t ms = 0;

    if (!is_operation(json_get(entry, "operation")) || !*json_get_string(entry, "apiVersion", "") ||
        !json_string_is(json_get(entry, "fieldsType"), "FieldsV1") ||
        !json_is(json_get(entry, "fieldsV1"), JSON_OBJECT) || (*time && time_parse(time, &ms) < 0))
        return false;
    add_word(out, json_get_string(entry, "manager", ""));
    buf_addf(out, ";%c;", json_get_string(entry, "operation", "")[0]);
    add_word(out, json_get_string(entry, "subresource", ""));
    buf_addc(out, ';');
    add_word(out, json_get_string(entry, "apiVersion", ""));
    buf_addc(out, ';');
    if (*time)
        buf_addf(out, "%" PRId64, ms / 1000);
    buf_addc(out, ';');
    return fields_pack(out, json_get(entry, "fieldsV1"));
}

const char *managed_pack(struct arena *a, const struct json *list)
{
    struct buf out = BUF_INIT(MANAGED_TEXT_LIMIT);
    const char *text = NULL;
    bool good = true;

    json_each (entry, list) {
        if (out.len)
            buf_addc(&out, '|');
        good = good && pack_entry(&out, entry);
    }
    if (good && !out.failed)
        text = arena_strndup(a, out.data ? out.data : "", out.len);
    buf_release(&out);
    return text;
}

static const char *time_text(struct span part, char out[TIME_TEXT_SIZE])
{
    char digits[13];

    if (!part.len || part.len >= sizeof(digits))
        return "";
    memcpy(digits, part.at, part.len);
    digits[part.len] = '\0';
    return time_format(strtoll(digits, NULL, 10) * 1000, out);
}

static void set_word(struct arena *a, struct json *entry, const char *key, struct span part,
                     struct buf *scratch)
{
    read_word(scratch, part);
    json_set(a, entry, key,
             json_new_string_len(a, scratch->data ? scratch->data : "", scratch->len));
}

struct json *managed_unpack(struct arena *a, const char *text, size_t len)
{
    struct span rest = {.at = text, .len = len}, parts[PARTS];
    struct json *list = json_new_array(a);
    struct buf scratch = BUF_INIT(MANAGED_TEXT_LIMIT);
    char time[TIME_TEXT_SIZE];

    while (next_entry(&rest, parts)) {
        struct json *fields = fields_unpack(a, parts[FIELDS].at, parts[FIELDS].len);
        struct json *entry = fields ? json_append(list, json_new_object(a)) : NULL;
        const char *at = time_text(parts[TIME], time);

        if (!entry)
            continue;
        set_word(a, entry, "manager", parts[MANAGER], &scratch);
        json_set_string(a, entry, "operation",
                        parts[OPERATION].len && parts[OPERATION].at[0] == 'A' ? "Apply" : "Update");
        set_word(a, entry, "apiVersion", parts[API_VERSION], &scratch);
        if (*at)
            json_set_string(a, entry, "time", at);
        json_set_string(a, entry, "fieldsType", "FieldsV1");
        json_set(a, entry, "fieldsV1", fields);
        if (parts[SUBRESOURCE].len)
            set_word(a, entry, "subresource", parts[SUBRESOURCE], &scratch);
    }
    buf_release(&scratch);
    return list;
}

static void write_word(struct buf *out, const char *key, struct span part, struct buf *scratch)
{
    read_word(scratch, part);
    buf_addf(out, "\"%s\":", key);
    json_write_string(out, scratch->data ? scratch->data : "", scratch->len);
}

void managed_write(struct buf *out, const char *text, size_t len)
{
    struct span rest = {.at = text, .len = len}, parts[PARTS];
    struct buf scratch = BUF_INIT(MANAGED_TEXT_LIMIT);
    char time[TIME_TEXT_SIZE];
    bool first = true;

    buf_addc(out, '[');
    while (next_entry(&rest, parts)) {
        const char *at = time_text(parts[TIME], time);

        buf_adds(out, first ? "{" : ",{");
        first = false;
        write_word(out, "manager", parts[MANAGER], &scratch);
        buf_adds(out, parts[OPERATION].len && parts[OPERATION].at[0] == 'A'
                          ? ",\"operation\":\"Apply\","
                          : ",\"operation\":\"Update\",");
        write_word(out, "apiVersion", parts[API_VERSION], &scratch);
        if (*at)
            buf_addf(out, ",\"time\":\"%s\"", at);
        buf_adds(out, ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
        fields_expand(out, parts[FIELDS].at, parts[FIELDS].len);
        if (parts[SUBRESOURCE].len) {
            buf_addc(out, ',');
            write_word(out, "subresource", parts[SUBRESOURCE], &scratch);
        }
        buf_addc(out, '}');
    }
    buf_addc(out, ']');
    buf_release(&scratch);
}

/* --- objects ---------------------------------------------------------------------------------- */

const char *managed_text(const struct json *object)
{
    return json_string(json_at(object, "metadata", "managedFields"), "");
}

void managed_set_text(struct arena *a, struct json *object, const char *text)
{
    struct json *meta = json_make_object(a, object, "metadata");

    json_remove(meta, "managedFields");
    if (text && *text)
        json_set_string(a, meta, "managedFields", text);
}

void managed_show(struct arena *a, struct json *object)
{
    const struct json *v = json_at(object, "metadata", "managedFields");

    if (json_is(v, JSON_STRING))
        json_set(a, json_get_mut(object, "metadata"), "managedFields",
                 managed_unpack(a, v->u.text, v->len));
}

void managed_hide(struct arena *a, struct json *object)
{
    const struct json *v = json_at(object, "metadata", "managedFields");

    if (v && !json_is(v, JSON_STRING))
        managed_set_text(a, object, managed_pack(a, v));
}
