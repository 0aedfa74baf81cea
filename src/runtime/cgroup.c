/*
 * cgroup.c - see cgroup.h. What is allowed is found out by trying: a probe group is created and a
 * child put into it in every hierarchy, because permissions, delegation and namespaces have too
 * many forms to be inferred.
 *
 * Version 2 gives controllers only to groups whose parent has no processes of its own. So the
 * groups are placed below our own group or the nearest ancestor that can be divided; and at the top
 * of a container, which has no ancestor, the processes there are first moved into a leaf.
 *
 * Must not touch groups it did not make: other daemons have their own folders.
 */
#include "runtime/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/podfolder.h"
#include "runtime/proc.h"

#define LIMITING (CGROUP_CPU | CGROUP_MEMORY)
#define CURRENT_LIMIT 8 /* hierarchies in use */
#define MEMORY_LIMIT_BYTES (64u * 1024u)
#define PROBE "probe"
#define LEAF "muster-main" /* where the processes of a divided group are moved */
#define KILL_ROUNDS 50
#define REMOVE_ROUNDS 50
#define ROUND_NS 1000000 /* the kernel takes a moment to release the dead */

static bool join(char out[CGROUP_PATH_BYTES], const char *folder, const char *name)
{
    return snprintf(out, CGROUP_PATH_BYTES, "%s/%s", folder, name) < CGROUP_PATH_BYTES;
}

static int make_folder(const char *path)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

/* --- the places --- */

static int add_place(struct cgroups *g, const char *path, unsigned controllers, bool unified,
                     bool current)
{
    struct cgroup_place *p = &g->places[g->len];

    for (size_t i = 0; i < g->len; i++)
        if (strcmp(g->places[i].path, path) == 0) {
            g->places[i].current = current;
            g->places[i].controllers = controllers;
            return 0;
        }
    if (g->len == CGROUP_PLACES_LIMIT)
        return 0;
    *p = (struct cgroup_place){.controllers = controllers, .unified = unified, .current = current};
    p->path = strdup(path);
    if (!p->path)
        return -ENOMEM;
    g->len++;
    return 0;
}

static void drop_place(struct cgroups *g, size_t i)
{
    free(g->places[i].path);
    memmove(&g->places[i], &g->places[i + 1], (g->len - i - 1) * sizeof(g->places[0]));
    g->len--;
}

/* Enables the controllers for the folder's children. */
static int hand_down(const char *folder, unsigned controllers)
{
    char text[64];

    if (!controllers)
        return 0;
    (void)snprintf(text, sizeof(text), "%s%s%s", controllers & CGROUP_CPU ? "+cpu " : "",
                   controllers & CGROUP_MEMORY ? "+memory " : "",
                   controllers & CGROUP_PIDS ? "+pids " : "");
    text[strlen(text) - 1] = '\0';
    return cgroup_file_write(folder, "cgroup.subtree_control", text);
}

/* Enables as many as possible: the kernel accepts a list completely or not at all, and one
 * controller may be in use elsewhere. Not in a group that has processes: there cpu and pids could
 * be enabled one by one, but that would make it a threaded group, which no process can enter. */
static unsigned hand_down_some(const char *folder, unsigned controllers)
{
    static const enum cgroup_controller each[] = {CGROUP_CPU, CGROUP_MEMORY, CGROUP_PIDS};
    int rc = hand_down(folder, controllers);
    unsigned done = 0;

    if (rc == 0)
        return controllers;
    if (rc == -EBUSY)
        return 0;
    for (size_t i = 0; i < ELEMS(each); i++)
        if ((controllers & each[i]) && hand_down(folder, each[i]) == 0)
            done |= each[i];
    return done;
}

static unsigned available(const char *folder)
{
    char text[1024];

    if (cgroup_file_read(folder, "cgroup.controllers", text, sizeof(text)) < 0)
        return 0;
    return cgroup_controllers_parse(text);
}

