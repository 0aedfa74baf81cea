/*
 * origin.h - protects a server on the loopback from pages in its user's browser. Any page can reach
 * the port; it cannot read a token, but it does not get that far: a Host that is not this machine's
 * (DNS rebinding) and a foreign Origin are refused first. Over TLS any Host is accepted, because
 * the certificate only has our names.
 */
#ifndef MUSTER_NET_ORIGIN_H
#define MUSTER_NET_ORIGIN_H

#include "net/httpd.h"

/* ERR_FORBIDDEN with a message, ERR_BAD_REQUEST for a duplicate header. Like everything in this
 * header only inside handle. */
int origin_check(const struct httpd_request *http, struct err *err) must_check;

/*
 * Each app shown in the browser has its own origin, http://app-HASH.localhost:PORT: a Host that
 * browsers resolve to this machine by themselves. Nothing else is served at such a Host.
 */
#define ORIGIN_APP_PREFIX "app-"
#define ORIGIN_APP_DIGITS 32u
#define ORIGIN_APP_SIZE (sizeof(ORIGIN_APP_PREFIX) + ORIGIN_APP_DIGITS)
/* Whether the request is for such a Host; out is its first label. */
bool origin_is_app(const struct httpd_request *http, char out[ORIGIN_APP_SIZE]);
/* Like origin_check for those: only its own pages, and changes must carry their Origin. */
int origin_check_app(const struct httpd_request *http, struct err *err) must_check;
/* Whether the Host is one of this machine's names: over TLS it may be any. */
bool origin_is_loopback(const struct httpd_request *http);
/* The port of the request's Host: ":7447", or "". Points into the request. */
const char *origin_port(const struct httpd_request *http);
/* The value of the next cookie of that name, in the request's arena, or NULL. at: the header at
 * first, then its unread rest. */
const char *origin_cookie(struct httpd_request *http, const char *name, const char **at);

/* Prefix of the WebSocket subprotocol that carries the bearer token, base64url-encoded. */
#define ORIGIN_BEARER_PROTOCOL "base64url.bearer.authorization.k8s.io."
bool origin_is_bearer_protocol(const char *protocol);
/* The bearer token from the Authorization header or else from a WebSocket's subprotocol, or NULL.
 * Foreign pages can make a browser send neither. */
const char *origin_bearer(struct httpd_request *http);

/* Whether it can be used verbatim in a request line or header. */
bool origin_is_printable(const char *text);

/* For text in a page, or a value in double quotes. */
void html_escape(struct buf *out, const char *text);

/* Answers with the error as a Status. */
void origin_refuse(struct httpd_request *http, const struct err *err);
void origin_refuse_with(struct httpd_request *http, enum err_reason reason, const char *text);

#endif
