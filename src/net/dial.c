/* dial.c - see dial.h. */
#include "net/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/curl_library.h"

#define HOST_SIZE 256
#define PORT_SIZE 8

struct dial {
    int fd;
    const struct curl_library *curl; /* NULL when plain */
    CURL *easy;
    struct reach_kept reach;
};

/* --- plain ----------------------------------------------------------------------------- */

/* "http://[::1]:7447/path" -> "::1", "7447" */
static bool split_url(const char *url, char host[HOST_SIZE], char port[PORT_SIZE])
{
    const char *at = strstr(url, "://");
    size_t host_len, port_len;

    if (!at)
        return false;
    at += 3;
    if (*at == '[') {
        at++;
        host_len = strcspn(at, "]");
    } else {
        host_len = strcspn(at, ":/?#");
    }
    if (host_len == 0 || host_len >= HOST_SIZE)
        return false;
    (void)snprintf(host, HOST_SIZE, "%.*s", (int)host_len, at);
    at += host_len;
    at += *at == ']';
    if (*at != ':') {
        (void)snprintf(port, PORT_SIZE, "80");
        return true;
    }
    port_len = strcspn(at + 1, "/?#");
    return (size_t)snprintf(port, PORT_SIZE, "%.*s", (int)port_len, at + 1) < PORT_SIZE;
}

static int try_address(const struct addrinfo *ai)
{
    const struct timeval limit = {.tv_sec = DIAL_TIMEOUT_MS / 1000};
    int on = 1, rc, fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* connect honours it */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    rc = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
    (void)close(fd);
    return rc;
}

static int connect_plain(struct dial *d, const char *url, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char host[HOST_SIZE], port[PORT_SIZE];
    int rc;

    if (!split_url(url, host, port))
        return err_set(err, ERR_BAD_REQUEST, "\"%s\" is not a server's address", url);
    rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot reach %s: %s", url, gai_strerror(rc));
    d->fd = -1;
    for (const struct addrinfo *ai = list; ai && d->fd < 0; ai = ai->ai_next)
        d->fd = try_address(ai);
    freeaddrinfo(list);
    return d->fd >= 0 ? 0
                      : err_set(err, ERR_UNAVAILABLE, "cannot reach %s: %s", url, strerror(-d->fd));
}

/* --- TLS, proxies ---------------------------------------------------------------------- */

static int perform(struct dial *d, const char *url, struct err *err)
{
    curl_socket_t fd = -1;
    CURLcode code = d->curl->easy_perform(d->easy);

    if (code == CURLE_OK)
        code = d->curl->easy_getinfo(d->easy, CURLINFO_ACTIVESOCKET, &fd);
    if (code != CURLE_OK || fd < 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot reach %s: %s", url,
                       d->curl->easy_strerror(code));
    d->fd = fd;
    return 0;
}

static int connect_by_library(struct dial *d, const struct dial_options *o, struct err *err)
{
    d->curl = curl_library_load(err);
    if (!d->curl)
        return -ENOENT;
    d->easy = d->curl->easy_init();
    if (!d->easy || d->curl->easy_setopt(d->easy, CURLOPT_URL, o->url) != CURLE_OK)
        return err_set(err, ERR_INTERNAL, "out of memory");
    (void)d->curl->easy_setopt(d->easy, CURLOPT_CONNECT_ONLY, 1L);
    (void)d->curl->easy_setopt(d->easy, CURLOPT_NOSIGNAL, 1L);
    (void)d->curl->easy_setopt(d->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)d->curl->easy_setopt(d->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
    (void)d->curl->easy_setopt(d->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)d->curl->easy_setopt(d->easy, CURLOPT_CONNECTTIMEOUT_MS,
                               (long)(o->timeout_ms ? o->timeout_ms : DIAL_TIMEOUT_MS));
    (void)d->curl->easy_setopt(d->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    if (reach_keep(&d->reach, d->curl, &o->reach, err) < 0)
        return -EIO;
    reach_apply(&d->reach, d->easy, o->url);
    return perform(d, o->url, err);
}

/* --- both ------------------------------------------------------------------------------ */

struct dial *dial_open(const struct dial_options *options, struct err *err)
{
    struct dial *d = calloc(1, sizeof(*d));
    int rc;

    if (!d) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    d->fd = -1;
    rc = strncmp(options->url, "https:", 6) == 0 || options->reach.proxy
             ? connect_by_library(d, options, err)
             : connect_plain(d, options->url, err);
    if (rc == 0)
        return d;
    dial_close(d);
    return NULL;
}

struct dial *dial_adopt(int fd)
{
    struct dial *d = calloc(1, sizeof(*d));

    if (d)
        d->fd = fd;
    else
        (void)close(fd);
    return d;
}

void dial_close(struct dial *d)
{
    if (!d)
        return;
    if (d->easy) {
        d->curl->easy_cleanup(d->easy);
        reach_release(&d->reach);
    } else if (d->fd >= 0) {
        (void)close(d->fd);
    }
    free(d);
}

int dial_fd(const struct dial *d)
{
    return d->fd;
}

ssize_t dial_read(struct dial *d, void *out, size_t len)
{
    size_t n = 0;
    ssize_t r;

    if (d->easy) {
        CURLcode code = d->curl->easy_recv(d->easy, out, len, &n);

        return code == CURLE_OK ? (ssize_t)n : code == CURLE_AGAIN ? -EAGAIN : -EIO;
    }
    do
        r = recv(d->fd, out, len, MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

ssize_t dial_write(struct dial *d, const void *data, size_t len)
{
    size_t n = 0;
    ssize_t r;

    if (d->easy) {
        CURLcode code = d->curl->easy_send(d->easy, data, len, &n);

        return code == CURLE_OK ? (ssize_t)n : code == CURLE_AGAIN ? -EAGAIN : -EIO;
    }
    do
        r = send(d->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}