/* At the top of a container: moves its processes into a leaf, so that the top can be divided. If
 * some cannot be moved, it cannot. */
static bool make_room(const char *folder)
{
    char leaf[CGROUP_PATH_BYTES], procs[16384], pid[16];
    char *at = procs, *line;

    if (!join(leaf, folder, LEAF) || make_folder(leaf) != 0 ||
        cgroup_file_read(folder, "cgroup.procs", procs, sizeof(procs)) < 0)
        return false;
    while ((line = strsep(&at, "\n")) != NULL) {
        if (!*line || strcmp(line, "0") == 0) /* 0: in another pid namespace */
            continue;
        (void)snprintf(pid, sizeof(pid), "%.15s", line);
        if (cgroup_file_write(leaf, "cgroup.procs", pid) != 0)
            return false;
    }
    return true;
}

static bool is_namespace_top(const struct cgroup_own *own)
{
    char path[CGROUP_PATH_BYTES];

    return strcmp(own->folder, own->mount) == 0 && join(path, own->folder, "cgroup.type") &&
           access(path, F_OK) == 0;
}

/* The nearest folder whose children can have limiting controllers, and which ones; otherwise 0 and
 * our own folder. */
static unsigned find_divisible(const struct cgroup_own *own, char folder[CGROUP_PATH_BYTES])
{
    size_t top = strlen(own->mount);
    unsigned found;

    (void)snprintf(folder, CGROUP_PATH_BYTES, "%s", own->folder);
    for (;;) {
        char *slash;

        found = available(folder) & ~(unsigned)CGROUP_CPUACCT;
        if ((found & LIMITING) && access(folder, W_OK) == 0) {
            unsigned given = hand_down_some(folder, found);

            if (!(given & LIMITING) && is_namespace_top(own) && make_room(folder))
                given = hand_down_some(folder, found);
            if (given & LIMITING)
                return given;
        }
        slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top)
            break;
        *slash = '\0';
    }
    /* Even without controllers a group counts CPU time and network, and can be killed at once. */
    (void)snprintf(folder, CGROUP_PATH_BYTES, "%s", own->folder);
    return 0;
}

/* Of the calling process; 0 if unknown. */
static unsigned long long process_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long long)st.st_ino : 0;
}

void cgroup_daemon_name(char name[CGROUP_NAME_BYTES])
{
    struct proc_stat self;
    long long ticks = proc_stat_read(getpid(), &self) == 0 ? (long long)self.start_ticks : 0;

    (void)snprintf(name, CGROUP_NAME_BYTES, CGROUP_NAME_PREFIX "%llu-%d-%lld", process_namespace(),
                   (int)getpid(), ticks);
}

/* Whether the daemon that made the folder, identified by its name, is gone. One in another pid
 * namespace cannot be judged from here. */
static bool is_abandoned(const char *name)
{
    struct proc_stat stat;
    unsigned long long namespace;
    long long ticks;
    int pid;

    return sscanf(name, CGROUP_NAME_PREFIX "%llu-%d-%lld", &namespace, &pid, &ticks) == 3 &&
           namespace == process_namespace() &&
           (proc_stat_read((pid_t)pid, &stat) != 0 || stat.start_ticks != ticks);
}

static bool is_known(const struct cgroups *g, const char *path)
{
    for (size_t i = 0; i < g->len; i++)
        if (strcmp(g->places[i].path, path) == 0)
            return true;
    return false;
}

/* Removes groups without processes. */
static void remove_empty(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    char path[CGROUP_PATH_BYTES];

    while (d && (e = readdir(d)) != NULL)
        if (e->d_type == DT_DIR && e->d_name[0] != '.' && join(path, folder, e->d_name))
            remove_empty(path);
    if (d)
        (void)closedir(d);
    (void)rmdir(folder);
}

/* Folders of other daemons that were killed and may never be started again. Our own earlier ones
 * are known places. */
