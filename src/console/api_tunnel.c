/* api_tunnel.c - see api_tunnel.h. */
#include "console/api_tunnel.h"

#include <string.h>

#include "net/origin.h"

#define HEAD_LIMIT_BYTES (64u * 1024u)

/* "https://host:6443/prefix" -> "/prefix" */
static const char *prefix_of(const char *server)
{
    const char *host = strstr(server, "://");

    return strchrnul(host ? host + 3 : server, '/');
}

static void write_request(struct buf *out, const struct httpd_request *http, const char *server,
                          const char *token)
{
    const char *prefix = prefix_of(server), *host = strstr(server, "://");

    host = host ? host + 3 : server;
    buf_addf(out,
             "GET %s%s%s%s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: muster-console\r\n"
             "Authorization: Bearer %s\r\n",
             prefix, http->path, *http->query ? "?" : "", http->query, (int)(prefix - host), host,
             token);
}

void api_tunnel_handle(struct ws_tunnels *all, const struct client_config *server,
                       struct httpd_request *http, const char *token)
{
    const struct dial_options to = {.url = server->server, .reach = client_reach_of_others(server)};
    struct buf request = BUF_INIT(HEAD_LIMIT_BYTES);
    auto_err err = ERR_INIT;

    write_request(&request, http, server->server, token);
    if (ws_handshake_add(&request, http, &err) < 0)
        origin_refuse(http, &err);
    else
        ws_tunnel_start(all, http, &request,
                        &(struct ws_tunnel_for){.user = "", .program = "", .server = &to});
    buf_release(&request);
}
