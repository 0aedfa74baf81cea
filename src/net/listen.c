/* listen.c - see listen.h. Resolves nothing: an address is numeric, or "localhost". */
#include "net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024
#define HOST_SIZE 64

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } u;
    socklen_t len;
};

/* Splits "[::1]:80" and "127.0.0.1:80" into host and port; false for any other form. */
static bool split(const char *text, char host[HOST_SIZE], unsigned *port)
{
    const char *colon = strrchr(text, ':');
    bool bracketed = text[0] == '[';
    unsigned long n;
    size_t len;
    char *end;

    if (!colon || colon == text || colon[1] < '0' || colon[1] > '9')
        return false;
    n = strtoul(colon + 1, &end, 10);
    if (*end || n > 65535 || (bracketed && colon[-1] != ']'))
        return false;
    len = (size_t)(colon - text) - (bracketed ? 2 : 0);
    if (len == 0 || len >= HOST_SIZE)
        return false;
    memcpy(host, text + (bracketed ? 1 : 0), len);
    host[len] = '\0';
    *port = (unsigned)n;
    return true;
}

static bool parse(const char *host, unsigned port, struct address *ret)
{
    *ret = (struct address){0};
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &ret->u.v4.sin_addr) == 1) {
        ret->u.v4.sin_family = AF_INET;
        ret->u.v4.sin_port = htons((uint16_t)port);
        ret->len = sizeof(ret->u.v4);
        return true;
    }
    if (inet_pton(AF_INET6, host, &ret->u.v6.sin6_addr) == 1) {
        ret->u.v6.sin6_family = AF_INET6;
        ret->u.v6.sin6_port = htons((uint16_t)port);
        ret->len = sizeof(ret->u.v6);
        return true;
    }
    return false;
}

static bool is_loopback(const struct address *a)
{
    if (a->u.any.sa_family == AF_INET)
        return ntohl(a->u.v4.sin_addr.s_addr) >> 24 == 127;
    if (IN6_IS_ADDR_V4MAPPED(&a->u.v6.sin6_addr))
        return a->u.v6.sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->u.v6.sin6_addr);
}

bool listen_is_loopback(const struct sockaddr_storage *address)
{
    struct address a;

    memcpy(&a.u, address, sizeof(a.u));
    return is_loopback(&a);
}

static int bind_and_listen(int fd, struct address *a, unsigned *ret_port)
{
    int on = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, &a->u.any, a->len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &a->u.any, &a->len) < 0)
        return -errno;
    *ret_port = ntohs(a->u.any.sa_family == AF_INET ? a->u.v4.sin_port : a->u.v6.sin6_port);
    return 0;
}

static int read_address(const char *text, struct address *ret, struct err *err)
{
    char host[HOST_SIZE];
    unsigned port;

    if (split(text, host, &port) && parse(host, port, ret))
        return 0;
    err_set(err, ERR_BAD_REQUEST, "cannot listen on \"%s\": it is not an address", text);
    err_hint(err, "write ADDRESS:PORT, for example 127.0.0.1:7447; port 0 picks a free one");
    return -EINVAL;
}

int listen_check(const char *address, struct err *err)
{
    struct address ignored;

    return read_address(address, &ignored, err);
}

int listen_open(const char *address, bool loopback_only, unsigned *ret_port, struct err *err)
{
    struct address a;
    int fd, r = read_address(address, &a, err);

    if (r)
        return r;
    if (loopback_only && !is_loopback(&a)) {
        err_set(err, ERR_FORBIDDEN,
                "cannot listen on %s: without TLS only this machine may connect", address);
        err_hint(err, "use 127.0.0.1 or [::1], and an ssh tunnel from elsewhere");
        return -EPERM;
    }
    fd = socket(a.u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    r = fd < 0 ? -errno : bind_and_listen(fd, &a, ret_port);
    if (r == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    err_set(err, ERR_UNAVAILABLE, "cannot listen on %s: %s", address, strerror(-r));
    if (r == -EADDRINUSE)
        err_hint(err, "another muster may be running there; choose another port with --listen");
    return r;
}

int listen_hold_other(const char *address, unsigned port)
{
    struct address own, other;
    int fd, on = 1, r;

    if (read_address(address, &own, NULL) < 0 ||
        !parse(own.u.any.sa_family == AF_INET ? "::1" : "127.0.0.1", port, &other) ||
        (own.u.any.sa_family == AF_INET6 && !is_loopback(&own))) /* it covers both already */
        return -1;
    fd = socket(other.u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (other.u.any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, &other.u.any, other.len) == 0)
        return fd;
    r = errno == EADDRINUSE ? -EADDRINUSE : -1;
    (void)close(fd);
    return r;
}
