/* yaml_scalar.c - see yaml_scalar.h. */
#include "api/formats/yaml_scalar.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_LIMIT 128u

static const struct {
    const char *text;
    enum json_type type;
    bool value;
} words[] = {
    {"", JSON_NULL, false},      {"~", JSON_NULL, false},     {"null", JSON_NULL, false},
    {"Null", JSON_NULL, false},  {"NULL", JSON_NULL, false},  {"true", JSON_BOOL, true},
    {"True", JSON_BOOL, true},   {"TRUE", JSON_BOOL, true},   {"yes", JSON_BOOL, true},
    {"Yes", JSON_BOOL, true},    {"YES", JSON_BOOL, true},    {"on", JSON_BOOL, true},
    {"On", JSON_BOOL, true},     {"ON", JSON_BOOL, true},     {"y", JSON_BOOL, true},
    {"Y", JSON_BOOL, true},      {"false", JSON_BOOL, false}, {"False", JSON_BOOL, false},
    {"FALSE", JSON_BOOL, false}, {"no", JSON_BOOL, false},    {"No", JSON_BOOL, false},
    {"NO", JSON_BOOL, false},    {"off", JSON_BOOL, false},   {"Off", JSON_BOOL, false},
    {"OFF", JSON_BOOL, false},   {"n", JSON_BOOL, false},     {"N", JSON_BOOL, false},
};

static const char *const infinities[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
                                         "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN"};

static int find_word(const char *text, size_t len)
{
    for (size_t i = 0; len <= 5 && i < ELEMS(words); i++)
        if (strlen(words[i].text) == len && memcmp(words[i].text, text, len) == 0)
            return (int)i;
    return -1;
}

bool yaml_scalar_is_infinite(const char *text, size_t len)
{
    for (size_t i = 0; i < ELEMS(infinities); i++)
        if (strlen(infinities[i]) == len && memcmp(infinities[i], text, len) == 0)
            return true;
    return false;
}

/* The text without underscores; false when it cannot be a number. */
static bool number_text(const char *text, size_t len, char out[NUMBER_LIMIT])
{
    size_t n = 0;

    if (len == 0 || len >= NUMBER_LIMIT ||
        (!isdigit((unsigned char)text[0]) && !strchr("+-.", text[0])) || text[0] == '\0')
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[i] != '_')
            out[n++] = text[i];
    out[n] = '\0';
    return n > 0 && strlen(out) == n;
}

static bool all_digits(const char *p, int base)
{
    if (!*p)
        return false;
    for (; *p; p++) {
        int d = isdigit((unsigned char)*p)    ? *p - '0'
                : isxdigit((unsigned char)*p) ? tolower((unsigned char)*p) - 'a' + 10
                                              : 99;

        if (d >= base)
            return false;
    }
    return true;
}

static bool parse_int(const char *text, int64_t *ret)
{
    const char *p = text + (*text == '+' || *text == '-');
    int base = 10, skip = 0;
    unsigned long long v;

    if (*p == '0' && p[1]) {
        int c = tolower((unsigned char)p[1]);

        base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
        skip = c == 'x' || c == 'b' || c == 'o' ? 2 : 1;
    }
    p += skip;
    if (!all_digits(p, base))
        return false;
    errno = 0;
    v = strtoull(p, NULL, base);
    if (errno || v > (unsigned long long)INT64_MAX + (*text == '-'))
        return false;
    *ret = *text == '-' ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* [-+]? (.digits | digits (. digits?)?) ([eE] [-+]? digits)? */
static bool is_float(const char *p)
{
    bool before, after = false;

    p += *p == '+' || *p == '-';
    before = isdigit((unsigned char)*p);
    p += strspn(p, "0123456789");
    if (*p == '.') {
        p++;
        after = isdigit((unsigned char)*p);
        p += strspn(p, "0123456789");
    }
    if (!before && !after)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        if (!isdigit((unsigned char)*p))
            return false;
        p += strspn(p, "0123456789");
    }
    return !*p;
}

/* In JSON syntax: no +, no leading zeros, digits on both sides of the point. */
static struct json *float_value(struct arena *a, const char *text)
{
    const char *p = text + (*text == '+' || *text == '-'), *whole, *rest;
    char *out;

    while (p[0] == '0' && isdigit((unsigned char)p[1]))
        p++;
    whole = isdigit((unsigned char)*p) ? "" : "0";
    rest = strchr(p, '.');
    if (rest && !isdigit((unsigned char)rest[1]))
        out = arena_printf(a, "%s%s%.*s.0%s", *text == '-' ? "-" : "", whole, (int)(rest - p), p,
                           rest + 1);
    else
        out = arena_printf(a, "%s%s%s", *text == '-' ? "-" : "", whole, p);
    return out ? json_new_real(a, out) : NULL;
}

static struct json *number_value(struct arena *a, const char *text)
{
    const char *p = text + (*text == '+' || *text == '-');
    int64_t n;

    if (parse_int(text, &n))
        return json_new_int(a, n);
    if (!is_float(text))
        return NULL;
    /* 089 is not octal: it is read as a float, and an integral one becomes an integer */
    while (p[0] == '0' && isdigit((unsigned char)p[1]))
        p++;
    if (p > text + 1 && p[-1] == '0' && all_digits(p, 10) && parse_int(p, &n))
        return json_new_int(a, *text == '-' ? -n : n);
    return float_value(a, text);
}

struct json *yaml_scalar(struct arena *a, const char *text, size_t len)
{
    int word = find_word(text, len);
    char number[NUMBER_LIMIT];
    struct json *v;

    if (word >= 0)
        return words[word].type == JSON_NULL ? json_new_null(a)
                                             : json_new_bool(a, words[word].value);
    if (number_text(text, len, number)) {
        v = number_value(a, number);
        if (v || arena_failed(a))
            return v;
    }
    return json_new_string_len(a, text, len);
}

bool yaml_scalar_is_string(const char *text, size_t len)
{
    char number[NUMBER_LIMIT];
    int64_t n;

    if (find_word(text, len) >= 0 || yaml_scalar_is_infinite(text, len))
        return false;
    return !number_text(text, len, number) || (!parse_int(number, &n) && !is_float(number));
}
