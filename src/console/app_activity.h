/*
 * app_activity.h - polls apps that compute on their own (core/app.h), so that a busy kernel whose
 * page is closed counts as used. One after the other, now and then, through the node into that very
 * pod; nothing else costs anything.
 */
#ifndef MUSTER_CONSOLE_APP_ACTIVITY_H
#define MUSTER_CONSOLE_APP_ACTIVITY_H

#include "base/buf.h"
#include "client/client.h"
#include "core/app.h"
#include "loop/loop.h"
#include "port/node.h"

struct app_activity;

/* Transport and node must outlive it. */
struct app_activity *app_activity_new(struct loop *loop, struct transport *t, struct node *node,
                                      const struct idle_times *times) must_check;
void app_activity_free(struct app_activity *w);

/* Records when it was used, in an annotation of core/app.h. False: out of memory, and fn is not
 * called. */
bool app_say_used(struct transport *t, struct arena *a, const struct kind *k, const char *ns,
                  const char *name, const char *annotation, int64_t when_ms, client_fn *fn,
                  void *arg);
/* The token header for an app that executes code; token "": none. */
void app_add_token(struct buf *out, const char *token);

#define APP_PROGRAM_HOST "localhost" /* the Host in our requests to an app */

#endif
