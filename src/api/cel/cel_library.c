/* cel_library.c - the functions expressions can call. Positions in strings count characters. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/cel/cel_node.h"
#include "api/pattern.h"
#include "api/quantity.h"
#include "base/base64.h"
#include "base/timefmt.h"

#define BIT(type) (1u << (type))
#define TEXT_LIMIT (4u * 1024u * 1024u)

static struct cel_value wrong_type(struct cel_state *s, struct cel_value v)
{
    return cel_fail(s, "no such overload for '%s'", cel_type_name(v.type));
}

static struct cel_value no_memory(struct cel_state *s)
{
    return cel_fail(s, "out of memory");
}

static struct cel_value too_costly(struct cel_state *s)
{
    return cel_fail(s, "the expression costs too much: cost limit exceeded");
}

static struct cel_value text_of(struct cel_state *s, const char *text, size_t len)
{
    const char *copy = arena_strndup(s->arena, text, len);

    return copy ? (struct cel_value){.type = CEL_STRING, .text = copy, .len = len} : no_memory(s);
}

static struct cel_value taken(struct cel_state *s, struct buf *b)
{
    struct cel_value v = b->failed ? no_memory(s) : text_of(s, b->data ? b->data : "", b->len);

    buf_release(b);
    return v;
}

static bool is_string(struct cel_value v)
{
    return v.type == CEL_STRING;
}

static struct cel_value list_of(struct cel_state *s, size_t room)
{
    struct cel_value v = {.type = CEL_LIST};

    v.items = arena_alloc(s->arena, (room + 1) * sizeof(*v.items));
    return v.items ? v : no_memory(s);
}

/* --- characters --------------------------------------------------------------------------- */

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t count_characters(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += begins_character(text[i]);
    return n;
}

/* Byte offset of the n-th character; the length for the one past the last. SIZE_MAX: beyond. */
static size_t place_of(struct cel_value v, int64_t n)
{
    size_t i = 0;

    if (n < 0)
        return SIZE_MAX;
    for (; i < v.len && n > 0; n--)
        for (i++; i < v.len && !begins_character(v.text[i]);)
            i++;
    return n ? SIZE_MAX : i;
}

/* --- sizes and conversions ---------------------------------------------------------------- */

static struct cel_value fn_size(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    if (is_string(args[0]))
        return cel_pay(s, args[0].len / 10)
                   ? cel_int((int64_t)count_characters(args[0].text, args[0].len))
                   : too_costly(s);
    if (args[0].type == CEL_BYTES || args[0].type == CEL_LIST || args[0].type == CEL_MAP)
        return cel_int((int64_t)args[0].len);
    return wrong_type(s, args[0]);
}

static bool whole_number(const char *text, int64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoll(text, &end, 10);
    return end > text && !*end && !errno && !isspace((unsigned char)*text);
}

static struct cel_value fn_int(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = args[0];
    int64_t i;

    (void)n;
    switch ((int)v.type) {
    case CEL_INT:
        return v;
    case CEL_UINT:
        return v.u <= INT64_MAX ? cel_int((int64_t)v.u) : cel_fail(s, "integer overflow");
    case CEL_DOUBLE:
        return v.d > -9.2e18 && v.d < 9.2e18 ? cel_int((int64_t)v.d)
                                             : cel_fail(s, "integer overflow");
    case CEL_STRING:
        return whole_number(v.text, &i) ? cel_int(i)
                                        : cel_fail(s, "'%.64s' is no whole number", v.text);
    case CEL_TIMESTAMP:
        return cel_int(v.i / 1000);
    default:
        return wrong_type(s, v);
    }
}

static struct cel_value fn_uint(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = args[0].type == CEL_UINT ? args[0] : fn_int(s, args, n);

    if (v.type == CEL_INT && v.i < 0)
        return cel_fail(s, "unsigned integer overflow");
    if (v.type == CEL_INT)
        v = (struct cel_value){.type = CEL_UINT, .u = (uint64_t)v.i};
    return v;
}

static struct cel_value fn_double(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = args[0];
    char *end;
    double d;

    (void)n;
    switch ((int)v.type) {
    case CEL_DOUBLE:
        return v;
    case CEL_INT:
        return (struct cel_value){.type = CEL_DOUBLE, .d = (double)v.i};
    case CEL_UINT:
        return (struct cel_value){.type = CEL_DOUBLE, .d = (double)v.u};
    case CEL_STRING:
        d = strtod(v.text, &end);
        return v.len && !*end ? (struct cel_value){.type = CEL_DOUBLE, .d = d}
                              : cel_fail(s, "'%.64s' is no number", v.text);
    default:
        return wrong_type(s, v);
    }
}

static void add_duration(struct buf *out, int64_t ms)
{
    if (ms % 1000)
        buf_addf(out, "%s%" PRId64 ".%03ds", ms < 0 && ms > -1000 ? "-" : "", ms / 1000,
                 abs((int)(ms % 1000)));
    else
        buf_addf(out, "%" PRId64 "s", ms / 1000);
}

