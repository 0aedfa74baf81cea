/* usage.h - measures what pods and the machine use (port/usage.h). */
#ifndef MUSTER_RUNTIME_USAGE_H
#define MUSTER_RUNTIME_USAGE_H

#include "port/usage.h"

struct usage_column_info {
    const char *name, *unit;
    bool peak; /* samples are combined by their maximum, not their mean */
};
extern const struct usage_column_info usage_columns[USAGE_COLUMNS];

void usage_sample_clear(struct usage_sample *s, int64_t time_ms);

/* --- pods (usage_read.c) ---------------------------------------------------------------- */

#define USAGE_PIDS_LIMIT 65536

struct usage_target {
    const char *uid, *dir; /* dir: the pod's folder */
    struct usage_sample sample;
    struct usage_container containers[POD_CONTAINERS_LIMIT];
    size_t containers_len;
    int64_t *pids; /* of its processes; owned by the reader, until its next look */
    size_t pids_len;
};

/* Keeps counters between looks. Belongs to one thread at a time. */
struct usage_reader;
struct usage_reader *usage_reader_new(void);
void usage_reader_free(struct usage_reader *r); /* NULL-safe */
/* Fills in every target's sample, containers and pids. The first look at a pod has no rates yet. */
void usage_reader_look(struct usage_reader *r, struct usage_target *targets, size_t len,
                       int64_t now_ms);

/* --- the machine (usage_node.c) ---------------------------------------------------------- */

/* The previous counters; starts zeroed. */
struct usage_node {
    int64_t time_ms;
    double cpu_s, rx, tx, read, written;
};

/* root is "" or, in tests, a folder with proc and sys in it. */
void usage_node_look(struct usage_node *n, const char *root, int64_t now_ms,
                     struct usage_sample *ret);

/* --- network (usage_net.c) --------------------------------------------------------------- */

/* Counts the bytes of all sockets opened by processes of a version 2 group, including loopback.
 * Needs the right to load BPF programs: root. */
struct usage_net {
    int rx_fd, tx_fd;
};
/* Finds the counters on the group, or installs them. False: network cannot be measured. */
bool usage_net_open(struct usage_net *n, const char *folder);
void usage_net_close(struct usage_net *n); /* the counters stay while the group exists */
bool usage_net_read(const struct usage_net *n, uint64_t *ret_rx, uint64_t *ret_tx);

#endif
