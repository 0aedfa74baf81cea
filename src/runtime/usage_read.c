/*
 * usage_read.c - current usage of pods: from their control groups where they have some, of either
 * version; what these do not count, and everything where there are none, is added up over the pod's
 * processes. Those are found in the groups, else by the marks in their environment, in one pass
 * over /proc for all pods.
 *
 * Runs on a pool thread. A process that starts and ends between two looks is not seen, but groups
 * count it.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "runtime/cgroup.h"
#include "runtime/podfolder.h"
#include "runtime/proc.h"
#include "runtime/usage.h"

#define TEXT_BYTES 16384

struct container {
    const char *name;
    const char *const *groups; /* NULL-terminated, maybe empty */
    double cpu_s;              /* total so far, by its groups or processes */
    double before_s;           /* at the previous look; NaN: none */
    double memory, rss, shared;
    bool from_group; /* CPU and memory come from groups */
};

struct pod {
    struct arena arena; /* for the contents of run.json */
    struct container *containers;
    size_t len;
    struct usage_net net;
    bool net_tried;
    uint64_t rx, tx;
    double read, written; /* bytes since the last look */
    int64_t before_ms;
    bool seen, known;
    int64_t *pids;
    size_t pids_len, pids_cap;
};

/* What is remembered about a process: its pod, and its counters. */
struct process {
    int64_t start_ticks;
    struct pod *pod; /* NULL: none */
    struct container *container;
    double cpu_s, read, written;
    bool seen, counted;
};

struct usage_reader {
    struct map pods;      /* uid -> pod */
    struct map processes; /* pid_t -> process */
    double tick_s;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* --- pods --- */

static void pod_free(void *value)
{
    struct pod *p = value;

    usage_net_close(&p->net);
    arena_release(&p->arena);
    free(p->pids);
    free(p);
}

static bool has_file(const char *folder, const char *name)
{
    char path[CGROUP_PATH_BYTES];

    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
           access(path, R_OK) == 0;
}

/* The first of the container's groups that has the file. */
static const char *group_with(const struct container *c, const char *file)
{
    for (const char *const *g = c->groups; g && *g; g++)
        if (has_file(*g, file))
            return *g;
    return NULL;
}

static const char *const *copy_list(struct arena *a, const char *const *list)
{
    const char **copy;
    size_t n = 0;

    while (list && list[n])
        n++;
    copy = arena_alloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = arena_strdup(a, list[i]);
    if (copy)
        copy[n] = NULL;
    return copy;
}

static void learn_containers(struct pod *p, const struct pod_start *start)
{
    p->containers = arena_alloc(&p->arena,
                                max_size(start->containers_len, 1) * sizeof(*p->containers));
    for (size_t i = 0; p->containers && i < start->containers_len; i++) {
        struct container *c = &p->containers[i];

        c->name = arena_strdup(&p->arena, start->containers[i].name);
        c->groups = copy_list(&p->arena, start->containers[i].cgroups);
        c->before_s = NAN;
    }
    p->len = arena_failed(&p->arena) ? 0 : start->containers_len;
}

/* Reads run.json, which exists before anything runs. */
static void learn(struct pod *p, const char *dir)
{
    struct arena a = ARENA_INIT(
        POD_ARENA_LIMIT_BYTES); /* for the file; only a small part is kept */
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct json *v = fd < 0 ? NULL : pod_file_read_json(fd, POD_FILE_RUN, &a, NULL);
    struct pod_start start;

    if (v && pod_start_from_json(&a, v, &start, NULL) == 0) {
        learn_containers(p, &start);
        p->known = true;
    }
    if (fd >= 0)
        (void)close(fd);
    arena_release(&a);
}

static struct pod *find_pod(struct usage_reader *r, const struct usage_target *t)
{
    struct pod *p = map_gets(&r->pods, t->uid);

    if (!p) {
        p = calloc(1, sizeof(*p));
        if (!p)
            return NULL;
        arena_init(&p->arena, POD_ARENA_LIMIT_BYTES);
        p->net = (struct usage_net){.rx_fd = -1, .tx_fd = -1};
        if (map_puts(&r->pods, t->uid, p, NULL) != 0) {
            pod_free(p);
            return NULL;
        }
    }
    if (!p->known)
        learn(p, t->dir);
    return p;
}

/* --- groups --- */

/* The number after "name " at the start of a line. */
static double field(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && at[n] == ' ')
            return strtod(at + n, NULL);
    return NAN;
}