static struct cel_value fn_string(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct buf out = BUF_INIT(TEXT_LIMIT);
    struct cel_value v = args[0];
    char time[TIME_TEXT_SIZE];

    (void)n;
    switch ((int)v.type) {
    case CEL_STRING:
        return v;
    case CEL_BOOL:
        buf_adds(&out, v.b ? "true" : "false");
        break;
    case CEL_INT:
        buf_addf(&out, "%" PRId64, v.i);
        break;
    case CEL_UINT:
        buf_addf(&out, "%" PRIu64, v.u);
        break;
    case CEL_DOUBLE:
        buf_addf(&out, "%.15g", v.d);
        break;
    case CEL_BYTES:
    case CEL_URL:
    case CEL_TYPE:
        return text_of(s, v.text, v.len);
    case CEL_TIMESTAMP:
        buf_adds(&out, v.i % 1000 ? time_format_micro(v.i, time) : time_format(v.i, time));
        break;
    case CEL_DURATION:
        add_duration(&out, v.i);
        break;
    case CEL_QUANTITY:
        buf_adds(&out, v.written);
        break;
    default:
        return wrong_type(s, v);
    }
    return taken(s, &out);
}

static struct cel_value fn_bool(struct cel_state *s, struct cel_value *args, size_t n)
{
    static const char *const yes[] = {"true", "True", "TRUE", "t", "1"};
    static const char *const no[] = {"false", "False", "FALSE", "f", "0"};

    (void)n;
    if (args[0].type == CEL_BOOL)
        return args[0];
    for (size_t i = 0; is_string(args[0]) && i < ELEMS(yes); i++)
        if (strcmp(args[0].text, yes[i]) == 0 || strcmp(args[0].text, no[i]) == 0)
            return cel_bool(strcmp(args[0].text, yes[i]) == 0);
    return wrong_type(s, args[0]);
}

static struct cel_value fn_bytes(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = args[0];

    (void)n;
    if (v.type != CEL_STRING && v.type != CEL_BYTES)
        return wrong_type(s, v);
    v.type = CEL_BYTES;
    return v;
}

static struct cel_value fn_base64_decode(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = {.type = CEL_BYTES};

    (void)n;
    v.text = base64_decode(s->arena, args[0].text, args[0].len, &v.len);
    return v.text ? v : cel_fail(s, "the text is not base64");
}

static struct cel_value fn_dyn(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return args[0];
}

static struct cel_value fn_type(struct cel_state *s, struct cel_value *args, size_t n)
{
    const char *name = cel_type_name(args[0].type);

    (void)n;
    return args[0].type == CEL_ERROR
               ? wrong_type(s, args[0])
               : (struct cel_value){.type = CEL_TYPE, .text = name, .len = strlen(name)};
}

/* --- times -------------------------------------------------------------------------------- */

static struct cel_value fn_timestamp(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = {.type = CEL_TIMESTAMP};

    (void)n;
    if (args[0].type == CEL_TIMESTAMP)
        return args[0];
    if (args[0].type == CEL_INT && args[0].i > -INT64_C(62135596801) &&
        args[0].i < INT64_C(253402300800)) {
        v.i = args[0].i * 1000;
        return v;
    }
    if (!is_string(args[0]) || time_parse(args[0].text, &v.i) < 0)
        return cel_fail(s, "not a time: write 2026-01-31T15:04:05Z");
    return v;
}

/* "1h30m", "1.5s", "-3ms", as Go writes them. */
static bool parse_duration(const char *text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}};
    bool minus = *text == '-', any = false;
    double sum = 0;

    text += *text == '-' || *text == '+';
    if (strcmp(text, "0") == 0) {
        *ret_ms = 0;
        return true;
    }
    while (*text) {
        double value;
        char *end;
        size_t i = 0, len;

        if (!strchr("0123456789.", *text) || text[strspn(text, "0123456789.")] == '\0')
            return false;
        value = strtod(text, &end);
        len = strspn(end, "nusmh");
        if (end == text || *end == 'e' || *end == 'E')
            return false;
        while (i < ELEMS(units) &&
               (strlen(units[i].unit) != len || strncmp(units[i].unit, end, len) != 0))
            i++;
        if (i == ELEMS(units))
            return false;
        sum += value * units[i].ms;
        text = end + len;
        any = true;
    }
    if (!any || sum > 9e15)
        return false;
    *ret_ms = (int64_t)(minus ? -sum : sum);
    return true;
}

static struct cel_value fn_duration(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = {.type = CEL_DURATION};

    (void)n;
    if (args[0].type == CEL_DURATION)
        return args[0];
    if (!is_string(args[0]) || !parse_duration(args[0].text, &v.i))
        return cel_fail(s, "not a duration: write 1h30m or 90s");
    return v;
}

static struct cel_value time_part(struct cel_state *s, const struct cel_value *args, size_t n,
                                  int (*part)(const struct tm *tm))
{
    time_t seconds = (time_t)(args[0].i / 1000 - (args[0].i % 1000 < 0));
    struct tm tm;

    if (n > 1 && (!is_string(args[1]) || strcmp(args[1].text, "UTC") != 0))
        return cel_fail(s, "only the time zone UTC is known here");
    return gmtime_r(&seconds, &tm) ? cel_int(part(&tm)) : cel_fail(s, "the time is out of range");
}

