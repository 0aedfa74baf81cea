/*
 * sweeps.h - limits how many jobs of a sweep run at once: those with ANNOTATION_SWEEP_TURN are
 * paused, and resumed one by one as others of their sweep end.
 */
#ifndef MUSTER_CONTROL_SWEEPS_H
#define MUSTER_CONTROL_SWEEPS_H

#include "api/kind.h"
#include "port/clock.h"
#include "port/transport.h"

struct sweeps;

struct sweeps *sweeps_new(struct transport *t, struct clock *clock) must_check;
void sweeps_free(struct sweeps *s);
void sweeps_on_job(struct sweeps *s, const struct kind *k, const struct json *job);
void sweeps_on_gone(struct sweeps *s, const struct json *job);
/* Every existing job has been reported; nothing is resumed before. */
void sweeps_on_ready(struct sweeps *s);

#endif
