/* health.h - /healthz, /readyz and /metrics of a process that serves nothing else. TLS with a
 * certificate generated at the start: only probes and Prometheus connect, and they do not verify
 * it. */
#ifndef MUSTER_CLI_HEALTH_H
#define MUSTER_CLI_HEALTH_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

struct health;

struct health_options {
    struct loop *loop;
    const char *address;               /* "0.0.0.0:8443" */
    const char *(*trouble)(void *arg); /* why it is not ready, or NULL */
    bool (*leads)(void *arg);
    void *arg;
};

struct health *health_new(const struct health_options *options, struct err *err) must_check;
void health_free(struct health *h); /* NULL-safe */

#endif