#define TIME_PART(name, value)                                                                     \
    static int name##_part(const struct tm *tm)                                                    \
    {                                                                                              \
        return value;                                                                              \
    }                                                                                              \
    static struct cel_value fn_##name(struct cel_state *s, struct cel_value *args, size_t n)       \
    {                                                                                              \
        return time_part(s, args, n, name##_part);                                                 \
    }

TIME_PART(year, tm->tm_year + 1900)
TIME_PART(month, tm->tm_mon)
TIME_PART(day_of_year, tm->tm_yday)
TIME_PART(day_of_month, tm->tm_mday - 1)
TIME_PART(date, tm->tm_mday)
TIME_PART(day_of_week, tm->tm_wday)

#define TIME_OR_DURATION(name, value, ms)                                                          \
    static int name##_part(const struct tm *tm)                                                    \
    {                                                                                              \
        return value;                                                                              \
    }                                                                                              \
    static struct cel_value fn_##name(struct cel_state *s, struct cel_value *args, size_t n)       \
    {                                                                                              \
        return args[0].type == CEL_DURATION ? cel_int(args[0].i / (ms))                            \
                                            : time_part(s, args, n, name##_part);                  \
    }

TIME_OR_DURATION(hours, tm->tm_hour, 3600000)
TIME_OR_DURATION(minutes, tm->tm_min, 60000)
TIME_OR_DURATION(seconds, tm->tm_sec, 1000)

static struct cel_value fn_milliseconds(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return cel_int(args[0].type == CEL_DURATION ? args[0].i % 1000
                                                : (args[0].i % 1000 + 1000) % 1000);
}

/* --- strings ------------------------------------------------------------------------------ */

static const char *find_text(struct cel_value in, size_t from, struct cel_value what)
{
    return from <= in.len ? memmem(in.text + from, in.len - from, what.text, what.len) : NULL;
}

static struct cel_value fn_contains(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    if (!is_string(args[1]))
        return wrong_type(s, args[1]);
    return cel_pay(s, args[0].len / 10) ? cel_bool(find_text(args[0], 0, args[1]) != NULL)
                                        : too_costly(s);
}

static struct cel_value fn_starts_with(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    if (!is_string(args[1]))
        return wrong_type(s, args[1]);
    return cel_bool(args[1].len <= args[0].len &&
                    memcmp(args[0].text, args[1].text, args[1].len) == 0);
}

static struct cel_value fn_ends_with(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    if (!is_string(args[1]))
        return wrong_type(s, args[1]);
    return cel_bool(args[1].len <= args[0].len && memcmp(args[0].text + args[0].len - args[1].len,
                                                         args[1].text, args[1].len) == 0);
}

static struct cel_value fn_char_at(struct cel_state *s, struct cel_value *args, size_t n)
{
    size_t at, end;

    (void)n;
    if (args[1].type != CEL_INT)
        return wrong_type(s, args[1]);
    at = place_of(args[0], args[1].i);
    end = place_of(args[0], args[1].i + 1);
    if (at == SIZE_MAX)
        return cel_fail(s, "index out of range: %" PRId64, args[1].i);
    return text_of(s, args[0].text + at, at < args[0].len ? end - at : 0);
}

static struct cel_value list_index(struct cel_state *s, struct cel_value *args, bool last)
{
    int64_t found = -1;

    if (!cel_open(s, &args[0]))
        return too_costly(s);
    for (size_t i = 0; i < args[0].len && (last || found < 0); i++)
        if (cel_equal(s, args[0].items[i], args[1]))
            found = (int64_t)i;
    return cel_int(found);
}

static struct cel_value fn_index_of(struct cel_state *s, struct cel_value *args, size_t n)
{
    size_t from = 0;
    const char *found;

    if (args[0].type == CEL_LIST)
        return n == 2 ? list_index(s, args, false) : wrong_type(s, args[0]);
    if (!is_string(args[1]) || (n > 2 && args[2].type != CEL_INT))
        return wrong_type(s, args[1]);
    if (n > 2)
        from = place_of(args[0], args[2].i);
    if (from == SIZE_MAX || !cel_pay(s, args[0].len / 10))
        return cel_fail(s, "index out of range");
    found = find_text(args[0], from, args[1]);
    return cel_int(found ? (int64_t)count_characters(args[0].text, (size_t)(found - args[0].text))
                         : -1);
}

static struct cel_value fn_last_index_of(struct cel_state *s, struct cel_value *args, size_t n)
{
    size_t most;
    int64_t found = -1;

    if (args[0].type == CEL_LIST)
        return n == 2 ? list_index(s, args, true) : wrong_type(s, args[0]);
    if (!is_string(args[1]) || (n > 2 && args[2].type != CEL_INT))
        return wrong_type(s, args[1]);
    most = n > 2 ? place_of(args[0], args[2].i) : args[0].len;
    if (most == SIZE_MAX || !cel_pay(s, args[0].len))
        return cel_fail(s, "index out of range");
    for (size_t i = 0; i <= most && i + args[1].len <= args[0].len; i++)
        if (memcmp(args[0].text + i, args[1].text, args[1].len) == 0)
            found = (int64_t)count_characters(args[0].text, i);
    return cel_int(found);
}

static struct cel_value change_case(struct cel_state *s, struct cel_value v, char from, char to)
{
    char *copy = arena_strndup(s->arena, v.text, v.len);

    if (!copy || !cel_pay(s, v.len / 10))
        return no_memory(s);
    for (size_t i = 0; i < v.len; i++)
        if (copy[i] >= from && copy[i] <= from + ('z' - 'a'))
            copy[i] = (char)(copy[i] + (to - from));
    v.text = copy;
    return v;
}

static struct cel_value fn_lower(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return change_case(s, args[0], 'A', 'a');
}

static struct cel_value fn_upper(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return change_case(s, args[0], 'a', 'A');
}

static struct cel_value fn_trim(struct cel_state *s, struct cel_value *args, size_t n)
{
    size_t start = 0, end = args[0].len;

    (void)n;
    while (start < end && isspace((unsigned char)args[0].text[start]))
        start++;
    while (end > start && isspace((unsigned char)args[0].text[end - 1]))
        end--;
    return text_of(s, args[0].text + start, end - start);
}

static struct cel_value fn_substring(struct cel_state *s, struct cel_value *args, size_t n)
{
    size_t start, end;

    if (args[1].type != CEL_INT || (n > 2 && args[2].type != CEL_INT))
        return wrong_type(s, args[1]);
    start = place_of(args[0], args[1].i);
    end = n > 2 ? place_of(args[0], args[2].i) : args[0].len;
    if (start == SIZE_MAX || end == SIZE_MAX || start > end)
        return cel_fail(s, "index out of range");
    return text_of(s, args[0].text + start, end - start);
}

static struct cel_value fn_replace(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct buf out = BUF_INIT(TEXT_LIMIT);
    int64_t left = n > 3 ? args[3].i : -1;
    size_t at = 0;

    if (!is_string(args[1]) || !is_string(args[2]) || (n > 3 && args[3].type != CEL_INT))
        return wrong_type(s, args[1]);
    while (left != 0 && args[1].len) {
        const char *found = find_text(args[0], at, args[1]);

        if (!found || !cel_pay(s, 1 + args[2].len / 10))
            break;
        buf_add(&out, args[0].text + at, (size_t)(found - args[0].text) - at);
        buf_add(&out, args[2].text, args[2].len);
        at = (size_t)(found - args[0].text) + args[1].len;
        left--;
    }
    buf_add(&out, args[0].text + at, args[0].len - at);
    return cel_pay(s, out.len / 10) ? taken(s, &out) : (buf_release(&out), too_costly(s));
}

static struct cel_value fn_split(struct cel_state *s, struct cel_value *args, size_t n)
{
    int64_t most = n > 2 ? args[2].i : -1;
    size_t at = 0;
    struct cel_value list;

    if (!is_string(args[1]) || (n > 2 && args[2].type != CEL_INT))
        return wrong_type(s, args[1]);
    if (!cel_pay(s, args[0].len))
        return too_costly(s);
    list = list_of(s, args[0].len + 1);
    if (list.type == CEL_ERROR || most == 0)
        return list;
    while (most < 0 || (int64_t)list.len < most - 1) {
        const char *found = args[1].len ? find_text(args[0], at, args[1]) : NULL;
        size_t end = found ? (size_t)(found - args[0].text) : args[0].len;

        if (!args[1].len && at < args[0].len) { /* into characters */
            for (end = at + 1; end < args[0].len && !begins_character(args[0].text[end]);)
                end++;
            if (end == args[0].len)
                break;
        } else if (!found) {
            break;
        }
        list.items[list.len++] = text_of(s, args[0].text + at, end - at);
        at = end + args[1].len;
    }
    list.items[list.len++] = text_of(s, args[0].text + at, args[0].len - at);
    return list;
}

static struct cel_value fn_join(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct buf out = BUF_INIT(TEXT_LIMIT);

    if (!cel_open(s, &args[0]) || (n > 1 && !is_string(args[1])))
        return wrong_type(s, args[n - 1]);
    for (size_t i = 0; i < args[0].len; i++) {
        if (!is_string(args[0].items[i])) {
            buf_release(&out);
            return wrong_type(s, args[0].items[i]);
        }
        if (i && n > 1)
            buf_add(&out, args[1].text, args[1].len);
        buf_add(&out, args[0].items[i].text, args[0].items[i].len);
    }
    return cel_pay(s, out.len / 10) ? taken(s, &out) : (buf_release(&out), too_costly(s));
}

static struct cel_value fn_reverse(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value list;

    (void)n;
    if (!cel_open(s, &args[0]) || !cel_pay(s, args[0].len))
        return too_costly(s);
    list = list_of(s, args[0].len);
    for (size_t i = 0; list.type == CEL_LIST && i < args[0].len; i++)
        list.items[list.len++] = args[0].items[args[0].len - 1 - i];
    return list;
}

/* --- regular expressions ------------------------------------------------------------------ */

/* Collects up to most matches. */
static struct cel_value matches_of(struct cel_state *s, struct cel_value text,
                                   struct cel_value pattern, int64_t most)
{
    struct pattern *p = is_string(pattern) ? pattern_new(pattern.text) : NULL;
    struct cel_value list = list_of(s, most > 0 ? (size_t)min_i64(most, 1024) : 1024);
    size_t from = 0, start = 0, end = 0;
    int rc = 0;

    if (!p)
        return cel_fail(s, "not a regular expression: '%.128s'",
                        is_string(pattern) ? pattern.text : "");
    while (list.type == CEL_LIST && from <= text.len && list.len < 1024 &&
           (most < 0 || (int64_t)list.len < most)) {
        if (!cel_pay(s, 1 + (text.len - from) / 4 + pattern.len / 4)) {
            list = too_costly(s);
            break;
        }
        rc = pattern_find(p, text.text, text.len, from, &start, &end);
        if (rc <= 0)
            break;
        list.items[list.len++] = text_of(s, text.text + start, end - start);
        from = end > start ? end : end + 1;
    }
    pattern_free(p);
    return rc < 0 ? cel_fail(s, "the regular expression takes too long") : list;
}

static struct cel_value fn_matches(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value found;

    (void)n;
    if (!is_string(args[0]))
        return wrong_type(s, args[0]);
    found = matches_of(s, args[0], args[1], 1);
    return found.type == CEL_ERROR ? found : cel_bool(found.len > 0);
}

static struct cel_value fn_find(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value found = matches_of(s, args[0], args[1], 1);

    (void)n;
    if (found.type == CEL_ERROR)
        return found;
    return found.len ? found.items[0] : text_of(s, "", 0);
}

static struct cel_value fn_find_all(struct cel_state *s, struct cel_value *args, size_t n)
{
    if (n > 2 && args[2].type != CEL_INT)
        return wrong_type(s, args[2]);
    return matches_of(s, args[0], args[1], n > 2 ? args[2].i : -1);
}

/* --- lists and sets ----------------------------------------------------------------------- */

static struct cel_value fn_is_sorted(struct cel_state *s, struct cel_value *args, size_t n)
{
    int order;

    (void)n;
    if (!cel_open(s, &args[0]))
        return too_costly(s);
    for (size_t i = 1; i < args[0].len; i++) {
        if (!cel_compare(args[0].items[i - 1], args[0].items[i], &order))
            return wrong_type(s, args[0].items[i]);
        if (order > 0)
            return cel_bool(false);
    }
    return cel_bool(true);
}

static struct cel_value fn_sum(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value sum;

    (void)n;
    if (!cel_open(s, &args[0]))
        return too_costly(s);
    if (!args[0].len)
        return cel_int(0);
    sum = args[0].items[0];
    if (is_string(sum) || sum.type == CEL_LIST)
        return wrong_type(s, sum);
    for (size_t i = 1; i < args[0].len && sum.type != CEL_ERROR; i++)
        sum = cel_binary(s, "+", sum, args[0].items[i]);
    return sum;
}

static struct cel_value extreme(struct cel_state *s, struct cel_value list, int sign)
{
    struct cel_value best;
    int order;

    if (!cel_open(s, &list))
        return too_costly(s);
    if (!list.len)
        return cel_fail(s, "the list is empty");
    best = list.items[0];
    for (size_t i = 1; i < list.len; i++) {
        if (!cel_compare(list.items[i], best, &order))
            return wrong_type(s, list.items[i]);
        if (order * sign > 0)
            best = list.items[i];
    }
    return best;
}

static struct cel_value fn_min(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return extreme(s, args[0], -1);
}

static struct cel_value fn_max(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return extreme(s, args[0], 1);
}

/* math.greatest(list), or of its arguments */
static struct cel_value of_arguments(struct cel_state *s, struct cel_value *args, size_t n,
                                     int sign)
{
    struct cel_value list = {.type = CEL_LIST, .items = args, .len = n};

    return extreme(s, n == 1 && args[0].type == CEL_LIST ? args[0] : list, sign);
}

static struct cel_value fn_greatest(struct cel_state *s, struct cel_value *args, size_t n)
{
    return of_arguments(s, args, n, 1);
}

static struct cel_value fn_least(struct cel_state *s, struct cel_value *args, size_t n)
{
    return of_arguments(s, args, n, -1);
}

static struct cel_value fn_slice(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = args[0];

    (void)n;
    if (!cel_open(s, &v))
        return too_costly(s);
    if (args[1].type != CEL_INT || args[2].type != CEL_INT)
        return wrong_type(s, args[1]);
    if (args[1].i < 0 || args[2].i < args[1].i || (size_t)args[2].i > v.len)
        return cel_fail(s, "index out of range");
    v.items += args[1].i;
    v.len = (size_t)(args[2].i - args[1].i);
    return v;
}

static struct cel_value fn_distinct(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value list;

    (void)n;
    if (!cel_open(s, &args[0]))
        return too_costly(s);
    list = list_of(s, args[0].len);
    for (size_t i = 0; list.type == CEL_LIST && i < args[0].len; i++) {
        size_t k = 0;

        while (k < list.len && !cel_equal(s, list.items[k], args[0].items[i]))
            k++;
        if (k == list.len)
            list.items[list.len++] = args[0].items[i];
        if (!cel_pay(s, 1))
            return too_costly(s);
    }
    return list;
}

static bool has_item(struct cel_state *s, struct cel_value list, struct cel_value item)
{
    for (size_t i = 0; i < list.len; i++)
        if (cel_equal(s, list.items[i], item))
            return true;
    return false;
}

static struct cel_value fn_set_contains(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    if (args[0].type != CEL_LIST || args[1].type != CEL_LIST)
        return wrong_type(s, args[0].type != CEL_LIST ? args[0] : args[1]);
    if (!cel_open(s, &args[0]) || !cel_open(s, &args[1]))
        return too_costly(s);
    for (size_t i = 0; i < args[1].len; i++) {
        if (!cel_pay(s, 1 + args[0].len))
            return too_costly(s);
        if (!has_item(s, args[0], args[1].items[i]))
            return cel_bool(false);
    }
    return cel_bool(true);
}

static struct cel_value fn_set_equivalent(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value other[2] = {args[1], args[0]};
    struct cel_value v = fn_set_contains(s, args, n);

    return v.type == CEL_BOOL && v.b ? fn_set_contains(s, other, n) : v;
}

static struct cel_value fn_set_intersects(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    if (args[0].type != CEL_LIST || args[1].type != CEL_LIST)
        return wrong_type(s, args[0].type != CEL_LIST ? args[0] : args[1]);
    if (!cel_open(s, &args[0]) || !cel_open(s, &args[1]))
        return too_costly(s);
    for (size_t i = 0; i < args[1].len; i++) {
        if (!cel_pay(s, 1 + args[0].len))
            return too_costly(s);
        if (has_item(s, args[0], args[1].items[i]))
            return cel_bool(true);
    }
    return cel_bool(false);
}

/* --- quantities --------------------------------------------------------------------------- */

static struct cel_value fn_is_quantity(struct cel_state *s, struct cel_value *args, size_t n)
{
    int64_t milli;

    (void)s;
    (void)n;
    return cel_bool(is_string(args[0]) && quantity_milli(args[0].text, &milli) == 0);
}

static struct cel_value fn_quantity(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = {.type = CEL_QUANTITY};

    (void)n;
    if (!is_string(args[0]) || quantity_milli(args[0].text, &v.i) < 0)
        return cel_fail(s, "not a quantity: write 500m, 2 or 4Gi");
    v.written = args[0].text;
    return v;
}

static struct cel_value fn_sign(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return cel_int((args[0].i > 0) - (args[0].i < 0));
}

static struct cel_value fn_compare_to(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    if (args[1].type != CEL_QUANTITY)
        return wrong_type(s, args[1]);
    return cel_int((args[0].i > args[1].i) - (args[0].i < args[1].i));
}

static struct cel_value fn_is_greater(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = fn_compare_to(s, args, n);

    return v.type == CEL_ERROR ? v : cel_bool(v.i > 0);
}

static struct cel_value fn_is_less(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = fn_compare_to(s, args, n);

    return v.type == CEL_ERROR ? v : cel_bool(v.i < 0);
}

static struct cel_value fn_is_integer(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return cel_bool(args[0].i % 1000 == 0);
}

static struct cel_value fn_as_integer(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return args[0].i % 1000 ? cel_fail(s, "the quantity is no whole number")
                            : cel_int(args[0].i / 1000);
}

static struct cel_value fn_as_float(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return (struct cel_value){.type = CEL_DOUBLE, .d = (double)args[0].i / 1000};
}

static struct cel_value change_quantity(struct cel_state *s, struct cel_value *args, int sign)
{
    struct cel_value v = args[0];
    char text[QUANTITY_TEXT_SIZE];
    int64_t other = args[1].i;

    if (args[1].type == CEL_INT && __builtin_mul_overflow(other, 1000, &other))
        return cel_fail(s, "integer overflow");
    if (args[1].type != CEL_INT && args[1].type != CEL_QUANTITY)
        return wrong_type(s, args[1]);
    if (sign > 0 ? __builtin_add_overflow(v.i, other, &v.i)
                 : __builtin_sub_overflow(v.i, other, &v.i))
        return cel_fail(s, "integer overflow");
    v.written = arena_strdup(s->arena, quantity_format_milli(v.i, text));
    return v.written ? v : no_memory(s);
}

static struct cel_value fn_add(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return change_quantity(s, args, 1);
}

static struct cel_value fn_sub(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return change_quantity(s, args, -1);
}

/* --- URLs --------------------------------------------------------------------------------- */

struct url {
    const char *scheme, *host, *path, *query, *end;
    size_t scheme_len, host_len, path_len;
};

/* "scheme://host:port/path?query#fragment", or only a path that begins with '/'. */
static bool split_url(struct cel_value v, struct url *u)
{
    const char *colon = memchr(v.text, ':', v.len), *at = v.text;

    *u = (struct url){.end = v.text + strcspn(v.text, "#")};
    for (size_t i = 0; i < v.len; i++)
        if ((unsigned char)v.text[i] <= ' ' || v.text[i] == 0x7f)
            return false;
    if (colon && isalpha((unsigned char)v.text[0]) &&
        (size_t)(colon - v.text) ==
            strspn(v.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.")) {
        u->scheme = v.text;
        u->scheme_len = (size_t)(colon - v.text);
        at = colon + 1;
    } else if (*at != '/') {
        return false;
    }
    if (strncmp(at, "//", 2) == 0) {
        const char *user;

        at += 2;
        u->host = at;
        u->host_len = strcspn(at, "/?#");
        user = memchr(at, '@', u->host_len);
        at += u->host_len;
        if (user) {
            u->host_len -= (size_t)(user + 1 - u->host);
            u->host = user + 1;
        }
    }
    u->path = at;
    u->path_len = min_size(strcspn(at, "?"), (size_t)(u->end - at));
    u->query = at + u->path_len < u->end ? at + u->path_len + 1 : NULL;
    return true;
}

static struct cel_value fn_is_url(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct url u;

    (void)s;
    (void)n;
    return cel_bool(is_string(args[0]) && split_url(args[0], &u));
}

static struct cel_value fn_url(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value v = args[0];
    struct url u;

    (void)n;
    if (!is_string(v) || !split_url(v, &u))
        return cel_fail(s, "not a URL");
    v.type = CEL_URL;
    return v;
}

static struct cel_value fn_get_scheme(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct url u;

    (void)n;
    return split_url(args[0], &u) ? text_of(s, u.scheme ? u.scheme : "", u.scheme_len)
                                  : wrong_type(s, args[0]);
}

static struct cel_value fn_get_host(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct url u;

    (void)n;
    return split_url(args[0], &u) ? text_of(s, u.host ? u.host : "", u.host_len)
                                  : wrong_type(s, args[0]);
}

/* Length of the host without its port. */
static size_t hostname_len(const struct url *u)
{
    size_t n = u->host_len;

    if (n && u->host[0] == '[')
        return min_size(strcspn(u->host, "]") + 1, n);
    while (n > 0 && u->host[n - 1] != ':')
        n--;
    return n ? n - 1 : u->host_len;
}

static struct cel_value fn_get_hostname(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct url u;
    size_t len;

    (void)n;
    if (!split_url(args[0], &u))
        return wrong_type(s, args[0]);
    len = u.host ? hostname_len(&u) : 0;
    if (len > 1 && u.host[0] == '[')
        return text_of(s, u.host + 1, len - 2);
    return text_of(s, u.host ? u.host : "", len);
}

static struct cel_value fn_get_port(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct url u;
    size_t len;

    (void)n;
    if (!split_url(args[0], &u))
        return wrong_type(s, args[0]);
    len = u.host ? hostname_len(&u) : 0;
    return len + 1 < u.host_len ? text_of(s, u.host + len + 1, u.host_len - len - 1)
                                : text_of(s, "", 0);
}

static struct cel_value fn_get_path(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct url u;

    (void)n;
    return split_url(args[0], &u) ? text_of(s, u.path, u.path_len) : wrong_type(s, args[0]);
}

/* {"name": ["value", ...]} */
static struct cel_value fn_get_query(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value map = {.type = CEL_MAP};
    struct url u;
    size_t room = 1;

    (void)n;
    if (!split_url(args[0], &u))
        return wrong_type(s, args[0]);
    for (const char *c = u.query; c && c < u.end; c++)
        room += *c == '&';
    map.entries = arena_alloc(s->arena, (room + 1) * sizeof(*map.entries));
    if (!map.entries || !cel_pay(s, room))
        return no_memory(s);
    for (const char *at = u.query; at && at < u.end;) {
        size_t len = min_size(strcspn(at, "&"), (size_t)(u.end - at));
        size_t name = min_size(strcspn(at, "="), len), i = 0;
        struct cel_value key = text_of(s, at, name);
        struct cel_value value = text_of(s, at + name + (name < len), len - name - (name < len));

        while (i < map.len && !cel_equal(s, map.entries[i].key, key))
            i++;
        if (i == map.len) {
            map.entries[map.len++] = (struct cel_entry){.key = key, .value = list_of(s, room)};
        }
        if (map.entries[i].value.type == CEL_LIST && map.entries[i].value.len < room)
            map.entries[i].value.items[map.entries[i].value.len++] = value;
        at += len + 1;
    }
    return map;
}

/* --- optionals ---------------------------------------------------------------------------- */

static struct cel_value fn_optional_of(struct cel_state *s, struct cel_value *args, size_t n)
{
    struct cel_value *kept = arena_alloc(s->arena, sizeof(*kept));

    (void)n;
    if (!kept)
        return no_memory(s);
    *kept = args[0];
    return (struct cel_value){.type = CEL_OPTIONAL, .items = kept};
}

static struct cel_value fn_optional_none(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)args;
    (void)n;
    return (struct cel_value){.type = CEL_OPTIONAL};
}

static bool is_zero(struct cel_value v)
{
    switch ((int)v.type) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !v.b;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DURATION:
        return v.i == 0;
    case CEL_DOUBLE:
        return v.d == 0;
    default:
        return v.len == 0;
    }
}

static struct cel_value fn_optional_non_zero(struct cel_state *s, struct cel_value *args, size_t n)
{
    return is_zero(args[0]) ? fn_optional_none(s, args, n) : fn_optional_of(s, args, n);
}

static struct cel_value fn_has_value(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return cel_bool(args[0].items);
}

static struct cel_value fn_value(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)n;
    return args[0].items ? *args[0].items : cel_fail(s, "the optional has no value");
}

