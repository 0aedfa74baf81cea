/*
 * own_lease.c - when the controllers are in the server's own process, other holders of their leases
 * are refused. Nothing has to be written or renewed for that, and a scheduler that led before this
 * process started stops at its next renewal.
 */
#include <string.h>

#include "server/internal.h"

int own_lease_check(const struct server_request *r, const char *key, struct err *err)
{
    const char *name = strrchr(key, '/') ? strrchr(key, '/') + 1 : key; /* in any namespace */

    if (!r->server->has_controllers || r->route.kind != &kind_lease ||
        (strcmp(name, LEASE_CONTROLLER) != 0 && strcmp(name, LEASE_SCHEDULER) != 0))
        return 0;
    return err_set(
        err, ERR_CONFLICT,
        "Operation cannot be fulfilled on leases.coordination.k8s.io \"%s\": \"muster up\" has "
        "controllers and a scheduler of its own; for others start it with --only api",
        name);
}
