/* upgrade.h - agreeing with a client on what its connection speaks from here on. */
#ifndef MUSTER_SERVER_UPGRADE_H
#define MUSTER_SERVER_UPGRADE_H

#include "net/mux.h"
#include "server/request.h"

enum upgrade_use { UPGRADE_REMOTE_COMMAND, UPGRADE_PORT_FORWARD };

struct upgrade {
    enum mux_kind kind;
    struct httpd_header headers[3];
    size_t header_count;
};

/* What of the client's offers is taken; 400 when it offers nothing we speak, or nothing at all. */
int upgrade_negotiate(struct server_request *r, enum upgrade_use use, struct upgrade *ret,
                      struct err *err) must_check;

#endif
