/*
 * endpoints_watch.h - watching Endpoints and EndpointSlices, which are made and not stored.
 *
 * While watched, all of them are recomputed a moment after Services or pods changed, and
 * what differs is put into a window of events, one for all watchers of a kind. A watcher receives
 * first how what it knows differs from what is there, then follows the window.
 *
 * All changes of one moment carry the revision they were made at: a client that loses its
 * connection between two of them and goes on from there learns of the rest at the next change.
 */
#ifndef MUSTER_SERVER_ENDPOINTS_WATCH_H
#define MUSTER_SERVER_ENDPOINTS_WATCH_H

#include "server/request.h"

struct endpoints_watch;

/* Changes after revision from; 0: all that is there as STORE_ADDED first. on_ready is called when
 * there may be more events; it may not free a watch. -ESTALE with ERR_EXPIRED when from is too old.
 */
int endpoints_watch_open(struct server *s, const struct kind *k, int64_t from,
                         void (*on_ready)(void *arg), void *arg, struct endpoints_watch **ret,
                         struct err *err) must_check;
/* As store_watch_next. */
int endpoints_watch_next(struct endpoints_watch *w, struct store_event *ret) must_check;
/* Everything up to it has been sent when there is no next event. */
int64_t endpoints_watch_revision(const struct endpoints_watch *w);
void endpoints_watch_free(struct endpoints_watch *w); /* NULL-safe */

#endif
