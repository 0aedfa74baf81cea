/*
 * app_pages.h - the proxy's own pages: the state of an app that cannot be shown; and the policy for
 * an app's pages.
 */
#ifndef MUSTER_CONSOLE_APP_PAGES_H
#define MUSTER_CONSOLE_APP_PAGES_H

#include "core/app.h"
#include "net/httpd.h"

/* The Content-Security-Policy of its pages; kind NULL: for a pod's port. */
const char *app_policy(const struct app_kind *kind);
/* Of pages that a program sends through the API's proxy subresource. They are shown by what passes
 * on a user's requests there, such as kubectl proxy, and must not be of the same origin as the API.
 */
#define APP_API_POLICY                                                                             \
    "sandbox allow-scripts allow-forms allow-popups allow-downloads; frame-ancestors 'none'"

/* Answers with the state as a page that reloads itself, or as a Status if no page is wanted. app
 * may be NULL when text replaces its status. */
void app_reply_state(struct httpd_request *http, const struct app_kind *kind, bool page_wanted,
                     int code, const char *name, const struct json *app, const char *text);

#endif
