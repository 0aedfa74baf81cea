/*
 * endpoints_watch.h - watching Endpoints and EndpointSlices, which are computed, not stored.
 *
 * While watched, all of them are recomputed a moment after Services or pods changed, and the
 * differences go into a window of events shared by all watchers of a kind. A watcher first receives
 * the difference between what it knows and the current state, then follows the window.
 *
 * All changes of one computation carry the same revision: a client that disconnects between two of
 * them and resumes from there learns of the rest at the next change.
 */
#ifndef MUSTER_SERVER_ENDPOINTS_WATCH_H
#define MUSTER_SERVER_ENDPOINTS_WATCH_H

#include "server/request.h"

struct endpoints_watch;

/* Changes after revision from; 0: first everything as STORE_ADDED. on_ready is called when there
 * may be more events; it must not free a watch. -ESTALE with ERR_EXPIRED when from is too old. */
int endpoints_watch_open(struct server *s, const struct kind *k, int64_t from,
                         void (*on_ready)(void *arg), void *arg, struct endpoints_watch **ret,
                         struct err *err) must_check;
/* Like store_watch_next. */
int endpoints_watch_next(struct endpoints_watch *w, struct store_event *ret) must_check;
/* When there is no next event, everything up to this revision has been sent. */
int64_t endpoints_watch_revision(const struct endpoints_watch *w);
void endpoints_watch_free(struct endpoints_watch *w); /* NULL-safe */

#endif
