/*
 * process.c - see process.h. Whether a pod is alive is decided by its lock, never by a pid: a pid
 * in a file may be reused, but only its supervisor can hold the lock.
 *
 * It never waits for a pod. All it knows comes from the pod's folder, so a daemon killed at any
 * point knows the same after its restart. A folder is opened only when its pod is asked for: there
 * may be a hundred thousand of pods that ended long ago.
 */
#include "runtime/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "loop/file.h"
#include "runtime/cgroup.h"
#include "runtime/kept.h"
#include "runtime/mounts.h"
#include "runtime/notify.h"
#include "runtime/podfolder.h"
#include "runtime/proc.h"
#include "runtime/supervisor.h"

/* The supervisor is gone but its lock still seems held: a program it was just starting keeps the
 * descriptor for another moment. */
#define LOCK_RECHECK_MS 20
/* A supervisor with the lock but without a recorded pid cannot be watched, only polled. */
#define START_RECHECK_MS 1000

/* Files per run of a log; the oldest is removed for a new one. */
#define LOG_FILES 16
/* In units of one run's logs: kept per job, and for all removed pods. */
#define KEPT_GROUP_LOGS 4
#define KEPT_TOTAL_LOGS 32
/* The same in pods, whose logs may be small. */
#define KEPT_GROUP_PODS 256
#define KEPT_TOTAL_PODS 1024
/* Kept logs are trimmed at most this often. */
#define KEPT_TRIM_MS 10000
/* By then whatever a dead daemon was starting has entered its groups. */
#define ABANDONED_MS 10000

struct process_pod {
    struct process_runtime *owner;
    char *uid, *ns, *name, *dir;
    int dir_fd;
    struct arena arena; /* for state */
    struct pod_record state;
    struct notify *notify;
    int pid_fd; /* the supervisor's; -1: unknown or gone */
    struct loop_fd *pid_watch;
    int spawn_fd; /* the supervisor's short-lived parent; or -1 */
    struct loop_fd *spawn_watch;
    struct clock_timer *recheck;
    int64_t recheck_ms; /* its delay */
    bool stop_wanted;
    struct ending *ending; /* set while the agent ends it in place of its supervisor */
};

/* A pod without supervisors: a pool thread looks for its leftovers, because that examines all
 * processes of the machine. */
struct ending {
    struct process_pod *pod; /* NULL: already forgotten */
    int lock_fd;             /* held, so that it cannot be started */
    char mark[128];
    int exit_code;
    const char *reason, *message; /* literals */
};

struct process_runtime {
    struct runtime base;
    struct loop *loop;
    char *pod_root, *log_root, *program, *small_program;
    struct map pods; /* uid -> process_pod */
    struct clock_timer *trim, *abandoned;
    bool has_mounts;
    int64_t log_bytes; /* per run */
    struct cgroups cgroups;
};

static struct process_runtime *self_of(struct runtime *r)
{
    return container_of(r, struct process_runtime, base);
}

static void look(struct process_pod *p);
static struct process_pod *hold(struct process_runtime *r, const char *uid);
static void recheck_after(struct process_pod *p, int64_t delay_ms);

static void tell(struct process_pod *p)
{
    struct runtime *r = &p->owner->base;

    if (r->on_change)
        r->on_change(r->on_change_arg, p->uid);
}

/* --- one pod in memory --- */

static void drop_watch(struct loop_fd **watch, int *fd)
{
    loop_fd_stop(*watch);
    *watch = NULL;
    file_close(fd);
}

static void pod_free(struct process_pod *p)
{
    if (p->ending)
        p->ending->pod = NULL;
    notify_stop(p->notify);
    drop_watch(&p->pid_watch, &p->pid_fd);
    drop_watch(&p->spawn_watch, &p->spawn_fd);
    clock_stop(loop_clock(p->owner->loop), p->recheck);
    file_close(&p->dir_fd);
    arena_release(&p->arena);
    free(p->uid);
    free(p->ns);
    free(p->name);
    free(p->dir);
    free(p);
}

