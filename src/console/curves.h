/*
 * curves.h - serves jobs' curves below /board/api: from their event files on this machine, for
 * callers that may get the job. A client of the API; docs/board.md describes the paths.
 */
#ifndef MUSTER_CONSOLE_CURVES_H
#define MUSTER_CONSOLE_CURVES_H

#include "loop/loop.h"
#include "net/mount.h"
#include "port/transport.h"

#define CURVES_PREFIX "/board"
#define CURVES_REQUESTS_LIMIT 256u /* at a time */

struct curves;

/* The transport is the daemon's own: the mount decides what the caller may see. NULL: each request
 * uses the caller's. own_folder (copied, or NULL) and volumes (must outlive it, or NULL): see
 * folder_search.h. */
struct curves *curves_new(struct loop *loop, struct transport *t, const char *own_folder,
                          const char *const *volumes) must_check;
/* Before the transport and the server; requests under way are answered. */
void curves_free(struct curves *c);
/* A mount_fn; arg is the struct curves. */
void curves_handle(void *arg, const struct mount_request *r);

#endif