static double read_number(const char *folder, const char *file)
{
    char text[64];

    return cgroup_file_read(folder, file, text, sizeof(text)) == 0 ? strtod(text, NULL) : NAN;
}

static bool read_group_cpu(struct container *c)
{
    const char *group = group_with(c, "cpuacct.usage");
    char text[TEXT_BYTES];

    if (group) {
        c->cpu_s = read_number(group, "cpuacct.usage") / 1e9;
        return true;
    }
    group = group_with(c, "cpu.stat");
    if (!group || cgroup_file_read(group, "cpu.stat", text, sizeof(text)) != 0)
        return false;
    c->cpu_s = field(text, "usage_usec") / 1e6;
    return !isnan(c->cpu_s);
}

static bool read_group_memory(struct container *c)
{
    bool v1 = false;
    const char *group = group_with(c, "memory.current");
    char text[TEXT_BYTES];
    double usage;

    if (!group) {
        group = group_with(c, "memory.usage_in_bytes");
        v1 = true;
    }
    if (!group || cgroup_file_read(group, "memory.stat", text, sizeof(text)) != 0)
        return false;
    usage = read_number(group, v1 ? "memory.usage_in_bytes" : "memory.current");
    c->memory = larger(0, usage - field(text, v1 ? "total_inactive_file" : "inactive_file"));
    c->rss = field(text, v1 ? "total_rss" : "anon");
    return !isnan(c->memory);
}

/* Network is counted on the pod's group, above its containers'. */
static void open_net(struct pod *p)
{
    const char *group = p->len ? group_with(&p->containers[0], "cgroup.controllers") : NULL;
    char folder[CGROUP_PATH_BYTES], *slash;

    p->net_tried = true;
    if (!group)
        return;
    (void)snprintf(folder, sizeof(folder), "%s", group);
    slash = strrchr(folder, '/');
    if (!slash)
        return;
    *slash = '\0';
    if (usage_net_open(&p->net, folder))
        (void)!usage_net_read(&p->net, &p->rx, &p->tx);
}

/* --- processes --- */

static void add_pid(struct pod *p, int64_t pid)
{
    if (p->pids_len == p->pids_cap) {
        size_t cap = p->pids_cap ? p->pids_cap * 2 : 8;
        int64_t *more = cap <= USAGE_PIDS_LIMIT ? realloc(p->pids, cap * sizeof(*more)) : NULL;

        if (!more)
            return;
        p->pids = more;
        p->pids_cap = cap;
    }
    p->pids[p->pids_len++] = pid;
}

static struct process *find_process(struct usage_reader *r, pid_t pid, int64_t start_ticks,
                                    bool *ret_new)
{
    struct process *p = map_get(&r->processes, &pid, sizeof(pid));

    *ret_new = !p || p->start_ticks != start_ticks;
    if (!p) {
        p = calloc(1, sizeof(*p));
        if (!p || map_put(&r->processes, &pid, sizeof(pid), p, NULL) != 0) {
            free(p);
            return NULL;
        }
    }
    if (*ret_new)
        *p = (struct process){.start_ticks = start_ticks};
    p->seen = true;
    return p;
}

static double read_cpu(const struct usage_reader *r, pid_t pid)
{
    char folder[32], text[1024];
    unsigned long user, system;
    const char *at;

    (void)snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
    if (cgroup_file_read(folder, "stat", text, sizeof(text)) != 0)
        return NAN;
    at = strrchr(text, ')');
    if (!at ||
        sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return NAN;
    return (double)(user + system) * r->tick_s;
}

static double colon_field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtod(at + strlen(name), NULL) : NAN;
}

static void count_io(struct pod *p, struct process *process, pid_t pid)
{
    char folder[32], text[1024];
    double read, written;

    (void)snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
    if (cgroup_file_read(folder, "io", text, sizeof(text)) != 0)
        return;
    read = colon_field(text, "\nread_bytes: ");
    written = colon_field(text, "\nwrite_bytes: ");
    if (isnan(read) || isnan(written))
        return;
    p->read += read - process->read;
    p->written += written - process->written;
    process->read = read;
    process->written = written;
}

