/*
 * far.h - nodes in other processes, as the API server reaches them (port/node.h): over HTTPS at the
 * endpoint in their Node objects (door/kubelet.h).
 *
 * Both sides authenticate through the API server. The node's CA is in its Node (muster.dev/ca),
 * which only callers that may write Nodes can set; no other endpoint is trusted. The server
 * presents a certificate of the cluster's authority, whose key never leaves this process: an
 * impostor at an address gets a handshake, and nothing usable elsewhere.
 */
#ifndef MUSTER_DOOR_FAR_H
#define MUSTER_DOOR_FAR_H

#include "loop/loop.h"
#include "net/certificate.h"
#include "port/node.h"

#define FAR_WAIT_MS 10000   /* for a node's answer to begin; then it counts as unreachable */
#define FAR_FRESH_MS 5000   /* usage of its pods is not requested again within this time */
#define FAR_ASKS_LIMIT 512u /* under way, including followed logs */
#define FAR_NODES_LIMIT 4096u

/* authority: the cluster's, copied. NULL with err set. */
struct node_directory *far_new(struct loop *l, const struct key_pair *authority,
                               struct err *err) must_check;
/* Tells callers waiting for a node that the server is stopping. Call before freeing the server. */
void far_stop(struct node_directory *d);
void far_free(struct node_directory *d); /* afterwards; NULL-safe */

#endif
