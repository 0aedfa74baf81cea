/* webhook.c - see webhook.h. */
#include "net/webhook.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/version.h"
#include "net/http_client.h"

#define TIMEOUT_MS 10000

struct webhook_post {
    struct webhook_post *next, **at;
    struct http_exchange *exchange;
    webhook_fn *fn;
    void *arg;
    int code;
};

struct web {
    struct webhook port;
    struct loop *loop;
    struct http_client *client; /* created for the first post: few daemons need one */
    struct webhook_post *posts;
    bool local;
};

/* --- allowed destinations --- */

static bool is_within(const unsigned char *address, const unsigned char *net, unsigned bits)
{
    unsigned bytes = bits / 8, rest = bits % 8;

    return memcmp(address, net, bytes) == 0 &&
           (!rest || (address[bytes] ^ net[bytes]) >> (8 - rest) == 0);
}

/* A server listening on all addresses also listens on those of the machine's networks. */
static bool is_own(int family, const unsigned char *address)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) != 0)
        return true;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        const void *own =
            !i->ifa_addr || i->ifa_addr->sa_family != family ? NULL
            : family == AF_INET
                ? (const void *)&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr
                : &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;

        found = own && memcmp(own, address, family == AF_INET ? 4 : 16) == 0;
    }
    freeifaddrs(all);
    return found;
}

static bool may_reach_4(const unsigned char *address)
{
    static const struct {
        unsigned char net[4];
        unsigned bits;
    } refused[] = {{{0}, 8}, {{127}, 8}, {{169, 254}, 16}, {{224}, 3}};

    for (size_t i = 0; i < ELEMS(refused); i++)
        if (is_within(address, refused[i].net, refused[i].bits))
            return false;
    return !is_own(AF_INET, address);
}

static bool may_reach_6(const unsigned char *address)
{
    /* The last: cloud metadata (credentials) over IPv6. */
    static const struct {
        unsigned char net[16];
        unsigned bits;
    } refused[] = {
        {{0xfe, 0x80}, 10}, {{0xff}, 8}, {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128}};
    /* Other notations of an IPv4 address: mapped, compatible (including ::1 and ::), NAT64,
     * 6to4. */
    static const struct {
        unsigned char net[16];
        unsigned bits, at;
    } wrapped[] = {{{[10] = 0xff, 0xff}, 96, 12},
                   {{0}, 96, 12},
                   {{0x00, 0x64, 0xff, 0x9b}, 96, 12},
                   {{0x20, 0x02}, 16, 2}};

    for (size_t i = 0; i < ELEMS(refused); i++)
        if (is_within(address, refused[i].net, refused[i].bits))
            return false;
    for (size_t i = 0; i < ELEMS(wrapped); i++)
        if (is_within(address, wrapped[i].net, wrapped[i].bits))
            return may_reach_4(address + wrapped[i].at);
    return !is_own(AF_INET6, address);
}

bool webhook_may_reach(const struct sockaddr *to)
{
    if (to->sa_family == AF_INET)
        return may_reach_4((const void *)&((const struct sockaddr_in *)(const void *)to)->sin_addr);
    return to->sa_family == AF_INET6 &&
           may_reach_6((const void *)&((const struct sockaddr_in6 *)(const void *)to)->sin6_addr);
}

static bool may_reach_any(const struct sockaddr *to)
{
    return to->sa_family == AF_INET || to->sa_family == AF_INET6;
}

/* --- posting --- */

static void post_free(struct webhook_post *p)
{
    *p->at = p->next;
    if (p->next)
        p->next->at = p->at;
    free(p);
}

static void end(struct webhook_post *p, const struct webhook_result *result)
{
    webhook_fn *fn = p->fn;
    void *arg = p->arg;

    post_free(p);
    fn(arg, result);
}

/* The response head is enough; the body is ignored. */
static void on_header(void *arg, const char *line, size_t len)
{
    struct webhook_post *p = arg;
    char text[32];

    if (len > 9 && strncmp(line, "HTTP/", 5) == 0) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)min_i64((int64_t)len, 31), line);
        p->code = (int)strtol(strchr(text, ' ') ? strchr(text, ' ') : "", NULL, 10);
    } else if ((*line == '\r' || *line == '\n') && p->code >= 200) {
        http_exchange_cancel(p->exchange);
        end(p, &(struct webhook_result){.code = p->code, .why = ""});
    }
}

static void on_data(void *arg, const char *data, size_t len)
{
    (void)arg;
    (void)data;
    (void)len;
}

static void on_end(void *arg, const struct http_result *result)
{
    end(arg, &(struct webhook_result){.why = result->cause, .for_good = result->refused});
}

static struct webhook_post *post(struct webhook *port, const struct webhook_request *r,
                                 webhook_fn *fn, void *arg)
{
    struct web *w = container_of(port, struct web, port);
    char id[128];
    const char *const headers[] = {"Content-Type: application/json",
                                   "User-Agent: muster/" MUSTER_VERSION, id, NULL};
    const struct http_request request = {.method = "POST",
                                         .url = r->url,
                                         .headers = headers,
                                         .body = r->body,
                                         .body_len = r->body_len,
                                         .timeout_ms = TIMEOUT_MS,
                                         .may_reach = w->local ? may_reach_any : webhook_may_reach};
    struct webhook_post *p;
    auto_err err = ERR_INIT;

    if (!w->client)
        w->client = http_client_new(w->loop, &(struct reach){.proxy = ""}, &err);
    if (!w->client)
        log_error("webhooks: %s", err.text);
    p = w->client ? calloc(1, sizeof(*p)) : NULL;
    if (!p)
        return NULL;
    (void)snprintf(id, sizeof(id), "Muster-Delivery: %.100s", r->id);
    p->fn = fn;
    p->arg = arg;
    p->exchange = http_client_start(
        w->client, &request,
        &(struct http_handler){
            .on_data = on_data, .on_header = on_header, .on_end = on_end, .arg = p});
    if (!p->exchange) {
        free(p);
        return NULL;
    }
    p->next = w->posts;
    p->at = &w->posts;
    if (p->next)
        p->next->at = &p->next;
    w->posts = p;
    return p;
}

static void cancel(struct webhook_post *p)
{
    http_exchange_cancel(p->exchange);
    post_free(p);
}

static const struct webhook_ops ops = {.post = post, .cancel = cancel};

struct webhook *webhook_new(struct loop *l, bool local)
{
    struct web *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    *w = (struct web){.port = {.ops = &ops}, .loop = l, .local = local};
    return &w->port;
}

void webhook_free(struct webhook *port)
{
    struct web *w = port ? container_of(port, struct web, port) : NULL;

    if (!w)
        return;
    http_client_free(w->client);
    while (w->posts)
        post_free(w->posts);
    free(w);
}
