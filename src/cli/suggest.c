/* suggest.c - optimal string alignment distance for short words; long ones never match. */
#include "cli/suggest.h"

#include <ctype.h>
#include <string.h>

#define WORD_LIMIT 64

static size_t min3(size_t a, size_t b, size_t c)
{
    return min_size(a, min_size(b, c));
}

static int lower(char c)
{
    return tolower((unsigned char)c);
}

size_t suggest_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_LIMIT + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t a_len = strlen(a), b_len = strlen(b);

    if (a_len > WORD_LIMIT || b_len > WORD_LIMIT)
        return WORD_LIMIT;
    for (size_t j = 0; j <= b_len; j++)
        above[j] = j;
    memcpy(before, above, sizeof(rows[0]));
    for (size_t i = 1; i <= a_len; i++) {
        size_t *recycled = before;

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);

            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = min_size(row[j], before[j - 2] + 1);
        }
        before = above;
        above = row;
        row = recycled;
    }
    return above[b_len];
}

void suggest_init(struct suggest *s, const char *word)
{
    *s = (struct suggest){.word = word};
}

/* At most one edit for short words, a third of the word for longer ones; or the word is a
 * prefix. */
void suggest_offer(struct suggest *s, const char *candidate)
{
    size_t len = strlen(s->word), distance = suggest_distance(s->word, candidate);
    size_t allowed = max_size(1, len / 3);

    if (len >= 2 && strncmp(s->word, candidate, len) == 0)
        distance = 1;
    if (distance <= allowed && distance < strlen(candidate) &&
        (!s->best || distance < s->distance)) {
        s->best = candidate;
        s->distance = distance;
    }
}
