/*
 * events.h - writes Events. The same thing said again about the same object within an hour raises
 * the count of the Event that is there instead of making another. Best effort: a lost Event stops
 * nothing, and the memory of what was said is bounded.
 */
#ifndef MUSTER_CONTROL_EVENTS_H
#define MUSTER_CONTROL_EVENTS_H

#include "base/json.h"
#include "port/clock.h"
#include "port/transport.h"

struct event_recorder;

/* component: who speaks, as kubectl describe shows it ("muster"). */
struct event_recorder *event_recorder_new(struct transport *t, struct clock *clock,
                                          const char *component) must_check;
void event_recorder_free(struct event_recorder *r);
/* event: involvedObject, type, reason, message and metadata.namespace; copied. */
void event_record(struct event_recorder *r, const struct json *event);
/* While there is something to be done: for some seconds none is written, then one at a time. To be
 * said again now and then. */
void event_recorder_hold(struct event_recorder *r, bool held);

#endif
