/*
 * login.h - signing in from browsers: a token is presented once and becomes a session
 * (net/sessions.h), whose key the page keeps and sends as a bearer token. There is no cookie, so
 * the browser sends nothing on its own.
 *
 *   POST /console/v1/login   {"token": T} or {"code": C}, a one-time code: {"key": K}
 *   POST /console/v1/logout  ends the session and everything it has open
 *   GET  /console/v1/session who is signed in
 *   POST /console/v1/code    for the owner: returns such a code
 *   POST /console/v1/open    see apps.h
 */
#ifndef MUSTER_SERVER_LOGIN_H
#define MUSTER_SERVER_LOGIN_H

#include "net/httpd.h"
#include "server/tokens.h"

/* path: the file that stores sessions, or NULL. -ENOMEM. */
int login_start(struct server *s, const char *path) must_check;
/* Whether it is public. */
bool login_is_open(const struct httpd_request *http);
/* Answers the request if it is for one of the paths above. caller as for the API. */
bool login_handle(struct server *s, struct httpd_request *http, const struct caller *caller);
/* Whether it is a session's key; the request then belongs to that session, and *ret is the
 * caller. */
bool login_knows_key(struct server *s, struct httpd_request *http, const char *key,
                     const struct caller **ret);
/* The same for a session known by its id. */
bool login_knows_session(struct server *s, struct httpd_request *http, uint64_t session,
                         const struct caller **ret);

#endif
