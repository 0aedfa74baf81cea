/*
 * upgrade.c - see upgrade.h. Over SPDY the protocol is always v4: every kubectl offers it, and
 * kubectl 1.20 fails on a v5 it did not ask for. A kubectl whose WebSocket is refused tries SPDY
 * next, whatever the reason.
 */
#include "net/upgrade.h"

#include <string.h>
#include <strings.h>

#include "net/websocket.h"

#define WEBSOCKET_VERSION "13"
#define WEBSOCKET_KEY_LIMIT 64u

static const struct {
    const char *upgrade;  /* the Upgrade header */
    const char *offer;    /* the header with the client's offers */
    const char *protocol; /* best first */
    enum upgrade_use use;
    enum mux_kind kind;
} protocols[] = {
    {"websocket", "Sec-WebSocket-Protocol", "v5.channel.k8s.io", UPGRADE_REMOTE_COMMAND,
     MUX_CHANNELS},
    {"websocket", "Sec-WebSocket-Protocol", "v4.channel.k8s.io", UPGRADE_REMOTE_COMMAND,
     MUX_CHANNELS},
    {"SPDY/3.1", "X-Stream-Protocol-Version", "v4.channel.k8s.io", UPGRADE_REMOTE_COMMAND,
     MUX_SPDY},
    {"websocket", "Sec-WebSocket-Protocol", "SPDY/3.1+portforward.k8s.io", UPGRADE_PORT_FORWARD,
     MUX_TUNNEL_SPDY},
    {"websocket", "Sec-WebSocket-Protocol", "v4.channel.k8s.io", UPGRADE_PORT_FORWARD,
     MUX_CHANNELS},
    {"SPDY/3.1", "X-Stream-Protocol-Version", "portforward.k8s.io", UPGRADE_PORT_FORWARD, MUX_SPDY},
};

static const char *header(const struct upgrade_request *r, const char *name)
{
    return r->header(r->arg, name);
}

/* Whether a comma-separated list contains the word, ignoring case. */
static bool list_has(const char *list, const char *word)
{
    size_t len = strlen(word);

    while (list && *list) {
        size_t n;

        list += strspn(list, ", \t");
        n = strcspn(list, ", \t");
        if (n == len && strncasecmp(list, word, len) == 0)
            return true;
        list += n;
    }
    return false;
}

static int accept_websocket(const struct upgrade_request *r, struct arena *a, struct upgrade *u,
                            struct err *err)
{
    const char *key = header(r, "Sec-WebSocket-Key");
    const char *version = header(r, "Sec-WebSocket-Version");
    char *accept = arena_alloc(a, WEBSOCKET_ACCEPT_SIZE);

    if (!key || !*key || strlen(key) > WEBSOCKET_KEY_LIMIT || !version ||
        strcmp(version, WEBSOCKET_VERSION) != 0 || strcmp(r->method, "GET") != 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "a WebSocket is opened with GET, version " WEBSOCKET_VERSION " and a key");
    if (!accept)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    websocket_accept(key, accept);
    u->headers[u->header_count++] = (struct httpd_header){"Sec-WebSocket-Accept", accept};
    return 0;
}

static int nothing_offered(const struct upgrade_request *r, const char *upgrade, struct err *err)
{
    bool websocket = strcasecmp(upgrade, "websocket") == 0;
    const char *offers = header(r,
                                websocket ? "Sec-WebSocket-Protocol" : "X-Stream-Protocol-Version");

    if (!*upgrade)
        return err_set(err, ERR_BAD_REQUEST, "Upgrade request required");
    return err_set(
        err, ERR_BAD_REQUEST,
        "unable to upgrade to \"%.40s\": the client offers \"%.200s\", which is not supported here",
        upgrade, offers ? offers : "");
}

int upgrade_negotiate(const struct upgrade_request *r, enum upgrade_use use, struct arena *a,
                      struct upgrade *ret, struct err *err)
{
    const char *upgrade = header(r, "Upgrade");

    if (!upgrade || !list_has(header(r, "Connection"), "Upgrade"))
        upgrade = "";
    for (size_t i = 0; i < ELEMS(protocols); i++) {
        if (protocols[i].use != use || strcasecmp(protocols[i].upgrade, upgrade) != 0 ||
            !list_has(header(r, protocols[i].offer), protocols[i].protocol))
            continue;
        *ret = (struct upgrade){
            .kind = protocols[i].kind,
            .headers = {{"Upgrade", protocols[i].upgrade},
                        {protocols[i].offer, protocols[i].protocol}},
            .header_count = 2,
        };
        return protocols[i].kind == MUX_SPDY ? 0 : accept_websocket(r, a, ret, err);
    }
    return nothing_offered(r, upgrade, err);
}
