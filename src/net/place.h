/*
 * place.h - a server on the loopback and the pages in its user's browser. Any page can reach the
 * port; it cannot read a token, but it need not get that far: a Host that is not this machine's
 * (DNS rebinding) and an Origin that is not ours are refused first.
 */
#ifndef MUSTER_NET_PLACE_H
#define MUSTER_NET_PLACE_H

#include "net/httpd.h"

/* ERR_FORBIDDEN with a sentence, ERR_BAD_REQUEST for a header that is there twice. Only inside handle, as all of this header. */
int place_check(const struct httpd_request *http, struct err *err) must_check;

/*
 * The cookie of who is signed in. It is named by our port: browsers keep cookies by host alone, and
 * two servers of one machine would sign each other's users out.
 */
const char *place_cookie_name(struct httpd_request *http); /* in the request's arena */
/* Its value, in the request's arena; NULL without one. */
const char *place_cookie(struct httpd_request *http);
/* The header that sets it for so long, in the arena; "" and 0 take it back. Also later. */
const char *place_set_cookie(struct arena *a, const char *name, const char *value, int64_t seconds);
/* Whether a cookie is enough for this request: pages elsewhere can make a browser send it, but not
 * the header that changes need, nor a WebSocket's Origin. */
int place_check_cookie_use(const struct httpd_request *http, struct err *err) must_check;

/* Answers with the error as a Status. */
void place_refuse(struct httpd_request *http, const struct err *err);

#endif
