/*
 * dial.h - a byte stream to the server of a URL, with or without TLS, for protocols that only start
 * as HTTP. Opening blocks, which suits command lines; reading and writing do not.
 *
 * Plain TCP needs no library; for TLS and proxies libcurl is loaded (net/curl_library.h).
 */
#ifndef MUSTER_NET_DIAL_H
#define MUSTER_NET_DIAL_H

#include <sys/types.h>

#include "net/reach.h"

struct dial;

struct dial_options {
    const char *url; /* "http://host[:port]..." or https; anything after the port is ignored */
    struct reach reach;
    int64_t timeout_ms; /* 0: DIAL_TIMEOUT_MS */
};

#define DIAL_TIMEOUT_MS 15000

struct dial *dial_open(const struct dial_options *options, struct err *err) must_check;
/* Wraps an existing plain, non-blocking connection; takes fd, even when out of memory. */
struct dial *dial_adopt(int fd) must_check;
void dial_close(struct dial *d);   /* NULL-safe */
int dial_fd(const struct dial *d); /* to watch; close-on-exec, not blocking */
/* The number of bytes, 0 at the end, -EAGAIN, or another negative errno. Read until -EAGAIN: data
 * may be buffered above the socket. */
ssize_t dial_read(struct dial *d, void *out, size_t len) must_check;
ssize_t dial_write(struct dial *d, const void *data, size_t len) must_check;

#endif
