/*
 * managed.c - see api/managed.h. Managers are encoded as text, separated by "|"; each consists of
 * its name, the first letter of its operation and its subresource, and the time of its last write,
 * separated by ";", and when stored, of its fields.
 */
#include "api/managed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/objects/fields_v1.h"
#include "base/percent.h"
#include "base/timefmt.h"

#define MANAGED_TEXT_LIMIT (8u * 1024u * 1024u)
#define UPDATERS_LIMIT 10u /* beyond this, the oldest are merged into one */
#define OLDEST_NAME "ancient-changes"

struct manager {
    const char *name, *subresource;
    char operation; /* 'A' or 'U' */
    int64_t time_s; /* of its last write; 0: unknown */
};

struct managers {
    struct manager all[MANAGED_LIMIT];
    unsigned count;
};

_Static_assert(MANAGED_LIMIT <= FIELDS_OWNERS, "each has a bit");

static uint16_t bit(unsigned i)
{
    return (uint16_t)(1u << i);
}

/* --- texts ------------------------------------------------------------------------------------ */

enum part { NAME, ROLE, TIME, FIELDS, PARTS };

struct span {
    const char *at;
    size_t len;
};

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

/* False: malformed, or out of memory. */
static bool read_manager(struct arena *a, const struct span parts[PARTS], struct manager *ret)
{
    const struct span *role = &parts[ROLE], *time = &parts[TIME];
    char digits[16] = "";

    if (!role->len || (*role->at != 'A' && *role->at != 'U') || time->len >= sizeof(digits))
        return false;
    memcpy(digits, time->at, time->len);
    ret->operation = *role->at;
    ret->time_s = strtoll(digits, NULL, 10);
    ret->name = percent_decode(a, parts[NAME].at, parts[NAME].len);
    ret->subresource = percent_decode(a, role->at + 1, role->len - 1);
    return ret->name && ret->subresource;
}

static struct managers read_text(struct arena *a, const char *text, size_t len)
{
    struct span rest = {.at = text, .len = len}, parts[PARTS];
    struct managers m = {.count = 0};

    while (m.count < MANAGED_LIMIT && next_entry(&rest, parts))
        if (read_manager(a, parts, &m.all[m.count]))
            m.count++;
        else
            return (struct managers){.count = 0};
    return m;
}

static const char *text_of(const struct json *object)
{
    return json_string(json_at(object, "metadata", "managedFields"), "");
}

static struct managers managers_of(struct arena *a, const struct json *object)
{
    return read_text(a, text_of(object), strlen(text_of(object)));
}

static void write_manager(struct buf *out, const struct manager *m)
{
    if (out->len)
        buf_addc(out, '|');
    percent_encode(out, m->name);
    buf_addf(out, ";%c", m->operation);
    percent_encode(out, m->subresource);
    buf_addc(out, ';');
    if (m->time_s)
        buf_addf(out, "%" PRId64, m->time_s);
}

static void set_managers(struct arena *a, struct json *object, const struct managers *m)
{
    struct buf out = BUF_INIT(MANAGED_TEXT_LIMIT);

    for (unsigned i = 0; i < m->count; i++)
        write_manager(&out, &m->all[i]);
    managed_clear(object);
    if (out.len && !out.failed)
        json_set_string(a, json_make_object(a, object, "metadata"), "managedFields", out.data);
    buf_release(&out);
}

bool managed_is_empty(const struct json *object)
{
    return !*text_of(object);
}

void managed_clear(struct json *object)
{
    json_remove(json_get_mut(object, "metadata"), "managedFields");
}

void managed_store(struct buf *out, struct json *object)
{
    struct span rest = {.at = text_of(object), .len = strlen(text_of(object))}, parts[PARTS];

    for (unsigned i = 0; i < MANAGED_LIMIT && next_entry(&rest, parts); i++) {
        if (i)
            buf_addc(out, '|');
        buf_add(out, parts[NAME].at, (size_t)(parts[FIELDS].at - parts[NAME].at));
        buf_addc(out, ';');
        fields_store(out, object, bit(i));
    }
}