static void count_memory(struct container *c, pid_t pid)
{
    char folder[32], text[4096];
    double anon, shared;

    (void)snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
    if (cgroup_file_read(folder, "status", text, sizeof(text)) != 0)
        return;
    anon = colon_field(text, "\nRssAnon:");
    shared = colon_field(text, "\nRssShmem:");
    if (isnan(anon)) /* already dead */
        return;
    c->rss += anon * 1024;
    /* Shared memory appears in several processes: the largest counts for all. */
    c->shared = larger(c->shared, isnan(shared) ? 0 : shared * 1024);
}

static void count_process(struct usage_reader *r, struct pod *p, struct container *c,
                          struct process *process, pid_t pid)
{
    double cpu;

    if (process->counted)
        return; /* it was in several lists */
    process->counted = true;
    add_pid(p, pid);
    count_io(p, process, pid);
    if (c->from_group)
        return;
    count_memory(c, pid);
    cpu = read_cpu(r, pid);
    if (!isnan(cpu)) {
        c->cpu_s += cpu - process->cpu_s;
        process->cpu_s = cpu;
    }
}

static void count_group(struct usage_reader *r, struct pod *p, struct container *c)
{
    char *text = NULL, *at, *line;

    if (!c->groups || !*c->groups || !(text = malloc(TEXT_BYTES * 4)))
        return;
    if (cgroup_file_read(*c->groups, "cgroup.procs", text, TEXT_BYTES * 4) == 0)
        for (at = text; (line = strsep(&at, "\n")) != NULL;) {
            pid_t pid = (pid_t)strtol(line, NULL, 10);
            struct proc_stat stat;
            struct process *process;
            bool fresh;

            if (pid <= 0 || proc_stat_read(pid, &stat) != 0)
                continue;
            process = find_process(r, pid, stat.start_ticks, &fresh);
            if (process)
                count_process(r, p, c, process, pid);
        }
    free(text);
}

/* Its pod, by the marks in its environment. */
static void find_owner(struct usage_reader *r, struct process *process, pid_t pid)
{
    char path[64], *text = NULL, uid[128] = "", name[64] = "";
    size_t cap = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    f = fopen(path, "re");
    while (f && getdelim(&text, &cap, '\0', f) > 0) {
        (void)sscanf(text, POD_ENV_UID "=%127s", uid);
        (void)sscanf(text, POD_ENV_CONTAINER "=%63s", name);
    }
    if (f)
        (void)fclose(f);
    free(text);
    process->pod = *uid ? map_gets(&r->pods, uid) : NULL;
    for (size_t i = 0; process->pod && i < process->pod->len; i++)
        if (strcmp(process->pod->containers[i].name, name) == 0)
            process->container = &process->pod->containers[i];
}

static void see_process(void *arg, pid_t pid)
{
    struct usage_reader *r = arg;
    struct proc_stat stat;
    struct process *process;
    bool fresh;

    if (proc_stat_read(pid, &stat) != 0)
        return;
    process = find_process(r, pid, stat.start_ticks, &fresh);
    if (!process)
        return;
    if (fresh)
        find_owner(r, process, pid);
    if (process->pod && process->container)
        count_process(r, process->pod, process->container, process, pid);
}

/* --- one look --- */

static void begin_pod(struct usage_reader *r, struct pod *p)
{
    p->seen = true;
    p->read = p->written = 0;
    p->pids_len = 0;
    if (!p->net_tried && p->known)
        open_net(p);
    for (size_t i = 0; i < p->len; i++) {
        struct container *c = &p->containers[i];

        c->memory = c->rss = c->shared = 0;
        c->from_group = read_group_cpu(c) && read_group_memory(c);
        count_group(r, p, c);
    }
}

static bool needs_all_processes(const struct pod *p)
{
    for (size_t i = 0; i < p->len; i++)
        if (!p->containers[i].groups || !*p->containers[i].groups)
            return true;
    return false;
}

