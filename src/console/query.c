/* query.c - see query.h. */
#include "console/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/percent.h"

const char *query_param(struct arena *a, const char *query, const char *name)
{
    size_t name_len = strlen(name);

    while (*query) {
        size_t len = strcspn(query, "&");

        if (len > name_len && strncmp(query, name, name_len) == 0 && query[name_len] == '=')
            return percent_decode_query(a, query + name_len + 1, len - name_len - 1);
        query += len + (query[len] == '&');
    }
    return NULL;
}

int query_number(struct arena *a, const char *query, const char *name, int64_t min, int64_t max,
                 int64_t otherwise, int64_t *ret, struct err *err)
{
    const char *text = query_param(a, query, name);
    long long value;
    char *end;

    *ret = otherwise;
    if (!text || !*text)
        return 0;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end || errno || value < min || value > max)
        return err_set(err, ERR_BAD_REQUEST,
                       "%s: \"%.100s\" is not a whole number from %lld to %lld", name, text,
                       (long long)min, (long long)max);
    *ret = value;
    return 0;
}
