/* samples.c - see samples.h. */
#include "board/samples.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_START 4u

void samples_release(struct samples *s)
{
    free(s->at);
    *s = (struct samples){0};
}

void samples_purge(struct samples *s, int64_t step)
{
    while (s->len && s->at[s->len - 1].step >= step) {
        s->len--;
        s->since = 0;
    }
}

static bool grow(struct samples *s)
{
    uint32_t room = s->room ? s->room * 2 : ROOM_START;
    struct sample *larger = reallocarray(s->at, room, sizeof(*larger));

    if (!larger)
        return false;
    s->at = larger;
    s->room = room;
    return true;
}

/* Drops every second one, including the newest, as the capacity is even. */
static void halve(struct samples *s)
{
    uint32_t n = 0;

    s->since = s->stride ? s->stride : 1;
    for (uint32_t i = 0; i < s->len; i += 2)
        s->at[n++] = s->at[i];
    s->len = n;
    s->stride = s->since * 2;
}

static void make_room(struct samples *s, enum samples_kept kept)
{
    if (kept == SAMPLES_SPREAD) {
        halve(s);
        return;
    }
    s->len--;
    memmove(s->at, s->at + 1, s->len * sizeof(*s->at));
}

void samples_add(struct samples *s, const struct sample *new, enum samples_kept kept)
{
    if (s->len && new->step < s->at[s->len - 1].step)
        samples_purge(s, new->step);
    /* The newest is always kept; when the next one comes, it is dropped if it is too close to its
     * predecessor. */
    if (s->since && s->since < s->stride) {
        s->len--;
    } else {
        s->since = 0;
        if (s->len == SAMPLES_CAPACITY)
            make_room(s, kept);
    }
    if (s->len == s->room && !grow(s))
        return;
    s->at[s->len++] = *new;
    s->since++;
}
