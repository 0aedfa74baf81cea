/*
 * login.h - browsers: a token is shown once and becomes a cookie that scripts cannot read.
 *
 *   POST /console/v1/login   {"token": T}: 204 and the cookie
 *   GET  /login?code=C       the same for a code that is good once; to the console
 *   POST /console/v1/logout  the cookie is taken back
 *   GET  /console/v1/session who is signed in
 *   POST /console/v1/code    for the owner: such a code
 *
 * The cookie holds no token of the owner, only a signed time until which it is good; of a service
 * account it holds the token itself, which ends by itself. A page elsewhere that makes the browser
 * send the cookie gets nowhere: changes need a header it cannot add, and WebSockets an Origin.
 */
#ifndef MUSTER_SERVER_LOGIN_H
#define MUSTER_SERVER_LOGIN_H

#include "net/httpd.h"
#include "server/tokens.h"

/* Whether anybody may ask this, signed in or not. */
bool login_is_open(const struct httpd_request *http);
/* Whether it is one of the paths above; it is answered then. caller as for the API. */
bool login_handle(struct server *s, struct httpd_request *http, const struct caller *caller);
/* Who the cookie is of; false when there is none, or it is good no more, or the
 * request is not one that a cookie suffices for (then err says so). */
bool login_by_cookie(struct server *s, struct httpd_request *http, const struct caller **ret,
                     struct err *err);

#endif