static struct process_pod *pod_new(struct process_runtime *r, const char *uid, const char *ns,
                                   const char *name)
{
    struct process_pod *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->owner = r;
    p->dir_fd = p->pid_fd = p->spawn_fd = -1;
    arena_init(&p->arena, POD_ARENA_LIMIT_BYTES);
    p->uid = strdup(uid);
    p->ns = strdup(ns);
    p->name = strdup(name);
    if (asprintf(&p->dir, "%s/%s", r->pod_root, uid) < 0)
        p->dir = NULL;
    if (!p->uid || !p->ns || !p->name || !p->dir) {
        pod_free(p);
        return NULL;
    }
    p->state.run = (struct pod_run){.ns = p->ns, .name = p->name, .uid = p->uid, .alive = true};
    return p;
}

static void on_file(void *arg, uint32_t mask, const char *name)
{
    struct process_pod *p = arg;

    (void)mask;
    if (*name && strcmp(name, POD_FILE_STATE) != 0)
        return;
    look(p);
    tell(p);
}

/* The folder exists. Watches it, so that nothing from here on is missed. */
static int pod_open(struct process_pod *p, struct err *err)
{
    int rc;

    p->dir_fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir_fd < 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", p->dir, strerror(errno));
    rc = notify_watch(p->owner->loop, p->dir, IN_MOVED_TO | IN_ONLYDIR, on_file, p, &p->notify);
    if (rc != 0)
        return err_set(err, ERR_INTERNAL, "cannot watch %s: %s", p->dir, strerror(-rc));
    return 0;
}

/* --- the supervisor's life --- */

/* A dead pod no longer changes. A user may keep thousands of them, but not thousands of descriptors
 * and watches. */
static void let_go(struct process_pod *p)
{
    notify_stop(p->notify);
    p->notify = NULL;
    file_close(&p->dir_fd);
    cgroups_pod_remove(&p->owner->cgroups, p->uid);
}

static void on_supervisor_gone(void *arg, unsigned events)
{
    struct process_pod *p = arg;

    (void)events;
    drop_watch(&p->pid_watch, &p->pid_fd);
    look(p);
    tell(p);
}

static void send_stop(struct process_pod *p)
{
    if (p->pid_fd >= 0 && pidfd_send_signal(p->pid_fd, SIGTERM, NULL, 0) == 0)
        p->stop_wanted = false;
}

/* The pid may be stale: only with its start time is it the supervisor. */
static void hold_supervisor(struct process_pod *p)
{
    struct proc_stat stat;

    if (p->pid_fd >= 0 || p->state.pid <= 0)
        return;
    p->pid_fd = pidfd_open((pid_t)p->state.pid, 0);
    if (p->pid_fd >= 0 && (proc_stat_read((pid_t)p->state.pid, &stat) != 0 ||
                           stat.start_ticks != p->state.start_ticks))
        file_close(&p->pid_fd);
    if (p->pid_fd < 0)
        return;
    p->pid_watch = loop_fd_watch(p->owner->loop, p->pid_fd, LOOP_READABLE, on_supervisor_gone, p);
    if (!p->pid_watch)
        log_warn("pod %s/%s: cannot watch its supervisor: %s", p->ns, p->name, strerror(errno));
    if (p->stop_wanted)
        send_stop(p);
}

/* False: whether there is one, and which, is not known. What is malformed counts as none. */
static bool read_state(struct process_pod *p)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record s;
    auto_err err = ERR_INIT;

    if (pod_record_read(p->dir_fd, &a, &s, &err) != 0) {
        if (err.reason != ERR_NOT_FOUND)
            log_warn("pod %s/%s: %s", p->ns, p->name, err.text);
        arena_release(&a);
        return err.reason == ERR_NOT_FOUND || err.reason == ERR_BAD_REQUEST;
    }
    s.run.ns = p->ns;
    s.run.name = p->name;
    s.run.uid = p->uid;
    s.run.alive = true;
    arena_release(&p->arena);
    p->arena = a;
    p->state = s;
    return true;
}

/* Containers from the start record, for a supervisor that never wrote a state. */
static void state_from_start(struct process_pod *p)
{
    struct pod_start start;
    const struct json *v = pod_file_read_json(p->dir_fd, POD_FILE_RUN, &p->arena, NULL);
    struct container_state *c;

    if (!v || pod_start_from_json(&p->arena, v, &start, NULL) != 0)
        return;
    c = arena_alloc(&p->arena, start.containers_len * sizeof(*c));
    if (!c)
        return;
    for (size_t i = 0; i < start.containers_len; i++)
        c[i] = (struct container_state){.name = start.containers[i].name,
                                        .init = start.containers[i].init,
                                        .reason = "",
                                        .message = ""};
    p->state.run.containers = c;
    p->state.run.containers_len = start.containers_len;
}