static void find_abandoned(struct cgroups *g, const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    char path[CGROUP_PATH_BYTES];

    while (d && (e = readdir(d)) != NULL)
        if (strncmp(e->d_name, CGROUP_NAME_PREFIX, strlen(CGROUP_NAME_PREFIX)) == 0 &&
            strcmp(e->d_name, LEAF) != 0 && join(path, folder, e->d_name) && !is_known(g, path) &&
            is_abandoned(e->d_name) && g->abandoned_len < CGROUP_ABANDONED_LIMIT &&
            (g->abandoned[g->abandoned_len] = strdup(path)) != NULL)
            g->abandoned_len++;
    if (d)
        (void)closedir(d);
}

static void forget_abandoned(struct cgroups *g)
{
    while (g->abandoned_len > 0)
        free(g->abandoned[--g->abandoned_len]);
}

void cgroups_remove_abandoned(struct cgroups *g)
{
    for (size_t i = 0; i < g->abandoned_len; i++)
        remove_empty(g->abandoned[i]);
    forget_abandoned(g);
}

static int make_place(const char *path, unsigned controllers, bool unified)
{
    int rc = make_folder(path);

    return rc == 0 && unified ? hand_down(path, controllers) : rc;
}

static int open_place(struct cgroups *g, const struct cgroup_own *own, const char *name)
{
    char base[CGROUP_PATH_BYTES], path[CGROUP_PATH_BYTES];
    unsigned found = own->controllers;

    if (own->unified)
        found = find_divisible(own, base);
    else
        (void)snprintf(base, sizeof(base), "%s", own->folder);
    find_abandoned(g, base);
    if (!join(path, base, name) || make_folder(path) != 0)
        return 0;
    if (own->unified && hand_down(path, found) != 0)
        found = 0;
    return add_place(g, path, found, own->unified, true);
}

/* --- the probe --- */

/* Whether a process can be put into the place. In version 1 a process that can create a group can
 * enter it; in version 2 it depends on the owners of the groups above. */
static bool probe(const struct cgroup_place *p)
{
    char path[CGROUP_PATH_BYTES];
    const char *const folders[] = {path, NULL};
    bool born, entered = false;
    int status;
    pid_t pid;

    if (!p->unified)
        return true;
    if (!join(path, p->path, PROBE) || make_folder(path) != 0)
        return false;
    pid = cgroup_fork(folders, &born);
    if (pid == 0)
        _exit(cgroup_enter(folders, born) != 0);
    if (pid > 0 && waitpid(pid, &status, 0) == pid)
        entered = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    (void)rmdir(path);
    return entered;
}

static void probe_all(struct cgroups *g)
{
    for (size_t i = g->len; i-- > 0;) {
        if (!g->places[i].current || probe(&g->places[i]))
            continue;
        (void)rmdir(g->places[i].path);
        drop_place(g, i);
    }
}

static int explain_problem(struct cgroups *g, size_t hierarchies)
{
    unsigned have = 0;

    for (size_t i = 0; i < g->len; i++)
        have |= g->places[i].current ? g->places[i].controllers : 0;
    if ((have & CGROUP_CPU) && (have & CGROUP_MEMORY))
        return 0;
    if (asprintf(&g->problem, "%s",
                 !hierarchies ? "this machine shows no control groups"
                 : !have      ? "this user may not divide the control group it runs in (as root, "
                                "or with systemd-run --user --scope -p Delegate=yes, it may)"
                 : have & CGROUP_CPU ? "the control group it runs in has no memory controller"
                                     : "the control group it runs in has no cpu controller") < 0) {
        g->problem = NULL;
        return -ENOMEM;
    }
    return 0;
}

/* --- remembered places --- */

static int recall(struct cgroups *g)
{
    struct buf text = BUF_INIT(MEMORY_LIMIT_BYTES);
    char *at, *line;
    int rc = 0;

    if (file_read(g->memory, MEMORY_LIMIT_BYTES, &text) != 0 || !text.data) {
        buf_release(&text);
        return 0;
    }
    at = text.data;
    while (rc == 0 && (line = strsep(&at, "\n")) != NULL) {
        int unified, used = 0;
        unsigned controllers;

        if (sscanf(line, "%d %u %n", &unified, &controllers, &used) == 2 && line[used] == '/' &&
            access(line + used, F_OK) == 0)
            rc = add_place(g, line + used, controllers, unified != 0, false);
    }
    buf_release(&text);
    return rc;
}

