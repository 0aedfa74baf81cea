/*
 * api_proxy.h - passes requests on to the API server of a console that is a process of its own,
 * with the caller's token and no other rights. Lists, watches and followed logs come through as
 * they are taken: what the client does not take is not read.
 */
#ifndef MUSTER_CONSOLE_API_PROXY_H
#define MUSTER_CONSOLE_API_PROXY_H

#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "net/httpd.h"

#define API_PROXY_EXCHANGES_LIMIT 512u /* at a time */
#define API_PROXY_WAIT_MS 90000        /* until an answer begins */

struct api_proxy;

/* server: of config its address and its authority count, never its credentials. It must outlive the
 * loop. */
struct api_proxy *api_proxy_new(struct loop *l, const struct client_config *server,
                                struct err *err) must_check;
/* Requests under way are answered or cut off. */
void api_proxy_free(struct api_proxy *p);
/* Answers the request, now or later. */
void api_proxy_handle(struct api_proxy *p, struct httpd_request *http, const char *token);

#endif
