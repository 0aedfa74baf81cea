/*
 * app_proxy.h - programs of pods behind our own address and its checks, HTTP and WebSocket: apps
 * (core/app.h) at PATH/NAMESPACE/NAME/, and any port of a pod at /app/NAMESPACE/pods/NAME/PORT/. A
 * client of the API: it connects to that very pod, and nowhere else.
 */
#ifndef MUSTER_CONSOLE_APP_PROXY_H
#define MUSTER_CONSOLE_APP_PROXY_H

#include "core/job.h"
#include "loop/loop.h"
#include "net/mount.h"
#include "port/node.h"
#include "port/transport.h"

#define APP_EXCHANGES_LIMIT 256u /* at a time */
#define APP_BODY_LIMIT_BYTES (UINT64_C(16) * 1024 * 1024 * 1024)
#define APP_PORT_PREFIX "/app"
#define APP_PARTS 2u /* of a path behind its prefix that say which: NAMESPACE/NAME */
#define APP_NAME_PART 1u
#define APP_PORT_PARTS 4u /* NAMESPACE/pods/NAME/PORT */
#define APP_PORT_NAME_PART 2u

struct app_proxy;

/* node: of this machine, on whose loopback its pods listen (core/job.h); it must outlive the proxy.
 * NULL: pods of a cluster, at their own addresses. */
struct app_proxy *app_proxy_new(struct loop *loop, struct transport *t, struct node *node,
                                const struct idle_times *times) must_check;
/* Before the transport and before the server; requests under way are answered or cut off. */
void app_proxy_free(struct app_proxy *p);
/* 403 for who may not open what is at this path, 404 where there is none. */
int app_proxy_may_open(const struct mount_request *r, const char *path, struct err *err) must_check;
/* A mount_fn; arg is the struct app_proxy. */
void app_proxy_handle(void *arg, const struct mount_request *r);
/* Ends the WebSockets of one session (net/sessions.h); arg likewise. */
void app_proxy_end_session(void *arg, uint64_t session);

#endif
