/* query.c - see query.h. */
#include "console/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static const char *undo(struct arena *a, const char *text, size_t len, bool plus_is_space)
{
    char *out = arena_alloc(a, len + 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < len; i++, n++) {
        int high = text[i] == '%' && i + 2 < len ? hex(text[i + 1]) : -1;
        int low = high >= 0 ? hex(text[i + 2]) : -1;

        if (text[i] != '%') {
            out[n] = text[i] == '+' && plus_is_space ? ' ' : text[i];
        } else if (low < 0 || high * 16 + low == 0) {
            return NULL;
        } else {
            out[n] = (char)(high * 16 + low);
            i += 2;
        }
    }
    return out;
}

const char *query_unescape(struct arena *a, const char *text, size_t len)
{
    return undo(a, text, len, false);
}

const char *query_param(struct arena *a, const char *query, const char *name)
{
    size_t name_len = strlen(name);

    while (*query) {
        size_t len = strcspn(query, "&");

        if (len > name_len && strncmp(query, name, name_len) == 0 && query[name_len] == '=')
            return undo(a, query + name_len + 1, len - name_len - 1, true);
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
