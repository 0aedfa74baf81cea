/* pod_events.h - Events about pods. Best effort: a lost one stops nothing. */
#ifndef MUSTER_AGENT_POD_EVENTS_H
#define MUSTER_AGENT_POD_EVENTS_H

#include "api/kind.h"
#include "port/transport.h"

struct pod_event {
    const struct json *about; /* a Pod */
    const char *type;         /* "Normal", "Warning" */
    const char *reason, *message;
    const char *component, *host;
    const char *name; /* of the Event, so that it is created only once; NULL: a new one */
    int64_t now_ms;
};

/* owner: the arg for client_forget. */
void pod_event_send(struct transport *t, const struct pod_event *e, void *owner);

#endif
