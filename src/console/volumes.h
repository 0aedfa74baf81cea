/*
 * volumes.h - files of claims, for the console's page of volumes:
 *
 *   GET  VOLUMES_PREFIX/NAMESPACE/CLAIM/usage        {"bytes", "entries", "partial"}
 *   GET  VOLUMES_PREFIX/NAMESPACE/CLAIM/files/PATH   a folder (claim_files.h), or a file's bytes
 *   PUT  VOLUMES_PREFIX/NAMESPACE/CLAIM/files/PATH[?replace=1]   the body becomes that file
 *   POST VOLUMES_PREFIX/NAMESPACE/CLAIM/files/PATH   a new folder
 *
 * A caller that may create pods in the namespace reads and writes its claims there anyway; others
 * need the right to get, or create, persistentvolumeclaims/files. Files are used with the rights of
 * the user the caller's pods would run as. Bytes are pulled both ways, in blocks.
 */
#ifndef MUSTER_CONSOLE_VOLUMES_H
#define MUSTER_CONSOLE_VOLUMES_H

#include "loop/loop.h"
#include "net/mount.h"
#include "port/transport.h"

#define VOLUMES_PREFIX "/console/v1/volumes"
#define VOLUMES_AT_ONCE 32u
#define VOLUMES_UPLOAD_LIMIT_BYTES (UINT64_C(16) * 1024 * 1024 * 1024)

struct volumes_options {
    struct loop *loop;
    struct transport *transport;
    /* The folder of an existing claim, in the arena. */
    int (*folder)(void *arg, struct arena *a, const char *ns, const char *claim, const char **ret,
                  struct err *err);
    void *arg;
};

struct volumes;

struct volumes *volumes_new(const struct volumes_options *options) must_check;
/* Before transport, server and loop; what is under way is answered or aborted. */
void volumes_free(struct volumes *v);
/* A mount_fn that pulls bodies; arg is the struct volumes. */
void volumes_handle(void *arg, const struct mount_request *r);

#endif
