/* cron.c - see cron.h. As in cron, when both day and weekday are restricted, either one matches. */
#include "api/cron.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MINUTE_MS INT64_C(60000)
#define MINUTES_OF_DAY (24 * 60)
#define DAYS_LIMIT (5 * 366)
#define FIELDS 5

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct part {
    const char *name;
    int low, high;
    const char *const *words; /* names of the values from low on */
} parts[FIELDS] = {{"minute", 0, 59, NULL},
                   {"hour", 0, 23, NULL},
                   {"day of month", 1, 31, NULL},
                   {"month", 1, 12, months},
                   {"day of week", 0, 7, weekdays}};

static const struct {
    const char *name, *meaning;
} macros[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
              {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
              {"@hourly", "0 * * * *"}};

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_number(const char **at, const struct part *p, int *ret)
{
    size_t n = 0;

    for (int i = 0; p->words && p->words[i]; i++)
        if (strncasecmp(*at, p->words[i], 3) == 0) {
            *at += 3;
            *ret = p->low + i;
            return true;
        }
    for (*ret = 0; (*at)[n] >= '0' && (*at)[n] <= '9' && n < 3; n++)
        *ret = *ret * 10 + ((*at)[n] - '0');
    *at += n;
    return n > 0;
}

/* "*", "1-5", "1-5/2", "3/10": sets a bit for each value. */
static bool read_range(const char **at, const struct part *p, uint64_t *bits, bool *any)
{
    int first = p->low, last = p->high, step = 1;
    bool star = **at == '*' || **at == '?';

    if (star)
        ++*at;
    else if (!read_number(at, p, &first))
        return false;
    else if (**at == '-') {
        ++*at;
        if (!read_number(at, p, &last))
            return false;
    } else if (**at != '/') {
        last = first;
    }
    if (**at == '/') {
        const struct part plain = {.name = p->name};

        ++*at;
        if (!read_number(at, &plain, &step) || step < 1)
            return false;
    }
    if (first < p->low || last > p->high || first > last)
        return false;
    *any = *any || star;
    for (int i = first; i <= last; i += step)
        *bits |= UINT64_C(1) << i;
    return true;
}

static bool read_part(const char **at, const struct part *p, uint64_t *bits, bool *any)
{
    while (read_range(at, p, bits, any)) {
        if (**at != ',')
            return **at == ' ' || **at == '\t' || !**at;
        ++*at;
    }
    return false;
}

static const char *meaning_of(const char *text)
{
    for (size_t i = 0; i < ELEMS(macros); i++)
        if (strcmp(macros[i].name, text) == 0)
            return macros[i].meaning;
    return text;
}

int cron_parse(const char *text, struct cron *ret, struct err *err)
{
    const char *at = meaning_of(text);
    uint64_t bits[FIELDS] = {0};
    bool any[FIELDS] = {false};

    for (size_t i = 0; i < FIELDS; i++) {
        at += strspn(at, " \t");
        if (!*at)
            return err_set(err, ERR_INVALID,
                           "expected exactly 5 fields (minute hour day month weekday), found %zu",
                           i);
        if (!read_part(&at, &parts[i], &bits[i], &any[i]))
            return err_set(err, ERR_INVALID, "the %s is not from %d to %d", parts[i].name,
                           parts[i].low, parts[i].high);
    }
    at += strspn(at, " \t");
    if (*at)
        return err_set(err, ERR_INVALID,
                       "expected exactly 5 fields (minute hour day month weekday), found more");
    *ret = (struct cron){.minutes = bits[0],
                         .hours = bits[1],
                         .days = bits[2],
                         .months = bits[3],
                         .weekdays = bits[4] | bits[4] >> 7, /* 7 is Sunday as well */
                         .any_day = any[2],
                         .any_weekday = any[4]};
    return 0;
}

/* --- times ------------------------------------------------------------------------------------ */

/* Month and day of month of a day since 1970-01-01, in the proleptic Gregorian calendar. */
static void civil(int64_t day, int *ret_month, int *ret_day)
{
    int64_t shifted = day + 719468, era = shifted / 146097, of_era = shifted - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100),
            month = (5 * of_year + 2) / 153;

    *ret_day = (int)(of_year - (153 * month + 2) / 5 + 1);
    *ret_month = (int)(month < 10 ? month + 3 : month - 9);
}

static bool has(uint64_t bits, int64_t n)
{
    return bits >> n & 1;
}

static bool is_on_day(const struct cron *c, int64_t day)
{
    int month, of_month;
    bool by_day, by_weekday;

    civil(day, &month, &of_month);
    by_day = has(c->days, of_month);
    by_weekday = has(c->weekdays, (day + 4) % 7);
    return has(c->months, month) &&
           (c->any_day || c->any_weekday ? by_day && by_weekday : by_day || by_weekday);
}

/* The first matching minute of the day from `from` on, or the last with step -1; -1: none. */
static int find_minute(const struct cron *c, int from, int step)
{
    for (int m = from; m >= 0 && m < MINUTES_OF_DAY; m += step)
        if (has(c->hours, m / 60) && has(c->minutes, m % 60))
            return m;
    return -1;
}

int64_t cron_next_ms(const struct cron *c, int64_t after_ms)
{
    int64_t minute = after_ms / MINUTE_MS + 1, day = minute / MINUTES_OF_DAY;
    int from = (int)(minute % MINUTES_OF_DAY), found;

    for (int64_t last = day + DAYS_LIMIT; day <= last; day++, from = 0) {
        found = is_on_day(c, day) ? find_minute(c, from, 1) : -1;
        if (found >= 0)
            return (day * MINUTES_OF_DAY + found) * MINUTE_MS;
    }
    return 0;
}

int64_t cron_last_ms(const struct cron *c, int64_t after_ms, int64_t now_ms)
{
    int64_t minute = now_ms / MINUTE_MS, day = minute / MINUTES_OF_DAY;
    int from = (int)(minute % MINUTES_OF_DAY), found;

    for (int64_t first = after_ms / MINUTE_MS / MINUTES_OF_DAY; day >= first;
         day--, from = MINUTES_OF_DAY - 1) {
        found = is_on_day(c, day) ? find_minute(c, from, -1) : -1;
        minute = (day * MINUTES_OF_DAY + found) * MINUTE_MS;
        if (found >= 0)
            return minute > after_ms ? minute : 0;
    }
    return 0;
}