/* No supervisor is left to write the end of this pod, so we do. */
static void write_end(struct process_pod *p, const struct ending *e)
{
    int64_t now = clock_now_ms(loop_clock(p->owner->loop));
    int rc;

    if (!p->state.run.known)
        state_from_start(p);
    for (size_t i = 0; i < p->state.run.containers_len; i++) {
        struct container_state *c = &p->state.run.containers[i];

        if (c->phase == CONTAINER_TERMINATED)
            continue;
        c->phase = CONTAINER_TERMINATED;
        c->exit_code = e->exit_code;
        c->reason = e->reason;
        c->message = e->message;
        c->finished_ms = now;
    }
    p->state.final = true;
    p->state.run.known = true;
    rc = pod_record_write(p->dir_fd, &p->state, POD_SYNCED);
    if (rc != 0)
        log_warn("pod %s/%s: cannot record its end: %s", p->ns, p->name, strerror(-rc));
}

static void kill_what_is_left(void *arg)
{
    const struct ending *e = arg;

    proc_kill_by_env(e->mark, NULL);
}

static void on_nothing_left(void *arg)
{
    struct ending *e = arg;
    struct process_pod *p = e->pod;

    if (p)
        write_end(p, e);
    (void)close(e->lock_fd);
    if (p) {
        p->ending = NULL;
        p->state.run.alive = false;
        let_go(p);
        tell(p);
    }
    free(e);
}

static void end_in_its_place(struct process_pod *p, int exit_code, const char *reason,
                             const char *message)
{
    struct ending *e;
    int lock_fd = pod_lock_take(p->dir_fd), rc;

    if (lock_fd < 0) {
        recheck_after(p, START_RECHECK_MS);
        return;
    }
    e = calloc(1, sizeof(*e));
    rc = e ? pod_mark_started(p->dir_fd) : -ENOMEM;
    if (rc == 0 || rc == -EEXIST) {
        *e = (struct ending){.pod = p,
                             .lock_fd = lock_fd,
                             .exit_code = exit_code,
                             .reason = reason,
                             .message = message};
        (void)snprintf(e->mark, sizeof(e->mark), POD_ENV_UID "=%s", p->uid);
        rc = loop_work(p->owner->loop, kill_what_is_left, on_nothing_left, e);
    }
    if (rc == 0) {
        p->ending = e;
        return;
    }
    log_warn("pod %s/%s: cannot end it: %s", p->ns, p->name, strerror(-rc));
    (void)close(lock_fd);
    free(e);
    recheck_after(p, START_RECHECK_MS);
}

static void on_recheck(void *arg)
{
    struct process_pod *p = arg;

    p->recheck = NULL;
    look(p);
    if (!p->state.run.alive)
        tell(p);
}

/* A short delay replaces a long one: an end right after the start must not wait for the start's
 * check. */
static void recheck_after(struct process_pod *p, int64_t delay_ms)
{
    struct clock *clock = loop_clock(p->owner->loop);

    if (p->recheck && p->recheck_ms <= delay_ms)
        return;
    clock_stop(clock, p->recheck);
    p->recheck = clock_start(clock, delay_ms, on_recheck, p);
    p->recheck_ms = delay_ms;
}

/* Updates our state from the folder. */
static void look(struct process_pod *p)
{
    bool held;

    if (!p->state.run.alive || p->ending)
        return;
    held = pod_lock_is_held(p->dir_fd); /* before the state: what is read then is final */
    if (!read_state(p)) {
        recheck_after(p, START_RECHECK_MS);
        return;
    }
    if (held) {
        hold_supervisor(p);
        if (p->pid_fd < 0)
            recheck_after(p, p->state.pid > 0 ? LOCK_RECHECK_MS : START_RECHECK_MS);
        return;
    }
    if (p->spawn_fd >= 0)
        return; /* not there yet, or exiting: the end of its parent tells */
    drop_watch(&p->pid_watch, &p->pid_fd);
    if (!p->state.final)
        end_in_its_place(p, 137, "SupervisorLost",
                         "the pod's supervisor was killed or the machine went down; how the "
                         "program ended is not known");
    p->state.run.alive = !p->state.final;
    if (!p->state.run.alive)
        let_go(p);
}

/* --- starting --- */

