/*
 * far.h - nodes that are processes of their own, as the API server asks them (port/node.h): over
 * HTTPS at the endpoint that their Node objects tell (door/kubelet.h).
 *
 * Both sides know each other by what the API server has vouched for. The node's authority stands in
 * its Node (muster.dev/ca), which only who may write Nodes can have put there; nobody else is
 * spoken to. The server shows a certificate of the cluster's authority, whose key never leaves this
 * process: who lies about an address gets a handshake, and nothing it could use elsewhere.
 */
#ifndef MUSTER_DOOR_FAR_H
#define MUSTER_DOOR_FAR_H

#include "loop/loop.h"
#include "net/certificate.h"
#include "port/node.h"

#define FAR_WAIT_MS 10000   /* for a node's answer to begin; then it is away */
#define FAR_FRESH_MS 5000   /* what was heard of its pods' use is not asked for again */
#define FAR_ASKS_LIMIT 512u /* under way, logs that are followed included */
#define FAR_NODES_LIMIT 4096u

/* authority: the cluster's, copied. NULL with err set. */
struct node_directory *far_new(struct loop *l, const struct key_pair *authority,
                               struct err *err) must_check;
/* Callers waiting for a node learn that the server is stopping. Call before freeing the server. */
void far_stop(struct node_directory *d);
void far_free(struct node_directory *d); /* after it; NULL-safe */

#endif
