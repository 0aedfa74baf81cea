/* far_internal.h - shared by the files about remote nodes. */
#ifndef MUSTER_DOOR_FAR_INTERNAL_H
#define MUSTER_DOOR_FAR_INTERNAL_H

#include "base/json.h"
#include "door/far.h"
#include "port/transport.h"

struct far {
    struct node_directory directory;
    struct loop *loop;
    struct key_pair authority; /* both in the arena */
    struct arena arena;
    struct buf key, certificate; /* our own */
    int64_t certified_ms;        /* when it was made */
    struct far_node *nodes, *retired;
    size_t nodes_len;
    struct far_get *gets;
    size_t asks;
    struct far_session *sessions, *waiting;
    unsigned dialing;
    bool sweeping, stopped;
};

/* One Node's endpoint as published; when it changes, a new struct replaces it. */
struct far_node {
    struct node node;
    struct far_node *prev, *next;
    struct far *far;
    char *name, *who, *url, *ca_pem; /* who: `node "NAME"`, for messages */
    struct transport *transport;
    size_t users; /* kept as long as there are any */
    int64_t made_ms;
    struct arena summary_arena;
    const struct json *summary; /* or NULL */
    int64_t summary_ms;
};

void far_node_hold(struct far_node *n);
void far_node_release(struct far_node *n);
/* The error for a node that refused, or could not be reached (status 0). */
void far_refusal(const struct far_node *n, int status, const char *text, size_t len,
                 struct err *err);
int far_may_ask(const struct far *f, struct err *err) must_check;

/* far_session.c */
void far_exec(struct node *n, const struct node_pod *pod, const struct node_command *c,
              const struct node_upgrade *u, node_session_fn *fn, void *arg);
void far_attach(struct node *n, const struct node_pod *pod, const struct node_command *c,
                const struct node_upgrade *u, node_session_fn *fn, void *arg);
void far_forward(struct node *n, const struct node_pod *pod, const struct node_ports *ports,
                 const struct node_upgrade *u, node_session_fn *fn, void *arg);
void far_stop_sessions(struct far *f, const struct err *why);

#endif
