/*
 * apps.h - programs of pods in the user's browser (TensorBoard, any port). Each is at an origin of
 * its own, http://app-HASH.localhost:PORT/PREFIX/NAMESPACE/NAME/: HASH is made of that path and the
 * UID of what is there, with a secret: what comes later under that name has another origin. There
 * is nothing of the API there, and nothing that a page of that origin has is good for it.
 *
 *   POST /console/v1/open {"path": "/PREFIX/NAMESPACE/NAME/..."}   {"url": U}: for a session, good
 * once GET  U                                                         a cookie of that origin, and
 * on
 *
 * The cookie names a session and is signed for that one origin, and for the user of this machine
 * whose browser entered: browsers show it to every port of that host, where other users listen, and
 * it is worth nothing to them. It ends with the session. Who has none is sent to the console, whose
 * page signs in and comes back.
 */
#ifndef MUSTER_SERVER_APPS_H
#define MUSTER_SERVER_APPS_H

#include "server/internal.h"

/* POST /console/v1/open, of who is known. */
void apps_open(struct server *s, struct httpd_request *http, const struct caller *caller);
/* This session has ended. */
void apps_forget(struct server *s, uint64_t session);
/* A page elsewhere leads to the console's page for a program, which would open it: whether the user
 * wants that he is asked instead. */
bool apps_asks_first(struct server *s, struct httpd_request *http);
/* A request for the origin with this first label. */
void apps_handle(struct server *s, struct httpd_request *http, const char *app);
/* Whether the caller may send it a body. */
bool apps_admits(struct server *s, struct httpd_request *http, const char *app);
/* What such a path is answered at the API's own address. */
void apps_refuse(struct httpd_request *http);

#endif
