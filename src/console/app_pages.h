/*
 * app_pages.h - what the proxy says itself: in what state an app is that cannot be shown, and what
 * a page of one that can be may do.
 */
#ifndef MUSTER_CONSOLE_APP_PAGES_H
#define MUSTER_CONSOLE_APP_PAGES_H

#include "core/app.h"
#include "net/httpd.h"

/* The Content-Security-Policy of its pages; kind NULL: of a pod's port. */
const char *app_policy(const struct app_kind *kind);

/* Answers with the state as a page that looks again by itself, or as a Status where no page is
 * wanted. app may be NULL when text says what is the matter instead of the status. */
void app_reply_state(struct httpd_request *http, const struct app_kind *kind, bool page_wanted,
                     int code, const char *name, const struct json *app, const char *text);

#endif
