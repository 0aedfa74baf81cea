/*
 * api_proxy.h - passes requests on to the API server of a standalone console, with the caller's
 * token and no other rights. Lists, watches and followed logs are streamed: what the client does
 * not read is not read from the server.
 */
#ifndef MUSTER_CONSOLE_API_PROXY_H
#define MUSTER_CONSOLE_API_PROXY_H

#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "net/httpd.h"

#define API_PROXY_EXCHANGES_LIMIT 512u /* at a time */
#define API_PROXY_WAIT_MS 90000        /* until an answer begins */

struct api_proxy;

/* server: only its address and CA are used, never its credentials. Must outlive the loop. */
struct api_proxy *api_proxy_new(struct loop *l, const struct client_config *server,
                                struct err *err) must_check;
/* Requests under way are answered or aborted. */
void api_proxy_free(struct api_proxy *p);
/* Answers the request, now or later. */
void api_proxy_handle(struct api_proxy *p, struct httpd_request *http, const char *token);

#endif
