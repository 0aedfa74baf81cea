/*
 * tensorboard_proxy.h - /tensorboard/NAMESPACE/NAME/...: TensorBoards behind our own address and
 * its checks. A client of the API: what the object and its port's lease, or its pod, say is where
 * it connects to, and nowhere else.
 */
#ifndef MUSTER_CONSOLE_TENSORBOARD_PROXY_H
#define MUSTER_CONSOLE_TENSORBOARD_PROXY_H

#include "loop/loop.h"
#include "net/mount.h"
#include "port/transport.h"

#define TENSORBOARD_EXCHANGES_LIMIT 256u /* at a time */

struct tensorboard_proxy;

/* shared_network: pods listen on this machine's loopback (core/job.h); else at their own address.
 */
struct tensorboard_proxy *tensorboard_proxy_new(struct loop *loop, struct transport *t,
                                                bool shared_network) must_check;
/* Before the transport and before the server; requests under way are answered or cut off. */
void tensorboard_proxy_free(struct tensorboard_proxy *p);
/* A mount_fn; arg is the struct tensorboard_proxy. */
void tensorboard_proxy_handle(void *arg, const struct mount_request *r);

#endif
