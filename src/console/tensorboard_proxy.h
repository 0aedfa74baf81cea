/*
 * tensorboard_proxy.h - /tensorboard/NAMESPACE/NAME/...: TensorBoards behind our own address and
 * its checks. A client of the API: it connects to the TensorBoard's own pod, and nowhere else.
 */
#ifndef MUSTER_CONSOLE_TENSORBOARD_PROXY_H
#define MUSTER_CONSOLE_TENSORBOARD_PROXY_H

#include "loop/loop.h"
#include "net/mount.h"
#include "port/node.h"
#include "port/transport.h"

#define TENSORBOARD_EXCHANGES_LIMIT 256u /* at a time */

struct tensorboard_proxy;

/* node: of this machine, on whose loopback its pods listen (core/job.h); it must outlive the proxy.
 * NULL: pods of a cluster, at their own addresses. */
struct tensorboard_proxy *tensorboard_proxy_new(struct loop *loop, struct transport *t,
                                                struct node *node) must_check;
/* Before the transport and before the server; requests under way are answered or cut off. */
void tensorboard_proxy_free(struct tensorboard_proxy *p);
/* A mount_fn; arg is the struct tensorboard_proxy. */
void tensorboard_proxy_handle(void *arg, const struct mount_request *r);

#endif