static void remember(const struct cgroups *g)
{
    struct buf text = BUF_INIT(MEMORY_LIMIT_BYTES);

    for (size_t i = 0; i < g->len; i++)
        buf_addf(&text, "%d %u %s\n", g->places[i].unified, g->places[i].controllers,
                 g->places[i].path);
    if (text.len && !text.failed) /* if lost, only empty groups stay behind */
        (void)!file_write_atomic(g->memory, text.data, text.len, 0600);
    buf_release(&text);
}

int cgroups_init(struct cgroups *g, const struct cgroups_options *options)
{
    struct cgroup_own *own = calloc(CURRENT_LIMIT, sizeof(*own));
    size_t n = own ? cgroup_find_own(options->root, own, CURRENT_LIMIT) : 0;
    int rc = own ? 0 : -ENOMEM;

    *g = (struct cgroups){.processors = options->processors};
    if (g->processors <= 0)
        g->processors = max_i64(1, sysconf(_SC_NPROCESSORS_ONLN));
    if (rc == 0 && options->memory) {
        g->memory = strdup(options->memory);
        rc = g->memory ? recall(g) : -ENOMEM;
    }
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = open_place(g, &own[i], options->name);
    free(own);
    if (rc == 0) {
        probe_all(g);
        rc = explain_problem(g, n);
    }
    if (rc == 0 && g->memory)
        remember(g);
    if (rc != 0)
        cgroups_release(g);
    return rc;
}

void cgroups_release(struct cgroups *g)
{
    while (g->len) {
        (void)rmdir(g->places[g->len - 1].path); /* only if nothing runs in it */
        drop_place(g, g->len - 1);
    }
    forget_abandoned(g);
    free(g->problem);
    free(g->memory);
    *g = (struct cgroups){.len = 0};
}

const char *cgroups_problem(const struct cgroups *g)
{
    return g->problem;
}

/* --- the groups of one pod --- */

/* Requests are weights, which count only between siblings: for containers to be weighted across
 * pods, and pods against everything else, every group on the path needs its own. */
int cgroups_pod_make(struct cgroups *g, const struct pod_start *pod, struct err *err)
{
    struct container_limits all = {.cpu_request_milli = g->processors * 1000};
    struct container_limits own = {.cpu_request_milli = cgroup_pod_request_milli(pod)};
    char path[CGROUP_PATH_BYTES], pids[16];

    (void)snprintf(pids, sizeof(pids), "%d", CGROUP_PODS_PIDS_LIMIT);
    for (size_t i = 0; i < g->len; i++) {
        const struct cgroup_place *p = &g->places[i];
        int rc;

        if (!p->current)
            continue;
        rc = make_place(p->path, p->controllers, p->unified);
        if (rc == 0)
            rc = join(path, p->path, pod->uid) ? make_place(path, p->controllers, p->unified)
                                               : -ENAMETOOLONG;
        if (rc != 0)
            return err_set(err, ERR_INTERNAL, "control group %s/%s: %s", p->path, pod->uid,
                           strerror(-rc));
        cgroup_limits_write(p, p->path, &all);
        cgroup_limits_write(p, path, &own);
        if (p->controllers & CGROUP_PIDS)
            (void)!cgroup_file_write(path, "pids.max", pids);
    }
    return 0;
}

