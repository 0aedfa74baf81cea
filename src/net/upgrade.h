/* upgrade.h - negotiates the protocol of an upgraded connection. */
#ifndef MUSTER_NET_UPGRADE_H
#define MUSTER_NET_UPGRADE_H

#include "base/arena.h"
#include "base/err.h"
#include "net/httpd.h"
#include "port/mux_kind.h"

enum upgrade_use { UPGRADE_REMOTE_COMMAND, UPGRADE_PORT_FORWARD };

struct upgrade {
    enum mux_kind kind;
    struct httpd_header headers[3];
    size_t header_count;
};

/* The relevant part of a request. */
struct upgrade_request {
    const char *method;
    const char *(*header)(void *arg, const char *name); /* all its values; "" or NULL: none */
    void *arg;
};

/* Picks one of the client's offers; 400 when it offers nothing we support. */
int upgrade_negotiate(const struct upgrade_request *r, enum upgrade_use use, struct arena *a,
                      struct upgrade *ret, struct err *err) must_check;

#endif
