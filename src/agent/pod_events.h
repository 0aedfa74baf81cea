/* pod_events.h - Events about pods. Best effort: one that is lost stops nothing. */
#ifndef MUSTER_AGENT_POD_EVENTS_H
#define MUSTER_AGENT_POD_EVENTS_H

#include "api/kind.h"
#include "port/transport.h"

struct pod_event {
    const struct json *about; /* a Pod */
    const char *type;         /* "Normal", "Warning" */
    const char *reason, *message;
    const char *component, *host;
    const char *name; /* of the Event; NULL: a new one. The same name again says nothing twice */
    int64_t now_ms;
};

/* owner: whose arg client_forget knows. */
void pod_event_send(struct transport *t, const struct pod_event *e, void *owner);

#endif
