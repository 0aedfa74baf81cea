/*
 * app_proxy.h - programs in pods behind our own address and its checks (app_place.h), for HTTP and
 * WebSocket. A client of the API: it connects to that very pod and nothing else.
 */
#ifndef MUSTER_CONSOLE_APP_PROXY_H
#define MUSTER_CONSOLE_APP_PROXY_H

#include "console/app_place.h"
#include "core/job.h"
#include "loop/loop.h"
#include "net/mount.h"
#include "port/node.h"
#include "port/transport.h"

#define APP_EXCHANGES_LIMIT 256u /* at a time */
#define APP_BODY_LIMIT_BYTES (UINT64_C(16) * 1024 * 1024 * 1024)
#define APP_PARTS 2u /* path segments that identify it: NAMESPACE/NAME */
#define APP_NAME_PART 1u
#define APP_PORT_PARTS 4u /* NAMESPACE/pods/NAME/PORT */
#define APP_PORT_NAME_PART 2u

struct app_proxy;

/* node: of this machine, on whose loopback its pods listen (core/job.h); must outlive the proxy.
 * NULL: pods of a cluster, at their own addresses. */
struct app_proxy *app_proxy_new(struct loop *loop, struct transport *t, struct node *node,
                                const struct idle_times *times) must_check;
/* Before the transport and the server; requests under way are answered or aborted. */
void app_proxy_free(struct app_proxy *p);
/* 403 if the caller may not open this path, 404 if there is nothing. */
int app_proxy_may_open(const struct mount_request *r, const char *path, struct err *err) must_check;
/* A mount_fn; arg is the struct app_proxy. */
void app_proxy_handle(void *arg, const struct mount_request *r);
/* Closes the WebSockets of one session (net/sessions.h); arg as above. */
void app_proxy_end_session(void *arg, uint64_t session);

#endif
