/* trouble.h - says once, not every few seconds, that a resource cannot be followed. */
#ifndef MUSTER_CONTROL_TROUBLE_H
#define MUSTER_CONTROL_TROUBLE_H

#include <string.h>

#include "api/kind.h"
#include "base/hash.h"
#include "base/log.h"

struct trouble {
    uint64_t last; /* hash of what was said last */
};

static inline void trouble_say(struct trouble *t, const struct kind *k, const struct err *err)
{
    uint64_t hash = fnv1a_64(FNV1A_64_START, err->text, strlen(err->text));

    if (err->reason == ERR_EXPIRED || hash == t->last)
        return; /* expiring is a watch's ordinary end */
    t->last = hash;
    log_warn("cannot follow %s, will go on trying: %s", k->plural, err->text);
}

#endif