static void add_up(struct container *c, double seconds, struct usage_target *t)
{
    struct usage_container *out = &t->containers[t->containers_len++];
    double cpu = isnan(c->before_s) || seconds <= 0 ? NAN : (c->cpu_s - c->before_s) / seconds;

    if (!c->from_group)
        c->memory = c->rss + c->shared;
    c->before_s = c->cpu_s;
    (void)snprintf(out->name, sizeof(out->name), "%s", c->name);
    out->cpu = (float)larger(cpu, 0);
    out->cpu_s = c->cpu_s;
    if (isnan(cpu))
        out->cpu = NAN;
    out->memory = (float)c->memory;
    if (t->containers_len == 1)
        t->sample.v[USAGE_CPU] = t->sample.v[USAGE_MEMORY] = t->sample.v[USAGE_RSS] = 0;
    t->sample.v[USAGE_CPU] += out->cpu;
    t->sample.v[USAGE_MEMORY] += out->memory;
    t->sample.v[USAGE_RSS] += (float)c->rss;
}

static void add_network(struct pod *p, double seconds, struct usage_sample *s)
{
    uint64_t rx, tx;

    if (!usage_net_read(&p->net, &rx, &tx))
        return;
    if (seconds > 0) {
        s->v[USAGE_NET_RX] = (float)((double)(rx - p->rx) / seconds);
        s->v[USAGE_NET_TX] = (float)((double)(tx - p->tx) / seconds);
    }
    p->rx = rx;
    p->tx = tx;
}

static void finish_pod(struct pod *p, int64_t now_ms, struct usage_target *t)
{
    double seconds = p->before_ms ? (double)(now_ms - p->before_ms) / 1000.0 : 0;

    for (size_t i = 0; i < p->len && i < POD_CONTAINERS_LIMIT; i++)
        add_up(&p->containers[i], seconds, t);
    add_network(p, seconds, &t->sample);
    if (seconds > 0) {
        t->sample.v[USAGE_DISK_READ] = (float)(larger(p->read, 0) / seconds);
        t->sample.v[USAGE_DISK_WRITE] = (float)(larger(p->written, 0) / seconds);
    }
    t->pids = p->pids;
    t->pids_len = p->pids_len;
    p->before_ms = now_ms;
}

static void forget_unseen_processes(struct usage_reader *r)
{
    struct map_node *node = map_first(&r->processes);

    while (node) {
        struct process *p = node->value;
        pid_t pid;

        memcpy(&pid, node->key, sizeof(pid));
        if (p->seen && (!p->pod || p->pod->seen)) {
            p->seen = p->counted = false;
        } else {
            (void)map_remove(&r->processes, &pid, sizeof(pid));
            free(p);
        }
        node = map_after(&r->processes, &pid, sizeof(pid));
    }
}

static void forget_unseen_pods(struct usage_reader *r)
{
    struct map_node *node = map_first(&r->pods);

    while (node) {
        struct pod *p = node->value;
        char uid[256];

        (void)snprintf(uid, sizeof(uid), "%s", node->key);
        if (p->seen) {
            p->seen = false;
        } else {
            (void)map_removes(&r->pods, uid);
            pod_free(p);
        }
        node = map_after(&r->pods, uid, strlen(uid));
    }
}

void usage_reader_look(struct usage_reader *r, struct usage_target *targets, size_t len,
                       int64_t now_ms)
{
    bool all = false;

    for (size_t i = 0; i < len; i++) {
        struct pod *p = find_pod(r, &targets[i]);

        usage_sample_clear(&targets[i].sample, now_ms);
        targets[i].containers_len = 0;
        targets[i].pids_len = 0;
        if (!p)
            continue;
        begin_pod(r, p);
        all = all || needs_all_processes(p);
    }
    if (all)
        proc_each(see_process, r);
    for (size_t i = 0; i < len; i++) {
        struct pod *p = map_gets(&r->pods, targets[i].uid);

        if (p)
            finish_pod(p, now_ms, &targets[i]);
    }
    forget_unseen_processes(r); /* before the pods they point to */
    forget_unseen_pods(r);
}

struct usage_reader *usage_reader_new(void)
{
    struct usage_reader *r = calloc(1, sizeof(*r));

    if (r)
        r->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    return r;
}

void usage_reader_free(struct usage_reader *r)
{
    if (!r)
        return;
    map_release(&r->pods, pod_free);
    map_release(&r->processes, free);
    free(r);
}
