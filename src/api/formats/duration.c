/* duration.c - see duration.h. */
#include "api/duration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)
#define NUMBER_LIMIT INT64_C(1000000000)

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"y", 365 * DAY_MS}, {"w", 7 * DAY_MS}, {"d", DAY_MS}, {"h", 3600000},
             {"m", 60000},        {"s", 1000},       {"ms", 1}};

/* The unit at the start of text, searched from `from` on; the "m" of "ms" is not minutes. */
static size_t find_unit(const char *text, size_t from)
{
    size_t len = strcspn(text, "0123456789");

    while (from < ELEMS(units) &&
           (strlen(units[from].name) != len || strncmp(units[from].name, text, len) != 0))
        from++;
    return from;
}

int duration_parse_ms(const char *text, int64_t *ret)
{
    size_t next = 0;
    int64_t sum = 0;

    if (strcmp(text, "0") == 0) {
        *ret = 0;
        return 0;
    }
    if (!*text)
        return -EINVAL;
    while (*text) {
        size_t digits = strspn(text, "0123456789"), unit;
        int64_t number = digits && digits < 10 ? strtoll(text, NULL, 10) : NUMBER_LIMIT;

        text += digits;
        unit = find_unit(text, next);
        if (number >= NUMBER_LIMIT || unit == ELEMS(units) ||
            number > (INT64_MAX - sum) / units[unit].ms)
            return -EINVAL;
        sum += number * units[unit].ms;
        text += strlen(units[unit].name);
        next = unit + 1;
    }
    *ret = sum;
    return 0;
}
