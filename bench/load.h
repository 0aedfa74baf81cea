/* load.h - what the programs share that load a server: time, latencies, plain HTTP on loopback. */
#ifndef MUSTER_BENCH_LOAD_H
#define MUSTER_BENCH_LOAD_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 4096 /* 32 to each doubling of microseconds */

struct histogram {
    uint64_t count[BUCKETS], all, max_us;
};

static struct {
    unsigned port;
    const char *token;
} server;

static inline int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void die(const char *what)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
    exit(1);
}

/* --- latencies ------------------------------------------------------------------------- */

static inline size_t bucket_of(uint64_t us)
{
    unsigned high;

    if (us < 32)
        return (size_t)us;
    high = 63u - (unsigned)__builtin_clzll(us);
    return (size_t)((high - 4) * 32 + (us >> (high - 5)) - 32);
}

static inline uint64_t value_of(size_t bucket)
{
    return bucket < 32 ? bucket : (uint64_t)(32 + bucket % 32) << (bucket / 32 - 1);
}

static inline void histogram_add(struct histogram *h, int64_t ns)
{
    uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0;
    size_t at = bucket_of(us);

    h->count[at < BUCKETS ? at : BUCKETS - 1]++;
    h->all++;
    if (us > h->max_us)
        h->max_us = us;
}

static inline uint64_t histogram_at(const struct histogram *h, double share)
{
    uint64_t wanted = (uint64_t)((double)h->all * share), seen = 0;

    for (size_t i = 0; i < BUCKETS; i++) {
        seen += h->count[i];
        if (seen > wanted)
            return value_of(i);
    }
    return h->max_us;
}

/* --- connections ----------------------------------------------------------------------- */

static inline int open_connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)server.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        die("cannot connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static inline void ask(int fd, const char *method, const char *path, const char *type,
                       const char *body)
{
    char text[4096];
    int n = snprintf(text, sizeof(text),
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                     method, path, server.token, type, strlen(body), body);

    if (write(fd, text, (size_t)n) != n)
        die("cannot send");
}

#endif
