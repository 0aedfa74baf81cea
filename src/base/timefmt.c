/* timefmt.c - see timefmt.h. Does its own calendar arithmetic, so that the machine's time zone
 * never matters. */
#include "base/timefmt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

struct date {
    int64_t year;
    int month, day;
};

/* Days since 1970-01-01 of a proleptic Gregorian date; years start in March so that leap days come
 * last. */
static int64_t days_from_date(struct date d)
{
    int64_t y = d.month <= 2 ? d.year - 1 : d.year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static struct date date_from_days(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                           day_of_era / 146096) /
                          365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t mp = (5 * day_of_year + 2) / 153;
    struct date d;

    d.day = (int)(day_of_year - (153 * mp + 2) / 5 + 1);
    d.month = (int)(mp < 10 ? mp + 3 : mp - 9);
    d.year = year_of_era + era * 400 + (d.month <= 2);
    return d;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int print_seconds(int64_t sec, char out[TIME_TEXT_SIZE])
{
    int64_t days = floor_div(sec, 86400);
    int rest = (int)(sec - days * 86400);
    struct date d = date_from_days(days);

    if (d.year < 0 || d.year > 9999)
        d = (struct date){.year = 9999, .month = 12, .day = 31};
    return snprintf(out, TIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", (int)d.year, d.month,
                    d.day, rest / 3600, rest / 60 % 60, rest % 60);
}

const char *time_format(int64_t ms, char out[TIME_TEXT_SIZE])
{
    int n = print_seconds(floor_div(ms, 1000), out);

    (void)snprintf(out + n, TIME_TEXT_SIZE - (size_t)n, "Z");
    return out;
}

const char *time_format_micro(int64_t ms, char out[TIME_TEXT_SIZE])
{
    int64_t sec = floor_div(ms, 1000);
    int n = print_seconds(sec, out);

    (void)snprintf(out + n, TIME_TEXT_SIZE - (size_t)n, ".%03d000Z", (int)(ms - sec * 1000));
    return out;
}

const char *time_format_nano(int64_t sec, int64_t nsec, char out[TIME_TEXT_SIZE])
{
    int n = print_seconds(sec, out);

    (void)snprintf(out + n, TIME_TEXT_SIZE - (size_t)n, ".%09dZ", (int)nsec);
    return out;
}

static bool digits(const char **p, int count, int *ret)
{
    int v = 0;

    for (int i = 0; i < count; i++, (*p)++) {
        if (!isdigit((unsigned char)**p))
            return false;
        v = v * 10 + (**p - '0');
    }
    *ret = v;
    return true;
}

static bool literal(const char **p, char c)
{
    if (**p != c && !(c == 'T' && **p == 't'))
        return false;
    (*p)++;
    return true;
}

static bool zone(const char **p, int *ret_offset_sec)
{
    int h, m, sign;

    if (**p == 'Z' || **p == 'z') {
        (*p)++;
        *ret_offset_sec = 0;
        return true;
    }
    if (**p != '+' && **p != '-')
        return false;
    sign = **p == '-' ? -1 : 1;
    (*p)++;
    if (!digits(p, 2, &h) || !literal(p, ':') || !digits(p, 2, &m) || h > 23 || m > 59)
        return false;
    *ret_offset_sec = sign * (h * 3600 + m * 60);
    return true;
}

int time_parse(const char *text, int64_t *ret_ms)
{
    const char *p = text;
    int year, month, day, hour, minute, second, offset, milli = 0, weight = 100;
    struct date back;
    int64_t days;

    if (!digits(&p, 4, &year) || !literal(&p, '-') || !digits(&p, 2, &month) || !literal(&p, '-') ||
        !digits(&p, 2, &day) || !literal(&p, 'T') || !digits(&p, 2, &hour) || !literal(&p, ':') ||
        !digits(&p, 2, &minute) || !literal(&p, ':') || !digits(&p, 2, &second))
        return -EINVAL;
    if (*p == '.') {
        p++;
        if (!isdigit((unsigned char)*p))
            return -EINVAL;
        for (; isdigit((unsigned char)*p); p++, weight /= 10)
            milli += (*p - '0') * weight;
    }
    if (!zone(&p, &offset) || *p || month < 1 || month > 12 || day < 1 || hour > 23 ||
        minute > 59 || second > 60)
        return -EINVAL;
    days = days_from_date((struct date){.year = year, .month = month, .day = day});
    back = date_from_days(days);
    if (back.month != month || back.day != day)
        return -EINVAL;
    *ret_ms = (days * 86400 + hour * 3600 + minute * 60 + second - offset) * 1000 + milli;
    return 0;
}

/* Two units while the second still matters, then one; the second is dropped when it is zero. */
static const char *two_units(char out[TIME_TEXT_SIZE], int64_t a, char a_unit, int64_t b,
                             char b_unit)
{
    if (b)
        (void)snprintf(out, TIME_TEXT_SIZE, "%lld%c%lld%c", (long long)a, a_unit, (long long)b,
                       b_unit);
    else
        (void)snprintf(out, TIME_TEXT_SIZE, "%lld%c", (long long)a, a_unit);
    return out;
}

const char *time_age(int64_t span_ms, char out[TIME_TEXT_SIZE])
{
    int64_t s = floor_div(span_ms, 1000), m = s / 60, h = m / 60, d = h / 24, y = d / 365;

    if (s < -1)
        (void)snprintf(out, TIME_TEXT_SIZE, "<invalid>");
    else if (s < 0)
        (void)snprintf(out, TIME_TEXT_SIZE, "0s");
    else if (s < 120)
        return two_units(out, s, 's', 0, ' ');
    else if (m < 10)
        return two_units(out, m, 'm', s % 60, 's');
    else if (h < 3)
        return two_units(out, m, 'm', 0, ' ');
    else if (h < 8)
        return two_units(out, h, 'h', m % 60, 'm');
    else if (h < 48)
        return two_units(out, h, 'h', 0, ' ');
    else if (d < 8)
        return two_units(out, d, 'd', h % 24, 'h');
    else if (y < 2)
        return two_units(out, d, 'd', 0, ' ');
    else if (y < 8)
        return two_units(out, y, 'y', d % 365, 'd');
    else
        return two_units(out, y, 'y', 0, ' ');
    return out;
}
