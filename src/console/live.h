/*
 * live.h - the one WebSocket of a console's tab, /console/v1/stream: any number of watches and
 * followed logs over it, because a browser has six connections for all its tabs together.
 *
 * A client of the API with the rights of who opened it. What goes over it, both ways JSON texts, is
 * described in console/src/data/stream.ts. Nothing is kept for a tab that does not read: its
 * watches and logs wait, and a watch that waited too long begins with a list.
 */
#ifndef MUSTER_CONSOLE_LIVE_H
#define MUSTER_CONSOLE_LIVE_H

#include "loop/loop.h"
#include "net/mount.h"
#include "port/transport.h"

#define LIVE_PREFIX "/console/v1/stream"
#define LIVE_TABS_LIMIT 128u
#define LIVE_SUBSCRIPTIONS_LIMIT 128u /* of one tab */
#define LIVE_PAGE_ITEMS 200u          /* of a list at a time */
/* A page says something every 20 s, and once a minute when a browser lets it sleep. */
#define LIVE_SILENCE_LIMIT_MS (5 * 60 * 1000)
/* Then it has to open another, and show again who it is: it goes on where it was. */
#define LIVE_TAB_LIMIT_MS (60 * 60 * 1000)

struct live_hub;

struct live_hub *live_hub_new(struct loop *l) must_check;
void live_hub_free(struct live_hub *h); /* closes all tabs; before the server */
/* A mount_fn; arg is the hub. */
void live_handle(void *arg, const struct mount_request *r);
/* The subprotocol, for pages that have to name one. */
#define LIVE_PROTOCOL "stream.muster.dev"
/* Ends the tabs of this session, and tells them why; arg is the hub. */
void live_sign_out(void *arg, uint64_t session);

#endif
