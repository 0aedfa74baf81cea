/*
 * webhook.h - webhooks over HTTP and HTTPS (port/webhook.h). For any address: redirects are not
 * followed, proxies and answer bodies are ignored, and everything must finish in ten seconds. The
 * destination is checked after names are resolved: loopback, link-local (where clouds serve machine
 * credentials), multicast and unspecified addresses are refused unless local is set.
 */
#ifndef MUSTER_NET_WEBHOOK_H
#define MUSTER_NET_WEBHOOK_H

#include <sys/socket.h>

#include "loop/loop.h"
#include "port/webhook.h"

struct webhook *webhook_new(struct loop *l, bool local) must_check;
void webhook_free(struct webhook *w); /* NULL-safe; drops posts without calling back */
/* Whether webhooks may go to this address. */
bool webhook_may_reach(const struct sockaddr *to);

#endif
