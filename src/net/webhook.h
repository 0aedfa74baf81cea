/*
 * webhook.h - webhooks over HTTP and HTTPS (port/webhook.h). What holds for any address:
 * no redirect is followed, no proxy asked, no body read, ten seconds in all; and where the
 * connection leads is looked at after names were resolved: loopback, link-local (where clouds keep
 * their machines' credentials), multicast and unspecified addresses are refused unless local is
 * set.
 */
#ifndef MUSTER_NET_WEBHOOK_H
#define MUSTER_NET_WEBHOOK_H

#include <sys/socket.h>

#include "loop/loop.h"
#include "port/webhook.h"

struct webhook *webhook_new(struct loop *l, bool local) must_check;
void webhook_free(struct webhook *w); /* NULL-safe; drops posts without calling back */
/* Whether webhooks may go there at all. */
bool webhook_may_reach(const struct sockaddr *to);

#endif
