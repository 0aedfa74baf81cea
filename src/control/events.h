/*
 * events.h - writes Events. Repeating an event about the same object within an hour increases the
 * existing Event's count instead of creating another. Best effort: a lost Event stops nothing, and
 * the memory of past events is bounded.
 */
#ifndef MUSTER_CONTROL_EVENTS_H
#define MUSTER_CONTROL_EVENTS_H

#include "base/json.h"
#include "port/clock.h"
#include "port/transport.h"

struct event_recorder;

/* component: the source shown by kubectl describe ("muster"). */
struct event_recorder *event_recorder_new(struct transport *t, struct clock *clock,
                                          const char *component) must_check;
void event_recorder_free(struct event_recorder *r);
/* event: involvedObject, type, reason, message and metadata.namespace; copied. */
void event_record(struct event_recorder *r, const struct json *event);
/* While there is other work: for some seconds none is written, then one at a time. Call it again
 * from time to time. */
void event_recorder_hold(struct event_recorder *r, bool held);

#endif
