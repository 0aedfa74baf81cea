/*
 * apps.h - apps of pods in the user's browser (TensorBoard, any port). Each has its own origin,
 * http://app-HASH.localhost:PORT/PREFIX/NAMESPACE/NAME/: HASH is keyed with a secret and covers the
 * path and the object's UID, so that a later object of that name has another origin. The API is not
 * served there, and nothing a page of that origin has is accepted by the API.
 *
 * - POST /console/v1/open {"path": "/PREFIX/NAMESPACE/NAME/..."} answers {"url": U}: for a session,
 *   to be used once
 * - GET U sets a cookie of that origin and continues to the path
 *
 * The cookie names a session and is signed for that one origin and for the user of this machine
 * whose browser opened it: browsers send it to every port of that host, where other users may
 * listen, but it is worthless to them. It ends with the session. A browser without one is sent to
 * the console, which signs in and comes back.
 */
#ifndef MUSTER_SERVER_APPS_H
#define MUSTER_SERVER_APPS_H

#include "server/internal.h"

/* POST /console/v1/open, for a known caller. */
void apps_open(struct server *s, struct httpd_request *http, const struct caller *caller);
/* The session has ended. */
void apps_forget(struct server *s, uint64_t session);
/* Whether a page elsewhere leads to the console's page that would open an app: then the user is
 * asked instead. */
bool apps_asks_first(struct server *s, struct httpd_request *http);
/* A request to the origin with this first label. */
void apps_handle(struct server *s, struct httpd_request *http, const char *app);
/* Whether the caller may send it a body. */
bool apps_admits(struct server *s, struct httpd_request *http, const char *app);
/* Answers such a path at the API's own address. */
void apps_refuse(struct httpd_request *http);

#endif