void managed_load(struct arena *a, struct json *object, const char *text, size_t len)
{
    struct span rest = {.at = text, .len = len}, parts[PARTS];
    const struct managers m = read_text(a, text, len);

    for (unsigned i = 0; i < m.count && next_entry(&rest, parts); i++)
        fields_load(object, parts[FIELDS].at, parts[FIELDS].len, bit(i));
    set_managers(a, object, &m);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void write_entry(struct buf *out, const struct kind *k, const struct json *object,
                        const struct manager *m, uint16_t owner)
{
    char time[TIME_TEXT_SIZE];

    buf_adds(out, "{\"manager\":");
    json_write_string(out, m->name, strlen(m->name));
    buf_addf(out, ",\"operation\":\"%s\",\"apiVersion\":\"%s%s%s\"",
             m->operation == 'A' ? "Apply" : "Update", k->group, *k->group ? "/" : "", k->version);
    if (m->time_s)
        buf_addf(out, ",\"time\":\"%s\"", time_format(m->time_s * 1000, time));
    buf_adds(out, ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
    fields_show(out, k, object, owner);
    if (*m->subresource) {
        buf_adds(out, ",\"subresource\":");
        json_write_string(out, m->subresource, strlen(m->subresource));
    }
    buf_addc(out, '}');
}

void managed_write(struct buf *out, struct arena *a, const struct kind *k,
                   const struct json *object)
{
    const struct managers m = managers_of(a, object);

    buf_addc(out, '[');
    for (unsigned i = 0; i < m.count; i++) {
        if (i)
            buf_addc(out, ',');
        write_entry(out, k, object, &m.all[i], bit(i));
    }
    buf_addc(out, ']');
}

struct json *managed_list(struct arena *a, const struct kind *k, const struct json *object)
{
    struct buf text = BUF_INIT(MANAGED_TEXT_LIMIT);
    struct json *list;

    managed_write(&text, a, k, object);
    list = text.failed ? NULL : json_parse(a, text.data, text.len, NULL);
    buf_release(&text);
    return list;
}

void managed_show(struct arena *a, const struct kind *k, struct json *object)
{
    struct json *list = managed_is_empty(object) ? NULL : managed_list(a, k, object);

    if (list)
        json_set(a, json_get_mut(object, "metadata"), "managedFields", list);
}

static bool read_entry(const struct json *entry, struct manager *ret)
{
    const struct json *operation = json_get(entry, "operation");
    const char *time = json_get_string(entry, "time", "");
    int64_t ms = 0;

    if ((!json_string_is(operation, "Apply") && !json_string_is(operation, "Update")) ||
        !*json_get_string(entry, "apiVersion", "") ||
        !json_string_is(json_get(entry, "fieldsType"), "FieldsV1") ||
        !fields_is_tree(json_get(entry, "fieldsV1")) || (*time && time_parse(time, &ms) < 0))
        return false;
    *ret = (struct manager){.name = json_get_string(entry, "manager", ""),
                            .subresource = json_get_string(entry, "subresource", ""),
                            .operation = operation->u.text[0],
                            .time_s = ms / 1000};
    return true;
}

bool managed_fits(const struct json *list)
{
    struct buf text = BUF_INIT(MANAGED_LIMIT_MIB * 1024 * 1024);
    bool fits;

    json_write(&text, list);
    fits = !text.failed;
    buf_release(&text);
    return fits;
}

bool managed_is_same(struct arena *a, const struct kind *k, const struct json *x,
                     const struct json *y)
{
    struct buf texts[2] = {BUF_INIT(MANAGED_TEXT_LIMIT), BUF_INIT(MANAGED_TEXT_LIMIT)};
    bool same;

    managed_write(&texts[0], a, k, x);
    managed_write(&texts[1], a, k, y);
    same = !texts[0].failed && !texts[1].failed && texts[0].len == texts[1].len &&
           memcmp(texts[0].data, texts[1].data, texts[0].len) == 0;
    buf_release(&texts[0]);
    buf_release(&texts[1]);
    return same;
}

bool managed_take(struct arena *a, const struct kind *k, struct json *object,
                  const struct json *list)
{
    struct managers m = {.count = 0};

    if (!managed_fits(list))
        return false;
    json_each (entry, list)
        if (m.count == MANAGED_LIMIT || !read_entry(entry, &m.all[m.count++]))
            return false;
    fields_disown(object);
    m.count = 0;
    json_each (entry, list)
        fields_match(a, k, object, json_get(entry, "fieldsV1"), bit(m.count++));
    set_managers(a, object, &m);
    return true;
}

/* --- writes ----------------------------------------------------------------------------------- */

static bool is_oldest(const struct manager *m)
{
    return m->operation == 'U' && strcmp(m->name, OLDEST_NAME) == 0;
}

/* Writers choose their names, and each name is an entry: the oldest of too many are merged into
 * one. to[i]: the new bit of manager i, 0 for none. */
static void join_oldest(struct managers *m, unsigned limit, uint16_t to[FIELDS_OWNERS])
{
    for (;;) {
        unsigned count = 0, oldest = MANAGED_LIMIT, joined = MANAGED_LIMIT;

        for (unsigned i = 0; i < m->count; i++) {
            if (to[i] != bit(i) || m->all[i].operation != 'U')
                continue;
            count++;
            if (is_oldest(&m->all[i]))
                joined = i;
            else if (oldest == MANAGED_LIMIT || m->all[i].time_s < m->all[oldest].time_s)
                oldest = i;
        }
        if (count <= limit || oldest == MANAGED_LIMIT)
            return;
        if (joined == MANAGED_LIMIT) {
            m->all[oldest].name = OLDEST_NAME;
            m->all[oldest].subresource = "";
        } else {
            to[oldest] = bit(joined);
        }
    }
}

/* Drops managers without fields, and merges the oldest. */
static void tidy(struct managers *m, struct json *object, unsigned limit)
{
    uint16_t to[FIELDS_OWNERS] = {0}, used = fields_owners(object), at[FIELDS_OWNERS];
    struct managers kept = {.count = 0};

    for (unsigned i = 0; i < m->count; i++)
        to[i] = used & bit(i);
    join_oldest(m, limit, to);
    for (unsigned i = 0; i < m->count; i++) {
        at[i] = to[i] == bit(i) ? bit(kept.count) : 0;
        if (to[i] == bit(i))
            kept.all[kept.count++] = m->all[i];
    }
    if (kept.count == m->count)
        return;
    for (unsigned i = 0; i < m->count; i++)
        to[i] = to[i] ? at[__builtin_ctz(to[i])] : 0;
    fields_map_owners(object, to);
    *m = kept;
}

static bool is_of(const struct manager *m, const struct apply *update)
{
    return m->operation == update->operation[0] && strcmp(m->name, update->manager) == 0 &&
           strcmp(m->subresource, update->subresource) == 0;
}

/* Its bit; 0: there is no room for another. */
static uint16_t find_manager(struct managers *m, const struct apply *update)
{
    for (unsigned i = 0; i < m->count; i++)
        if (is_of(&m->all[i], update))
            return bit(i);
    if (m->count == MANAGED_LIMIT)
        return 0;
    m->all[m->count] = (struct manager){.name = update->manager,
                                        .subresource = update->subresource,
                                        .operation = update->operation[0]};
    return bit(m->count++);
}

void managed_track(struct arena *a, const struct apply *update, const struct json *old,
                   struct json *next)
{
    const struct fields_part part = {
        .kind = update->kind, .status = strcmp(update->subresource, "status") == 0, .nodes = true};
    struct managers m = managers_of(a, old);
    uint16_t owner = 0;
    bool changed = true;

    if (m.count == MANAGED_LIMIT) {
        struct json *before = json_clone(a, old);

        tidy(&m, before, UPDATERS_LIMIT - 1);
        old = before;
    }
    if (update->manager)
        owner = find_manager(&m, update);
    if (old)
        changed = fields_follow(a, &part, old, next, owner);
    else
        fields_mark(&part, next, owner);
    if (changed && owner)
        m.all[__builtin_ctz(owner)].time_s = update->now_ms / 1000;
    tidy(&m, next, UPDATERS_LIMIT);
    set_managers(a, next, &m);
}
