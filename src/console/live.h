/*
 * live.h - the one WebSocket of a console tab, /console/v1/stream: carries any number of watches
 * and followed logs, because a browser has six connections for all its tabs together.
 *
 * A client of the API with the rights of the user who opened it. The messages, JSON in both
 * directions, are described in console/src/data/stream.ts. Nothing is buffered for a tab that does
 * not read: its watches and logs wait, and a watch that waited too long starts over with a list.
 */
#ifndef MUSTER_CONSOLE_LIVE_H
#define MUSTER_CONSOLE_LIVE_H

#include "loop/loop.h"
#include "net/mount.h"
#include "port/transport.h"

#define LIVE_PREFIX "/console/v1/stream"
#define LIVE_TABS_LIMIT 128u
#define LIVE_SUBSCRIPTIONS_LIMIT 128u /* per tab */
#define LIVE_PAGE_ITEMS 200u          /* items of a list at a time */
/* A page sends something every 20 s, or once a minute when the browser throttles it. */
#define LIVE_SILENCE_LIMIT_MS (5 * 60 * 1000)
/* Then it must open another one and authenticate again; it resumes where it was. */
#define LIVE_TAB_LIMIT_MS (60 * 60 * 1000)

struct live_hub;

struct live_hub *live_hub_new(struct loop *l) must_check;
void live_hub_free(struct live_hub *h); /* closes all tabs; before the server */
/* A mount_fn; arg is the hub. */
void live_handle(void *arg, const struct mount_request *r);
/* The subprotocol, for clients that have to name one. */
#define LIVE_PROTOCOL "stream.muster.dev"
/* Closes the tabs of this session, and tells them why; arg is the hub. */
void live_sign_out(void *arg, uint64_t session);

#endif