static struct cel_value fn_or_value(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return args[0].items ? *args[0].items : args[1];
}

static struct cel_value fn_or(struct cel_state *s, struct cel_value *args, size_t n)
{
    (void)s;
    (void)n;
    return args[0].items ? args[0] : args[1];
}

/* --- the table ---------------------------------------------------------------------------- */

#define STRING BIT(CEL_STRING)
#define LIST BIT(CEL_LIST)
#define TIME BIT(CEL_TIMESTAMP)
#define EITHER_TIME (BIT(CEL_TIMESTAMP) | BIT(CEL_DURATION))
#define QUANTITY BIT(CEL_QUANTITY)
#define URL BIT(CEL_URL)
#define OPTIONAL BIT(CEL_OPTIONAL)

static const struct cel_function functions[] = {
    {"size", false, 1, 1, 0, fn_size},
    {"size", true, 1, 1, 0, fn_size},
    {"int", false, 1, 1, 0, fn_int},
    {"uint", false, 1, 1, 0, fn_uint},
    {"double", false, 1, 1, 0, fn_double},
    {"string", false, 1, 1, 0, fn_string},
    {"bool", false, 1, 1, 0, fn_bool},
    {"bytes", false, 1, 1, 0, fn_bytes},
    {"base64.decode", false, 1, 1, STRING, fn_base64_decode},
    {"dyn", false, 1, 1, 0, fn_dyn},
    {"type", false, 1, 1, 0, fn_type},
    {"timestamp", false, 1, 1, 0, fn_timestamp},
    {"duration", false, 1, 1, 0, fn_duration},
    {"getFullYear", true, 1, 2, TIME, fn_year},
    {"getMonth", true, 1, 2, TIME, fn_month},
    {"getDate", true, 1, 2, TIME, fn_date},
    {"getDayOfMonth", true, 1, 2, TIME, fn_day_of_month},
    {"getDayOfWeek", true, 1, 2, TIME, fn_day_of_week},
    {"getDayOfYear", true, 1, 2, TIME, fn_day_of_year},
    {"getHours", true, 1, 2, EITHER_TIME, fn_hours},
    {"getMinutes", true, 1, 2, EITHER_TIME, fn_minutes},
    {"getSeconds", true, 1, 2, EITHER_TIME, fn_seconds},
    {"getMilliseconds", true, 1, 2, EITHER_TIME, fn_milliseconds},
    {"contains", true, 2, 2, STRING, fn_contains},
    {"startsWith", true, 2, 2, STRING, fn_starts_with},
    {"endsWith", true, 2, 2, STRING, fn_ends_with},
    {"charAt", true, 2, 2, STRING, fn_char_at},
    {"indexOf", true, 2, 3, STRING | LIST, fn_index_of},
    {"lastIndexOf", true, 2, 3, STRING | LIST, fn_last_index_of},
    {"lowerAscii", true, 1, 1, STRING, fn_lower},
    {"upperAscii", true, 1, 1, STRING, fn_upper},
    {"trim", true, 1, 1, STRING, fn_trim},
    {"substring", true, 2, 3, STRING, fn_substring},
    {"replace", true, 3, 4, STRING, fn_replace},
    {"split", true, 2, 3, STRING, fn_split},
    {"join", true, 1, 2, LIST, fn_join},
    {"reverse", true, 1, 1, LIST, fn_reverse},
    {"matches", true, 2, 2, STRING, fn_matches},
    {"matches", false, 2, 2, STRING, fn_matches},
    {"find", true, 2, 2, STRING, fn_find},
    {"findAll", true, 2, 3, STRING, fn_find_all},
    {"isSorted", true, 1, 1, LIST, fn_is_sorted},
    {"sum", true, 1, 1, LIST, fn_sum},
    {"min", true, 1, 1, LIST, fn_min},
    {"max", true, 1, 1, LIST, fn_max},
    {"slice", true, 3, 3, LIST, fn_slice},
    {"distinct", true, 1, 1, LIST, fn_distinct},
    {"math.greatest", false, 1, 8, 0, fn_greatest},
    {"math.least", false, 1, 8, 0, fn_least},
    {"sets.contains", false, 2, 2, LIST, fn_set_contains},
    {"sets.equivalent", false, 2, 2, LIST, fn_set_equivalent},
    {"sets.intersects", false, 2, 2, LIST, fn_set_intersects},
    {"isQuantity", false, 1, 1, 0, fn_is_quantity},
    {"quantity", false, 1, 1, 0, fn_quantity},
    {"sign", true, 1, 1, QUANTITY, fn_sign},
    {"compareTo", true, 2, 2, QUANTITY, fn_compare_to},
    {"isGreaterThan", true, 2, 2, QUANTITY, fn_is_greater},
    {"isLessThan", true, 2, 2, QUANTITY, fn_is_less},
    {"isInteger", true, 1, 1, QUANTITY, fn_is_integer},
    {"asInteger", true, 1, 1, QUANTITY, fn_as_integer},
    {"asApproximateFloat", true, 1, 1, QUANTITY, fn_as_float},
    {"add", true, 2, 2, QUANTITY, fn_add},
    {"sub", true, 2, 2, QUANTITY, fn_sub},
    {"isURL", false, 1, 1, 0, fn_is_url},
    {"url", false, 1, 1, 0, fn_url},
    {"getScheme", true, 1, 1, URL, fn_get_scheme},
    {"getHost", true, 1, 1, URL, fn_get_host},
    {"getHostname", true, 1, 1, URL, fn_get_hostname},
    {"getPort", true, 1, 1, URL, fn_get_port},
    {"getEscapedPath", true, 1, 1, URL, fn_get_path},
    {"getQuery", true, 1, 1, URL, fn_get_query},
    {"optional.of", false, 1, 1, 0, fn_optional_of},
    {"optional.none", false, 0, 0, 0, fn_optional_none},
    {"optional.ofNonZeroValue", false, 1, 1, 0, fn_optional_non_zero},
    {"hasValue", true, 1, 1, OPTIONAL, fn_has_value},
    {"value", true, 1, 1, OPTIONAL, fn_value},
    {"orValue", true, 2, 2, OPTIONAL, fn_or_value},
    {"or", true, 2, 2, OPTIONAL, fn_or},
};

const struct cel_function *cel_find_function(const char *name, bool method, size_t args)
{
    for (size_t i = 0; i < ELEMS(functions); i++)
        if (functions[i].method == method && strcmp(functions[i].name, name) == 0 &&
            (args == SIZE_MAX || (args >= functions[i].least && args <= functions[i].most)))
            return &functions[i];
    return NULL;
}

struct cel_value cel_call(struct cel_state *s, const char *name, bool method,
                          struct cel_value *args, size_t n)
{
    const struct cel_function *f = cel_find_function(name, method, n);

    if (!f)
        return cel_fail(s, "no such function: %s", name);
    if (n && f->receivers && !(f->receivers & BIT(args[0].type)))
        return cel_fail(s, "no such overload: %s.%s()", cel_type_name(args[0].type), name);
    return f->fn(s, args, n);
}
