/*
 * trouble.h - logs that a resource cannot be followed: once, not every few seconds and not for each
 * of ten resources when the server is away.
 */
#ifndef MUSTER_CONTROL_TROUBLE_H
#define MUSTER_CONTROL_TROUBLE_H

#include "api/kind.h"
#include "port/clock.h"

#define TROUBLE_REMEMBERED 16

struct trouble {
    struct clock *clock;
    struct {
        uint64_t hash; /* of the message */
        int64_t at_ms;
    } said[TROUBLE_REMEMBERED];
    size_t next;
};

/* Whether to log it now; remembers that it was. */
bool trouble_is_new(struct trouble *t, const struct err *err);
void trouble_say(struct trouble *t, const struct kind *k, const struct err *err);

#endif
