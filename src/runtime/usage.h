/* usage.h - measures what pods and the machine use (port/usage.h). */
#ifndef MUSTER_RUNTIME_USAGE_H
#define MUSTER_RUNTIME_USAGE_H

#include "port/usage.h"

struct usage_column_info {
    const char *name, *unit;
    bool peak; /* of several samples the highest counts, not the mean */
};
extern const struct usage_column_info usage_columns[USAGE_COLUMNS];

void usage_sample_clear(struct usage_sample *s, int64_t time_ms);

/* --- one look at pods (usage_read.c) ---------------------------------------------------- */

#define USAGE_PIDS_LIMIT 65536

struct usage_target {
    const char *uid, *dir; /* the pod's folder */
    struct usage_sample sample;
    struct usage_container containers[POD_CONTAINERS_LIMIT];
    size_t containers_len;
    int64_t *pids; /* of its processes; the reader's, until its next look */
    size_t pids_len;
};

/* Remembers counters between looks. Belongs to one thread at a time. */
struct usage_reader;
struct usage_reader *usage_reader_new(void);
void usage_reader_free(struct usage_reader *r); /* NULL-safe */
/* Fills every target's sample, containers and pids. The first look at a pod has no rates yet. */
void usage_reader_look(struct usage_reader *r, struct usage_target *targets, size_t len,
                       int64_t now_ms);

/* --- the machine (usage_node.c) ---------------------------------------------------------- */

/* The counters of the look before; zero at first. */
struct usage_node {
    int64_t time_ms;
    double cpu_s, rx, tx, read, written;
};

/* root is "" or, in tests, a folder with proc and sys in it. */
void usage_node_look(struct usage_node *n, const char *root, int64_t now_ms,
                     struct usage_sample *ret);

/* --- network (usage_net.c) --------------------------------------------------------------- */

/* Counts the bytes of all sockets that processes of a version 2 group open, loopback too. Needs the
 * right to load programs into the kernel: root. */
struct usage_net {
    int rx_fd, tx_fd;
};
/* Finds the counters that are on the group, or makes them. false: network cannot be measured. */
bool usage_net_open(struct usage_net *n, const char *folder);
void usage_net_close(struct usage_net *n); /* the counters stay while the group does */
bool usage_net_read(const struct usage_net *n, uint64_t *ret_rx, uint64_t *ret_tx);

#endif
