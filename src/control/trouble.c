/* trouble.c - see trouble.h. Remembers the last few messages; the same one is not repeated for a
 * while. */
#include "control/trouble.h"

#include <string.h>

#include "base/hash.h"
#include "base/log.h"

#define SAY_AGAIN_MS (5 * 60 * 1000)

static bool was_said(const struct trouble *t, uint64_t hash, int64_t now_ms)
{
    for (size_t i = 0; i < TROUBLE_REMEMBERED; i++) {
        int64_t since_ms = now_ms - t->said[i].at_ms;

        if (t->said[i].hash == hash && since_ms >= 0 && since_ms < SAY_AGAIN_MS)
            return true;
    }
    return false;
}

bool trouble_is_new(struct trouble *t, const struct err *err)
{
    uint64_t hash = fnv1a_64(FNV1A_64_START, err->text, strlen(err->text));
    int64_t now_ms = clock_now_ms(t->clock);

    if (was_said(t, hash, now_ms))
        return false;
    t->said[t->next].hash = hash;
    t->said[t->next].at_ms = now_ms;
    t->next = (t->next + 1) % TROUBLE_REMEMBERED;
    return true;
}

void trouble_say(struct trouble *t, const struct kind *k, const struct err *err)
{
    /* expiring is the normal end of a watch */
    if (err->reason != ERR_EXPIRED && trouble_is_new(t, err))
        log_warn("cannot follow %s, will keep trying: %s", k->plural, err->text);
}