static void on_spawned(void *arg, unsigned events)
{
    struct process_pod *p = arg;
    siginfo_t info = {.si_pid = 0};

    (void)events;
    if (waitid(P_PIDFD, (id_t)p->spawn_fd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
        return;
    drop_watch(&p->spawn_watch, &p->spawn_fd);
    if ((info.si_code != CLD_EXITED || info.si_status != 0) && !pod_lock_is_held(p->dir_fd) &&
        !pod_is_started(p->dir_fd))
        end_in_its_place(p, 128, "StartError", "the pod's supervisor could not be started");
    look(p);
    tell(p);
}

static int spawn(struct process_pod *p, struct err *err)
{
    const char *program = p->owner->program, *small = p->owner->small_program;
    char *const argv[] = {(char[]){"muster"}, (char[]){SUPERVISOR_COMMAND}, p->dir, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    pid_t pid;
    int rc;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attr);
    rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    for (int fd = 0; fd < 3 && rc == 0; fd++)
        rc = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (rc == 0)
        rc = posix_spawn(&pid, small ? small : program, &actions, &attr, argv, environ);
    if (rc != 0 && small) /* not every machine can run programs from memory */
        rc = posix_spawn(&pid, program, &actions, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        return err_set(err, ERR_INTERNAL, "cannot run %s: %s", program, strerror(rc));
    p->spawn_fd = pidfd_open(pid, 0);
    if (p->spawn_fd >= 0)
        p->spawn_watch = loop_fd_watch(p->owner->loop, p->spawn_fd, LOOP_READABLE, on_spawned, p);
    if (!p->spawn_watch) { /* rare: then we wait here for some milliseconds */
        file_close(&p->spawn_fd);
        (void)waitpid(pid, NULL, 0);
    }
    return 0;
}

/* Adds the groups its containers enter. If they cannot be created it runs without. */
static struct pod_start with_cgroups(struct process_pod *p, struct arena *a,
                                     const struct pod_start *start)
{
    struct cgroups *g = &p->owner->cgroups;
    struct container_start *list = arena_alloc(a, start->containers_len * sizeof(*list));
    struct pod_start grouped = *start;
    auto_err err = ERR_INIT;

    if (!list)
        return grouped;
    if (cgroups_pod_make(g, start, &err) != 0) {
        log_warn("pod %s/%s: its limits are not enforced: %s", p->ns, p->name, err.text);
        return grouped;
    }
    for (size_t i = 0; i < start->containers_len; i++) {
        list[i] = start->containers[i];
        list[i].cgroups = cgroups_container_make(g, a, p->uid, list[i].name, &list[i].limits);
    }
    grouped.containers = list;
    return grouped;
}

static int write_start(struct process_pod *p, const struct pod_start *start, struct err *err)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct buf text = BUF_INIT(POD_FILE_LIMIT_BYTES);
    struct pod_start grouped = with_cgroups(p, &a, start);
    int rc;

    if (grouped.log_file_bytes == 0) {
        grouped.log_file_bytes = p->owner->log_bytes / LOG_FILES;
        grouped.log_files = LOG_FILES;
    }
    json_write(&text, pod_start_to_json(&a, &grouped));
    rc = arena_failed(&a) || text.failed
             ? -ENOMEM
             : pod_file_write(p->dir_fd, POD_FILE_RUN, text.data, text.len, POD_NOT_SYNCED);
    pod_file_keep_room(p->dir_fd, POD_FILE_STOP); /* a full disk must not keep a pod running */
    buf_release(&text);
    arena_release(&a);
    if (rc != 0)
        return err_set(err, ERR_INTERNAL, "%s/%s: %s", p->dir, POD_FILE_RUN, strerror(-rc));
    return 0;
}

static int begin(struct process_pod *p, const struct pod_start *start, struct err *err)
{
    int rc;

    if (mkdir(p->dir, 0700) != 0 && errno != EEXIST)
        return err_set(err, ERR_INTERNAL, "%s: %s", p->dir, strerror(errno));
    rc = pod_open(p, err);
    if (rc == 0 && pod_is_started(p->dir_fd))
        rc = err_set(err, ERR_ALREADY_EXISTS, "pod %s was started before", p->uid);
    if (rc == 0)
        rc = write_start(p, start, err);
    if (rc == 0)
        rc = spawn(p, err);
    return rc;
}

static int process_start(struct runtime *r, const struct pod_start *start, struct err *err)
{
    struct process_runtime *self = self_of(r);
    struct process_pod *p;
    int rc;

    if (!pod_name_is_safe(start->uid))
        return err_set(err, ERR_BAD_REQUEST, "bad pod UID \"%s\"", start->uid);
    if (hold(self, start->uid))
        return err_set(err, ERR_ALREADY_EXISTS, "pod %s was started before", start->uid);
    p = pod_new(self, start->uid, start->ns, start->name);
    if (!p)
        return err_set(err, ERR_INTERNAL, "out of memory");
    rc = map_puts(&self->pods, p->uid, p, NULL);
    if (rc == 0) {
        rc = begin(p, start, err);
        if (rc != 0)
            (void)map_removes(&self->pods, p->uid);
    }
    if (rc != 0)
        pod_free(p);
    return rc;
}

/* --- stopping and removing --- */

static int process_stop(struct runtime *r, const char *uid, int64_t grace_seconds, struct err *err)
{
    struct process_pod *p = hold(self_of(r), uid);
    char text[64];
    int rc;

    if (!p || !p->state.run.alive)
        return 0;
    (void)snprintf(text, sizeof(text), "{\"graceSeconds\":%lld}", (long long)grace_seconds);
    rc = pod_file_write(p->dir_fd, POD_FILE_STOP, text, strlen(text), POD_NOT_SYNCED);
    if (rc != 0)
        return err_set(err, ERR_INTERNAL, "%s/%s: %s", p->dir, POD_FILE_STOP, strerror(-rc));
    p->stop_wanted = true; /* a supervisor that is just starting looks for the file itself */
    send_stop(p);
    return 0;
}

static void remove_all(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(fd, e->d_name, 0);
    if (d)
        (void)closedir(d);
    else
        file_close(&fd);
    (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* Keeps logs and the exit record, but not the environment, which may contain secrets. */
static int put_aside(const struct process_pod *p)
{
    static const char *const files[] = {POD_FILE_RUN, POD_FILE_STOP, POD_FILE_STATE};
    char *parent = NULL, *target = NULL;
    int rc = -ENOMEM;

    if (asprintf(&parent, "%s/%s/%s", p->owner->log_root, p->ns, p->name) < 0)
        parent = NULL;
    if (parent && asprintf(&target, "%s/%s", parent, p->uid) < 0)
        target = NULL;
    if (target)
        rc = file_make_dirs(parent, 0700);
    for (size_t i = 0; i < ELEMS(files) && rc == 0; i++) {
        pod_file_give_up_room(p->dir_fd, files[i]);
        if (strcmp(files[i], POD_FILE_STATE) != 0)
            (void)unlinkat(p->dir_fd, files[i], 0);
    }
    if (rc == 0 && rename(p->dir, target) != 0)
        rc = -errno;
    if (rc == -ENOENT && file_make_dirs(parent, 0700) == 0) /* trimming had just found it empty */
        rc = rename(p->dir, target) == 0 ? 0 : -errno;
    free(parent);
    free(target);
    return rc;
}

/* --- bounding what is kept --- */

struct trim {
    struct kept_limits limits;
    char root[];
};

static void trim_kept(void *arg)
{
    const struct trim *t = arg;

    kept_trim(t->root, &t->limits);
}

static void on_trim(void *arg)
{
    struct process_runtime *r = arg;
    size_t size = strlen(r->log_root) + 1;
    struct trim *t = malloc(sizeof(*t) + size);

    r->trim = NULL;
    if (!t)
        return; /* with the next removed pod */
    t->limits = (struct kept_limits){.group_bytes = KEPT_GROUP_LOGS * r->log_bytes,
                                     .total_bytes = KEPT_TOTAL_LOGS * r->log_bytes,
                                     .group_folders = KEPT_GROUP_PODS,
                                     .total_folders = KEPT_TOTAL_PODS};
    memcpy(t->root, r->log_root, size);
    if (loop_work(r->loop, trim_kept, free, t) != 0)
        free(t);
}

static void trim_later(struct process_runtime *r)
{
    if (!r->trim)
        r->trim = clock_start(loop_clock(r->loop), KEPT_TRIM_MS, on_trim, r);
}

static int process_remove(struct runtime *r, const char *uid, struct err *err)
{
    struct process_runtime *self = self_of(r);
    struct process_pod *p = hold(self, uid);
    int lock_fd, rc;

    if (!p)
        return 0;
    if (p->dir_fd < 0)
        p->dir_fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir_fd < 0 && errno == ENOENT) { /* another process was quicker */
        (void)map_removes(&self->pods, uid);
        pod_free(p);
        return 0;
    }
    lock_fd = p->state.run.alive ? -EAGAIN : pod_lock_take(p->dir_fd);
    if (lock_fd < 0) {
        (void)err_set(err, ERR_CONFLICT, "pod %s is still running", uid);
        return -EBUSY;
    }
    rc = strchr(p->uid, POD_LATE_MARK) ? -ENOTSUP : put_aside(p);
    if (rc == -ENOTSUP)
        remove_all(AT_FDCWD, p->dir); /* an ephemeral container's log ends with its pod */
    else if (rc != 0) {
        log_warn("pod %s/%s: its logs cannot be kept: %s", p->ns, p->name, strerror(-rc));
        remove_all(AT_FDCWD, p->dir);
    }
    (void)close(lock_fd);
    (void)map_removes(&self->pods, uid);
    pod_free(p);
    trim_later(self);
    return 0;
}

/* --- re-attaching --- */

/* The pod of a folder, from the records in it. */
static struct process_pod *pod_from_dir(struct process_runtime *r, const char *uid)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct process_pod *p = NULL;
    const struct json *v = NULL;
    char *dir;

    if (asprintf(&dir, "%s/%s", r->pod_root, uid) >= 0) {
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0) {
            v = pod_file_read_json(fd, POD_FILE_RUN, &a, NULL);
            if (!v)
                v = pod_file_read_json(fd, POD_FILE_STATE, &a, NULL);
            (void)close(fd);
        }
        free(dir);
    }
    if (v)
        p = pod_new(r, uid, json_get_string(v, "namespace", ""), json_get_string(v, "name", ""));
    arena_release(&a);
    return p;
}

/* A folder without the marker was prepared but nothing ran: the daemon was killed in between. It is
 * removed under the lock, start record first, so that a late supervisor finds nothing to run; the
 * agent will create it again. False: it is being started after all. */
static bool cancel_start(struct process_runtime *r, const char *uid)
{
    int root_fd = open(r->pod_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int dir_fd = root_fd < 0 ? -1 : openat(root_fd, uid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int lock_fd = dir_fd < 0 ? -1 : pod_lock_take(dir_fd);
    bool cancelled = lock_fd >= 0 && !pod_is_started(dir_fd);

    if (cancelled) {
        (void)unlinkat(dir_fd, POD_FILE_RUN, 0);
        remove_all(root_fd, uid);
    }
    file_close(&lock_fd);
    file_close(&dir_fd);
    file_close(&root_fd);
    return cancelled;
}

static struct process_pod *attach(struct process_runtime *r, const char *uid)
{
    struct process_pod *p;
    auto_err err = ERR_INIT;

    if (cancel_start(r, uid))
        return NULL;
    p = pod_from_dir(r, uid);
    if (!p) {
        log_warn("%s/%s is not a pod's folder", r->pod_root, uid);
        return NULL;
    }
    if (pod_open(p, &err) != 0 || map_puts(&r->pods, uid, p, NULL) != 0) {
        log_warn("pod %s/%s: %s", p->ns, p->name, err.text ? err.text : "out of memory");
        pod_free(p);
        return NULL;
    }
    look(p);
    return p;
}

static bool has_folder(const struct process_runtime *r, const char *uid)
{
    char *dir;
    bool has;

    if (!pod_name_is_safe(uid) || asprintf(&dir, "%s/%s", r->pod_root, uid) < 0)
        return false;
    has = access(dir, F_OK) == 0;
    free(dir);
    return has;
}

static struct process_pod *hold(struct process_runtime *r, const char *uid)
{
    struct process_pod *p = map_gets(&r->pods, uid);

    return p || !has_folder(r, uid) ? p : attach(r, uid);
}

/* --- the rest of the interface --- */

static const struct pod_run *process_find(struct runtime *r, const char *uid)
{
    struct process_pod *p = hold(self_of(r), uid);

    return p ? &p->state.run : NULL;
}

static void process_each_uid(struct runtime *r, void (*fn)(void *arg, const char *uid), void *arg)
{
    const char *root = self_of(r)->pod_root;
    DIR *d = opendir(root);
    const struct dirent *e;

    if (!d)
        log_error("%s: %s", root, strerror(errno));
    while (d && (e = readdir(d)) != NULL)
        if (pod_name_is_safe(e->d_name))
            fn(arg, e->d_name);
    if (d)
        (void)closedir(d);
}

static void process_rest(struct runtime *r, const char *uid)
{
    struct process_runtime *self = self_of(r);
    struct process_pod *p = map_gets(&self->pods, uid);

    if (!p || p->state.run.alive)
        return;
    (void)map_removes(&self->pods, uid);
    pod_free(p);
}

static void process_each(struct runtime *r, void (*fn)(void *arg, const struct pod_run *run),
                         void *arg)
{
    map_for_each (node, &self_of(r)->pods) {
        const struct process_pod *p = node->value;

        fn(arg, &p->state.run);
    }
}

static bool process_has_mounts(struct runtime *r)
{
    return self_of(r)->has_mounts;
}

static void free_value(void *value)
{
    pod_free(value);
}

static void process_free(struct runtime *r)
{
    struct process_runtime *self = self_of(r);

    clock_stop(loop_clock(self->loop), self->trim);
    clock_stop(loop_clock(self->loop), self->abandoned);
    map_release(&self->pods, free_value);
    cgroups_release(&self->cgroups);
    free(self->pod_root);
    free(self->log_root);
    free(self->program);
    free(self->small_program);
    free(self);
}

static const struct runtime_ops process_ops = {
    .start = process_start,
    .stop = process_stop,
    .find = process_find,
    .each = process_each,
    .each_uid = process_each_uid,
    .rest = process_rest,
    .remove = process_remove,
    .has_mounts = process_has_mounts,
    .free = process_free,
};

static bool is_alive(void *arg, const char *uid)
{
    struct process_runtime *r = arg;
    const struct process_pod *p = map_gets(&r->pods, uid);

    return p && p->state.run.alive;
}

/* Groups belong to pods that were alive when the daemon ended: those are loaded before any group is
 * removed. */
static bool note_uid(void *arg, const char *uid)
{
    (void)!map_puts(arg, uid, NULL, NULL);
    return true;
}

static void clean_cgroups(struct process_runtime *r)
{
    struct map uids = MAP_INIT;

    cgroups_clean(&r->cgroups, note_uid, &uids);
    map_for_each (n, &uids)
        (void)hold(r, n->key);
    map_release(&uids, NULL);
    cgroups_clean(&r->cgroups, is_alive, r);
}

/* Our own folder in each hierarchy; the names of earlier ones are stored next to the pods. */
static int open_cgroups(struct process_runtime *r)
{
    struct cgroups_options o = {.root = ""};
    char name[CGROUP_NAME_BYTES], *memory;
    int rc;

    cgroup_daemon_name(name);
    if (asprintf(&memory, "%s.cgroups", r->pod_root) < 0)
        return -ENOMEM;
    o.name = name;
    o.memory = memory;
    rc = cgroups_init(&r->cgroups, &o);
    free(memory);
    r->base.limits_problem = cgroups_problem(&r->cgroups);
    return rc;
}

static int open_machine(struct process_runtime *r, struct err *err)
{
    int rc = -ENOMEM;

    if (r->pod_root && r->log_root && r->program)
        rc = file_make_dirs(r->pod_root, 0700);
    if (rc == 0)
        rc = open_cgroups(r);
    if (rc != 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", r->pod_root ? r->pod_root : "the pods' folder",
                       strerror(-rc));
    return 0;
}

static void on_abandoned(void *arg)
{
    struct process_runtime *r = arg;

    r->abandoned = NULL;
    cgroups_remove_abandoned(&r->cgroups);
}

int process_runtime_new(const struct process_options *options, struct runtime **ret,
                        struct err *err)
{
    struct process_runtime *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return err_set(err, ERR_INTERNAL, "out of memory");
    r->base.ops = &process_ops;
    r->loop = options->loop;
    r->pod_root = strdup(options->pod_root);
    r->log_root = strdup(options->log_root);
    r->program = strdup(options->program);
    r->small_program = options->small_program ? strdup(options->small_program) : NULL;
    r->has_mounts = mounts_probe();
    r->log_bytes = options->log_bytes ? options->log_bytes : PROCESS_LOG_BYTES;
    rc = open_machine(r, err);
    if (rc != 0) {
        process_free(&r->base);
        return rc;
    }
    clean_cgroups(r);
    r->abandoned = clock_start(loop_clock(r->loop), ABANDONED_MS, on_abandoned, r);
    *ret = &r->base;
    return 0;
}
