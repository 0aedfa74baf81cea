/* pod_dial.c - see pod_dial.h. */
#include "runtime/pod_dial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/file.h"
#include "runtime/pod_port.h"
#include "runtime/podfolder.h"
#include "runtime/proc.h"

#define WAIT_MS 5000
#define POD_NAME_SIZE 256 /* longer names do not exist */

struct pod_dial {
    char dir[PATH_MAX];
    char ns[POD_NAME_SIZE], name[POD_NAME_SIZE];
    unsigned port;
    bool counts; /* connections, instead of making one */
    int fd;      /* or their number; or a negative errno */
    char token[NODE_TOKEN_SIZE];
    node_dial_fn *fn;
    void *arg;
};

/* --- on the pool thread ------------------------------------------------------------------ */

/* A pid from a moment ago is the pod's only with its start time. */
static void add_root(struct pod_members *m, int64_t pid, int64_t start_ticks)
{
    struct proc_stat stat;

    if (pid > 1 && proc_stat_read((pid_t)pid, &stat) == 0 && stat.start_ticks == start_ticks)
        m->roots[m->roots_len++] = (pid_t)pid;
}

static void find_roots(struct pod_members *m, const struct pod_record *record)
{
    struct proc_stat worker;

    add_root(m, record->pid, record->start_ticks);
    /* Its parent has what the worker's predecessors started; unless that is the machine's init,
     * which descends() does not count. */
    if (m->roots_len == 1 && proc_stat_read(m->roots[0], &worker) == 0 &&
        worker.parent == record->keeper_pid && worker.parent > 1)
        m->roots[m->roots_len++] = worker.parent;
    for (size_t i = 0; i < record->run.containers_len && i < POD_CONTAINERS_LIMIT; i++)
        add_root(m, record->run.containers[i].pid, record->run.containers[i].start_ticks);
}

static void work(void *arg)
{
    struct pod_dial *d = arg;
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    int dir_fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct json *run = dir_fd >= 0 ? pod_file_read_json(dir_fd, POD_FILE_RUN, &a, NULL)
                                         : NULL;
    struct pod_start pod;
    struct pod_record record;
    struct pod_members m = {.pod = &pod};

    d->fd = -ENOENT;
    if (run && pod_start_from_json(&a, run, &pod, NULL) == 0 && strcmp(pod.ns, d->ns) == 0 &&
        strcmp(pod.name, d->name) == 0 && pod_record_read(dir_fd, &a, &record, NULL) == 0 &&
        !record.final) {
        m.has_commands = pod_is_executed(dir_fd);
        find_roots(&m, &record);
        d->fd = d->counts ? pod_port_peers(&m, d->port)
                          : pod_port_connect(&m, d->port, WAIT_MS, d->token);
    }
    file_close(&dir_fd);
    arena_release(&a);
}

/* --- on the loop ------------------------------------------------------------------------- */

static void done(void *arg)
{
    struct pod_dial *d = arg;

    if (d->fn)
        d->fn(d->arg, d->fd, d->token);
    else if (d->fd >= 0 && !d->counts)
        file_close(&d->fd);
    explicit_bzero(d->token, sizeof(d->token));
    free(d);
}

struct pod_dial *pod_dial_start(struct loop *l, const char *pod_root, const struct node_pod *pod,
                                unsigned port, bool counts, node_dial_fn *fn, void *arg)
{
    struct pod_dial *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    *d = (struct pod_dial){.port = port, .counts = counts, .fn = fn, .arg = arg};
    if (pod_name_is_safe(pod->uid))
        (void)snprintf(d->dir, sizeof(d->dir), "%s/%s", pod_root, pod->uid);
    (void)snprintf(d->ns, sizeof(d->ns), "%s", pod->ns);
    (void)snprintf(d->name, sizeof(d->name), "%s", pod->name);
    if (loop_work(l, work, done, d) == 0)
        return d;
    free(d);
    return NULL;
}

void pod_dial_cancel(struct pod_dial *d)
{
    if (d)
        d->fn = NULL;
}
