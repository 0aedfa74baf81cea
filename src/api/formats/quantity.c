/*
 * quantity.c - see quantity.h. A quantity is held as digits, a power of ten and a power of two,
 * combined only at the end, in 128 bits: no floating point, and no loss before rounding.
 */
#include "api/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned __int128 wide;

/* 20 digits times 2^60 still fit 127 bits; further digits only make the value inexact. */
#define MANTISSA_LIMIT ((wide)10000000000000000000u)
#define EXPONENT_LIMIT 400

struct parts {
    bool negative, inexact;
    wide mantissa;
    int ten, two; /* exponents */
};

static const struct {
    const char *text;
    int ten, two;
} suffixes[] = {{"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},
                {"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},
                {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
                {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60}};

static bool parse_digits(const char **at, struct parts *q)
{
    bool any = false, fraction = false;

    for (const char *p = *at;; p++) {
        *at = p;
        if (*p == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!isdigit((unsigned char)*p))
            return any;
        any = true;
        if (q->mantissa < MANTISSA_LIMIT) {
            q->mantissa = q->mantissa * 10u + (unsigned)(*p - '0');
            q->ten -= fraction;
        } else {
            q->inexact = q->inexact || *p != '0';
            q->ten += !fraction;
        }
    }
}

static bool parse_exponent(const char *p, struct parts *q)
{
    int sign = 1, value = 0;

    if (*p == '+' || *p == '-')
        sign = *p++ == '-' ? -1 : 1;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++)
        value = value < EXPONENT_LIMIT ? value * 10 + (*p - '0') : value;
    q->ten += sign * value;
    return *p == '\0';
}

static bool parse_suffix(const char *p, struct parts *q)
{
    if ((*p == 'e' || *p == 'E') && p[1] && strchr("+-0123456789", p[1]))
        return parse_exponent(p + 1, q);
    for (size_t i = 0; i < ELEMS(suffixes); i++) {
        if (strcmp(p, suffixes[i].text) != 0)
            continue;
        q->ten += suffixes[i].ten;
        q->two += suffixes[i].two;
        return true;
    }
    return false;
}

/* Rounds away from zero and saturates at int64. */
static int64_t bring_together(const struct parts *q)
{
    wide v = q->mantissa << q->two;
    bool rest = q->inexact;

    for (int i = 0; i < q->ten && v <= INT64_MAX; i++)
        v *= 10;
    for (int i = 0; i > q->ten && v; i--) {
        rest = rest || v % 10;
        v /= 10;
    }
    v += rest;
    if (v > INT64_MAX)
        v = INT64_MAX;
    return q->negative ? -(int64_t)v : (int64_t)v;
}

static int parse(const char *text, int ten, int64_t *ret)
{
    struct parts q = {.ten = ten};

    if (*text == '+' || *text == '-')
        q.negative = *text++ == '-';
    if (!parse_digits(&text, &q) || !parse_suffix(text, &q))
        return -EINVAL;
    *ret = bring_together(&q);
    return 0;
}

int quantity_milli(const char *text, int64_t *ret)
{
    return parse(text, 3, ret);
}

int quantity_value(const char *text, int64_t *ret)
{
    return parse(text, 0, ret);
}

static int64_t of_json(const struct json *v, int ten, int64_t otherwise)
{
    char digits[24];
    int64_t n;

    if (json_is(v, JSON_INT)) {
        (void)snprintf(digits, sizeof(digits), "%lld", (long long)v->u.integer);
        return parse(digits, ten, &n) == 0 ? n : otherwise;
    }
    if (!json_is(v, JSON_STRING) && !json_is(v, JSON_REAL))
        return otherwise;
    return parse(v->u.text, ten, &n) == 0 ? n : otherwise;
}

int64_t quantity_json_milli(const struct json *v, int64_t otherwise)
{
    return of_json(v, 3, otherwise);
}

int64_t quantity_json_value(const struct json *v, int64_t otherwise)
{
    return of_json(v, 0, otherwise);
}

const char *quantity_json_text(struct arena *a, const struct json *v)
{
    const char *text = json_is(v, JSON_INT)    ? arena_printf(a, "%lld", (long long)v->u.integer)
                       : json_is(v, JSON_REAL) ? v->u.text
                                               : json_string(v, "");

    return text ? text : "";
}

const char *quantity_format_milli(int64_t milli, char out[QUANTITY_TEXT_SIZE])
{
    if (milli % 1000)
        (void)snprintf(out, QUANTITY_TEXT_SIZE, "%lldm", (long long)milli);
    else
        (void)snprintf(out, QUANTITY_TEXT_SIZE, "%lld", (long long)(milli / 1000));
    return out;
}

const char *quantity_format_bytes(int64_t bytes, char out[QUANTITY_TEXT_SIZE])
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    size_t unit = 0;

    while (bytes && bytes % 1024 == 0 && unit + 1 < ELEMS(units)) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(out, QUANTITY_TEXT_SIZE, "%lld%s", (long long)bytes, units[unit]);
    return out;
}