const char *const *cgroups_container_make(struct cgroups *g, struct arena *a, const char *uid,
                                          const char *container,
                                          const struct container_limits *limits)
{
    const char **list = arena_alloc(a, (g->len + 1) * sizeof(*list));
    size_t n = 0;

    for (size_t i = 0; list && i < g->len; i++) {
        const struct cgroup_place *p = &g->places[i];
        const char *path = p->current ? arena_printf(a, "%s/%s/%s", p->path, uid, container) : NULL;

        if (!path || make_folder(path) != 0)
            continue;
        cgroup_limits_write(p, path, limits);
        list[n++] = path;
    }
    return list;
}

/* --- ends --- */

static void wait_a_moment(void)
{
    struct timespec t = {.tv_sec = 0, .tv_nsec = ROUND_NS};

    (void)nanosleep(&t, NULL);
}

static bool is_in_group(pid_t pid, const char *name)
{
    char folder[32], text[CGROUP_PATH_BYTES];

    (void)snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
    return cgroup_file_read(folder, "cgroup", text, sizeof(text)) == 0 && strstr(text, name);
}

/* The pid may have been reused: it is checked again once the pidfd holds it. */
static void kill_member(pid_t pid, const char *folder)
{
    const char *name = strrchr(folder, '/');
    int fd = pid > 0 ? pidfd_open(pid, 0) : -1;

    if (fd < 0)
        return;
    if (name && is_in_group(pid, name))
        (void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
    (void)close(fd);
}

/* Version 1 cannot kill a group at once: children forked meanwhile are found in the next round. */
static void kill_members(const char *folder)
{
    for (int round = 0; round < KILL_ROUNDS; round++) {
        char text[16384], *at = text, *line;

        if (cgroup_file_read(folder, "cgroup.procs", text, sizeof(text)) < 0 || !text[0])
            return;
        while ((line = strsep(&at, "\n")) != NULL)
            if (*line)
                kill_member((pid_t)strtol(line, NULL, 10), folder);
        wait_a_moment();
    }
}

static bool is_killable_at_once(const char *folder)
{
    char path[CGROUP_PATH_BYTES];

    return join(path, folder, "cgroup.kill") && access(path, W_OK) == 0;
}

static void kill_group(const char *folder)
{
    if (!is_killable_at_once(folder) || cgroup_file_write(folder, "cgroup.kill", "1") != 0)
        kill_members(folder);
}

static void remove_group(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    char path[CGROUP_PATH_BYTES];

    while (d && (e = readdir(d)) != NULL)
        if (e->d_type == DT_DIR && e->d_name[0] != '.' && join(path, folder, e->d_name))
            remove_group(path);
    if (d)
        (void)closedir(d);
    if (rmdir(folder) == 0 || errno != EBUSY)
        return;
    kill_group(folder);
    for (int round = 0; round < REMOVE_ROUNDS && rmdir(folder) != 0 && errno == EBUSY; round++)
        wait_a_moment();
}

void cgroups_pod_remove(struct cgroups *g, const char *uid)
{
    char path[CGROUP_PATH_BYTES];

    for (size_t i = g->len; i-- > 0 && pod_name_is_safe(uid);) {
        if (join(path, g->places[i].path, uid))
            remove_group(path);
        if (!g->places[i].current && rmdir(g->places[i].path) == 0)
            drop_place(g, i);
    }
}

static void clean_place(const struct cgroup_place *p, bool (*is_alive)(void *, const char *),
                        void *arg)
{
    DIR *d = opendir(p->path);
    const struct dirent *e;
    char path[CGROUP_PATH_BYTES];

    while (d && (e = readdir(d)) != NULL)
        if (e->d_type == DT_DIR && e->d_name[0] != '.' && !is_alive(arg, e->d_name) &&
            join(path, p->path, e->d_name))
            remove_group(path);
    if (d)
        (void)closedir(d);
}

void cgroups_clean(struct cgroups *g, bool (*is_alive)(void *arg, const char *uid), void *arg)
{
    for (size_t i = g->len; i-- > 0;) {
        clean_place(&g->places[i], is_alive, arg);
        if (!g->places[i].current && rmdir(g->places[i].path) == 0)
            drop_place(g, i);
    }
    if (g->memory)
        remember(g);
}
