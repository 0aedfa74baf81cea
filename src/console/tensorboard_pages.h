/*
 * tensorboard_pages.h - what the proxy says itself: in what state a TensorBoard is that cannot be
 * shown, and what a page of one that can be may do.
 */
#ifndef MUSTER_CONSOLE_TENSORBOARD_PAGES_H
#define MUSTER_CONSOLE_TENSORBOARD_PAGES_H

#include "base/json.h"
#include "net/httpd.h"

/* The Content-Security-Policy of TensorBoard's pages. */
extern const char tensorboard_policy[];

/* Answers with the state as a page that looks again by itself, or as a Status where no page is
 * wanted. board may be NULL; text, when given, says what is the matter instead of the status. */
void tensorboard_reply_state(struct httpd_request *http, bool page_wanted, int code,
                             const struct json *board, const char *text);

#endif
