/* door_internal.h - shared by the files of this folder. */
#ifndef MUSTER_DOOR_DOOR_INTERNAL_H
#define MUSTER_DOOR_DOOR_INTERNAL_H

#include "door/door.h"
#include "runtime/log_search.h"

struct exec_host;

struct door {
    struct node node;
    struct loop *loop;
    char *name;
    char *pod_root, *log_root;   /* of running pods, and of removed ones */
    struct exec_host *exec_host; /* created on first use */
    struct log_searches searches;
};

static inline struct door *door_of(struct node *n)
{
    return container_of(n, struct door, node);
}

/* Whether its folder is among the running ones. */
bool door_runs(const struct door *d, const struct node_pod *pod);
/* The error says what the container does instead of running. */
int door_check_runs(const struct door *d, const struct node_pod *pod, const char *container,
                    struct err *err) must_check;
/* The folder a container is in: the pod's, or an ephemeral container's own (agent/ephemeral.h).
 * NULL when out of memory. */
const char *door_uid(const struct door *d, struct arena *a, const struct node_pod *pod,
                     const char *container);
/* The folder with the remains of pods of that name, to be freed; NULL: invalid name, or out of
 * memory. */
char *door_kept_folder(const struct door *d, const struct node_pod *pod);

int door_open_log(struct node *n, const struct node_pod *pod, const char *container,
                  const struct node_log_options *o, struct stream **ret,
                  struct err *err) must_check;
int door_list_logs(struct node *n, const char *ns, struct stream **ret, struct err *err) must_check;
int door_exec(struct node *n, const struct node_pod *pod, const struct node_command *c,
              struct node_session **ret, struct err *err) must_check;
int door_attach(struct node *n, const struct node_pod *pod, const struct node_command *c,
                struct node_session **ret, struct err *err) must_check;
int door_forward(struct node *n, const struct node_pod *pod, const struct node_ports *ports,
                 enum mux_kind kind, struct node_session **ret, struct err *err) must_check;
/* In the format of node_samples_fn; returns whether anything was kept. */
bool door_samples(struct node *n, const struct node_pod *pod, const struct node_samples_query *q,
                  struct buf *out);
int door_latest(struct node *n, const struct node_pod *pod, struct usage_latest *ret) must_check;

int door_out_of_memory(struct err *err);

#endif
