/* index_set.c - see index_set.h. */
#include "api/index_set.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"

#define TEXT_LIMIT_BYTES (8u * 1024u * 1024u)

bool index_set_has(const struct index_set *s, int64_t index)
{
    return s->bits && index >= 0 && index < s->size && (s->bits[index / 8] >> (index % 8) & 1);
}

void index_set_add(struct index_set *s, int64_t index)
{
    if (!s->bits || index < 0 || index >= s->size || index_set_has(s, index))
        return;
    s->bits[index / 8] = (uint8_t)(s->bits[index / 8] | 1u << (index % 8));
    s->count++;
}

/* "3" or "3-5", and a following comma. */
static bool read_range(const char **at, int64_t *ret_first, int64_t *ret_last)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    *ret_first = *ret_last = strtoll(*at, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
        *ret_last = strtoll(end + 1, &end, 10);
    if (*end && (*end != ',' || !end[1]))
        return false;
    *at = end + (*end == ',');
    return true;
}

struct index_set index_set_of(struct arena *a, const char *text, int64_t size)
{
    struct index_set s = {.size = size};
    int64_t first, last;

    if (size > 0)
        s.bits = arena_alloc(a, (size_t)(size + 7) / 8);
    while (s.bits && *text && read_range(&text, &first, &last))
        for (int64_t i = first; i <= last && i < size; i++)
            index_set_add(&s, i);
    return s;
}

bool index_set_is_valid(const char *text, int64_t size)
{
    int64_t before = -1, first, last;

    while (*text) {
        if (!read_range(&text, &first, &last) || first <= before || last < first || last >= size)
            return false;
        before = last;
    }
    return before >= 0;
}

const char *index_set_text(struct arena *a, const struct index_set *s)
{
    struct buf out = BUF_INIT(TEXT_LIMIT_BYTES);
    const char *text;

    for (int64_t i = 0, last; i < s->size && s->count > 0; i = last + 1) {
        last = i;
        if (!index_set_has(s, i))
            continue;
        while (index_set_has(s, last + 1))
            last++;
        buf_addf(&out, "%s%" PRId64, out.len ? "," : "", i);
        if (last > i)
            buf_addf(&out, "%c%" PRId64, last > i + 1 ? '-' : ',', last);
    }
    text = arena_strdup(a, out.data && !out.failed ? out.data : "");
    a->failed = a->failed || out.failed;
    buf_release(&out);
    return text;
}
