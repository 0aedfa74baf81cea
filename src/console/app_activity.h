/*
 * app_activity.h - asks programs that compute by themselves (core/app.h) whether they are at it, so
 * that a kernel whose page is closed counts as used. One after the other, now and then, through the
 * node's door into that very pod: what is not being asked costs nothing.
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

/* Writes down when it was used. False: there is no memory for that, and fn is not called. */
bool app_say_used(struct transport *t, struct arena *a, const struct kind *k, const char *ns,
                  const char *name, int64_t when_ms, client_fn *fn, void *arg);
/* The header a program that runs what it is told wants to see; token "": nothing. */
void app_add_token(struct buf *out, const char *token);

#define APP_PROGRAM_HOST "localhost" /* what a program is asked by */

#endif
