/*
 * origin.h - a server on the loopback and the pages in its user's browser. Any page can reach the
 * port; it cannot read a token, but it need not get that far: a Host that is not this machine's
 * (DNS rebinding) and an Origin that is not ours are refused first. Over TLS any Host will do: the
 * certificate has our names only.
 */
#ifndef MUSTER_NET_ORIGIN_H
#define MUSTER_NET_ORIGIN_H

#include "net/httpd.h"

/* ERR_FORBIDDEN with a sentence, ERR_BAD_REQUEST for a header that is there twice. Only inside
 * handle, as all of this header. */
int origin_check(const struct httpd_request *http, struct err *err) must_check;

/*
 * Programs that are shown in the browser have an origin each, http://app-HASH.localhost:PORT: a
 * Host that browsers take to this machine without asking anybody. At such a Host nothing else is
 * served.
 */
#define ORIGIN_APP_PREFIX "app-"
#define ORIGIN_APP_DIGITS 32u
#define ORIGIN_APP_SIZE (sizeof(ORIGIN_APP_PREFIX) + ORIGIN_APP_DIGITS)
/* Whether the request is for such a Host; out is its first label. */
bool origin_is_app(const struct httpd_request *http, char out[ORIGIN_APP_SIZE]);
/* What origin_check is for others: only its own pages, and they say so when they change something.
 */
int origin_check_app(const struct httpd_request *http, struct err *err) must_check;
/* Whether the Host is one of this machine's own names: over TLS it may be any. */
bool origin_is_loopback(const struct httpd_request *http);
/* Of the request's Host: ":7447", or "". In the request. */
const char *origin_port(const struct httpd_request *http);
/* A cookie's value, in the request's arena; NULL without one. */
const char *origin_cookie(struct httpd_request *http, const char *name);

/* A WebSocket's subprotocol that carries the bearer token, in base64 for URLs, behind this. */
#define ORIGIN_BEARER_PROTOCOL "base64url.bearer.authorization.k8s.io."
bool origin_is_bearer_protocol(const char *protocol);
/* The bearer token of the Authorization header or, without that header, of a WebSocket's
 * subprotocol; NULL without one. Pages elsewhere can make a browser send neither. */
const char *origin_bearer(struct httpd_request *http);

/* Whether it can stand in a request line or a header as it is. */
bool origin_is_printable(const char *text);

/* As text of a page, or a value between double quotes there. */
void html_escape(struct buf *out, const char *text);

/* Answers with the error as a Status. */
void origin_refuse(struct httpd_request *http, const struct err *err);
void origin_refuse_with(struct httpd_request *http, enum err_reason reason, const char *text);

#endif
