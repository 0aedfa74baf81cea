/*
 * apps.h - programs of pods in the user's browser (TensorBoard, any port). Each is at an origin of
 * its own, http://app-HASH.localhost:PORT/PREFIX/NAMESPACE/NAME/: HASH is made of that path with a
 * secret. There is nothing of the API there, and nothing that a page of that origin has is good for
 * it.
 *
 *   POST /console/v1/open {"path": "/PREFIX/NAMESPACE/NAME/..."}   {"url": U}: for a session, good
 * once GET  U                                                         a cookie of that origin, and
 * on
 *
 * The cookie names a session and is signed for that one origin: it ends with the session. Who has
 * none is sent to the console, whose page signs in and comes back.
 */
#ifndef MUSTER_SERVER_APPS_H
#define MUSTER_SERVER_APPS_H

#include "server/internal.h"

/* POST /console/v1/open, of who is known. */
void apps_open(struct server *s, struct httpd_request *http);
/* A request for the origin with this first label. */
void apps_handle(struct server *s, struct httpd_request *http, const char *app);
/* Whether the caller may send it a body. */
bool apps_admits(struct server *s, struct httpd_request *http, const char *app);
/* What such a path is answered at the API's own address. */
void apps_refuse(struct httpd_request *http);

#endif
