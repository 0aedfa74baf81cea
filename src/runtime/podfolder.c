/* podfolder.c - see podfolder.h. Everything uses the folder's descriptor, so that it also works
 * while the folder is moved. */
#include "runtime/podfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/probe_json.h"
#include "runtime/start_json.h"

#define ARGV_LIMIT 65536u
#define ROOM_FOR_NEXT ".room"
#define READ_TRIES 10 /* for a file that is replaced meanwhile */

bool pod_name_is_safe(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 200;
}

const char *pod_late_uid(struct arena *a, const char *uid, const char *container)
{
    return arena_printf(a, "%s%c%s", uid, POD_LATE_MARK, container);
}

static const char *spare_name(char out[256], const char *name)
{
    (void)snprintf(out, 256, ".%s.tmp", name);
    return out;
}

static int write_spare(int dir_fd, const char *spare, const char *data, size_t len,
                       enum pod_durability durability)
{
    int rc, fd = openat(dir_fd, spare, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    rc = file_write_all(fd, data, len);
    if (rc == 0 && ftruncate(fd, (off_t)len) != 0)
        rc = -errno;
    if (rc == 0 && durability == POD_SYNCED && fsync(fd) != 0)
        rc = -errno;
    if (close(fd) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

/* The replaced file becomes the spare for the next write: a full disk has no room for another. */
static int put_in_place(int dir_fd, const char *spare, const char *name)
{
    return renameat2(dir_fd, spare, dir_fd, name, RENAME_EXCHANGE) == 0 ||
                   renameat(dir_fd, spare, dir_fd, name) == 0
               ? 0
               : -errno;
}

int pod_file_write(int dir_fd, const char *name, const char *data, size_t len,
                   enum pod_durability durability)
{
    char spare[256];
    int rc = write_spare(dir_fd, spare_name(spare, name), data, len, durability);

    if (rc == 0)
        rc = put_in_place(dir_fd, spare, name);
    if (rc == 0 && durability == POD_SYNCED && fsync(dir_fd) != 0)
        rc = -errno;
    return rc;
}

static void take_room(int dir_fd, const char *name)
{
    static const char blank[] = "                                ";

    (void)!write_spare(dir_fd, name, blank, sizeof(blank) - 1, POD_NOT_SYNCED);
}

void pod_file_keep_room(int dir_fd, const char *name)
{
    char spare[256];

    take_room(dir_fd, spare_name(spare, name));
}

void pod_file_give_up_room(int dir_fd, const char *name)
{
    char spare[256];

    (void)unlinkat(dir_fd, spare_name(spare, name), 0);
}

/* -EAGAIN when it was replaced meanwhile: the opened file is then the spare, into which the next
 * version is written. */
static int check_in_place(int dir_fd, const char *name, const struct stat *opened)
{
    struct stat now;

    if (fstatat(dir_fd, name, &now, 0) != 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    return now.st_ino == opened->st_ino && now.st_size == opened->st_size &&
                   now.st_ctim.tv_sec == opened->st_ctim.tv_sec &&
                   now.st_ctim.tv_nsec == opened->st_ctim.tv_nsec
               ? 0
               : -EAGAIN;
}

static int read_once(int dir_fd, const char *name, struct buf *out)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    struct stat opened;
    int rc = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &opened) != 0)
        rc = -errno;
    while (rc == 0) {
        char *room = buf_reserve(out, 16384);
        ssize_t n;

        if (!room) {
            rc = -EFBIG;
            break;
        }
        n = read(fd, room, 16384);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            rc = n < 0 ? -errno : check_in_place(dir_fd, name, &opened);
            break;
        }
        out->len += (size_t)n;
    }
    (void)close(fd);
    return rc;
}

static int pod_file_read(int dir_fd, const char *name, struct buf *out)
{
    int rc = -EAGAIN;

    for (int i = 0; i < READ_TRIES && rc == -EAGAIN; i++) {
        out->len = 0;
        rc = read_once(dir_fd, name, out);
    }
    return rc;
}

struct json *pod_file_read_json(int dir_fd, const char *name, struct arena *a, struct err *err)
{
    struct buf text = BUF_INIT(POD_FILE_LIMIT_BYTES);
    int rc = pod_file_read(dir_fd, name, &text);
    struct json *v = NULL;

    if (rc == -ENOENT)
        (void)err_set(err, ERR_NOT_FOUND, "%s: no such file", name);
    else if (rc != 0)
        (void)err_set(err, ERR_INTERNAL, "%s: %s", name, strerror(-rc));
    else
        v = json_parse(a, text.data ? text.data : "", text.len, err);
    buf_release(&text);
    return v;
}

/* --- state.json --- */

static const char *const phase_names[] = {
    [CONTAINER_WAITING] = "waiting",
    [CONTAINER_RUNNING] = "running",
    [CONTAINER_TERMINATED] = "terminated",
};

static void notes_to_json(struct arena *a, struct json *list, const struct pod_run *run)
{
    for (size_t i = 0; i < run->notes_len; i++) {
        struct json *v = json_append(list, json_new_object(a));

        json_set_int(a, v, "number", run->notes[i].number);
        json_set_bool(a, v, "warning", run->notes[i].warning);
        json_set_string(a, v, "reason", run->notes[i].reason);
        json_set_string(a, v, "message", run->notes[i].message);
    }
}

/* A copy: records live as long as their pods, and a parsed file is six times as large. */
static const char *text_of(struct arena *a, const struct json *v, const char *key,
                           const char *otherwise)
{
    const char *text = json_get_string(v, key, NULL);

    return text ? arena_strdup(a, text) : otherwise;
}

static void notes_from_json(struct arena *a, const struct json *list, struct pod_run *run)
{
    size_t most = min_size(json_len(list), POD_NOTES_LIMIT), n = 0;
    struct pod_note *notes = most ? arena_alloc(a, most * sizeof(*notes)) : NULL;

    json_each (v, list)
        if (notes && n < most)
            notes[n++] = (struct pod_note){.number = json_get_int(v, "number", 0),
                                           .warning = json_get_bool(v, "warning", false),
                                           .reason = text_of(a, v, "reason", ""),
                                           .message = text_of(a, v, "message", "")};
    run->notes = notes;
    run->notes_len = n;
}

static struct json *container_to_json(struct arena *a, const struct container_state *c)
{
    struct json *v = json_new_object(a);

    json_set_string(a, v, "name", c->name);
    json_set_bool(a, v, "init", c->init);
    json_set_string(a, v, "state", phase_names[c->phase]);
    json_set_int(a, v, "pid", c->pid);
    json_set_int(a, v, "startTicks", c->start_ticks);
    json_set_int(a, v, "startedMs", c->started_ms);
    json_set_int(a, v, "finishedMs", c->finished_ms);
    json_set_int(a, v, "exitCode", c->exit_code);
    json_set_int(a, v, "signal", c->signal);
    json_set_bool(a, v, "byItself", c->by_itself);
    json_set_string(a, v, "reason", c->reason);
    json_set_string(a, v, "message", c->message);
    json_set_int(a, v, "restarts", c->restart_count);
    json_set_string(a, v, "imageID", c->image_id);
    json_set_bool(a, v, "ready", c->ready);
    json_set_bool(a, v, "started", c->started);
    if (c->last)
        (void)json_set(a, v, "last", container_to_json(a, c->last));
    return v;
}

static void container_from_json(struct arena *a, const struct json *v, struct container_state *c)
{
    const struct json *last = json_get(v, "last");
    struct container_state *before = last ? arena_alloc(a, sizeof(*before)) : NULL;
    const char *phase = json_get_string(v, "state", "");

    *c = (struct container_state){
        .name = text_of(a, v, "name", ""),
        .init = json_get_bool(v, "init", false),
        .phase = CONTAINER_WAITING,
        .pid = json_get_int(v, "pid", 0),
        .start_ticks = json_get_int(v, "startTicks", 0),
        .started_ms = json_get_int(v, "startedMs", 0),
        .finished_ms = json_get_int(v, "finishedMs", 0),
        .exit_code = (int)json_get_int(v, "exitCode", 0),
        .signal = (int)json_get_int(v, "signal", 0),
        .by_itself = json_get_bool(v, "byItself", false),
        .reason = text_of(a, v, "reason", ""),
        .message = text_of(a, v, "message", ""),
        .restart_count = json_get_int(v, "restarts", 0),
        .image_id = text_of(a, v, "imageID", NULL),
        .ready = json_get_bool(v, "ready", false),
        .started = json_get_bool(v, "started", false),
        .last = before,
    };
    if (before)
        container_from_json(a, last, before);
    for (size_t i = 0; i < ELEMS(phase_names); i++)
        if (strcmp(phase, phase_names[i]) == 0)
            c->phase = (enum container_phase)i;
}

int pod_record_write(int dir_fd, const struct pod_record *s, enum pod_durability durability)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct buf text = BUF_INIT(POD_FILE_LIMIT_BYTES);
    struct json *v = json_new_object(&a);
    bool first = faccessat(dir_fd, POD_FILE_STATE, F_OK, 0) != 0;
    struct json *list;
    char spare[256];
    int rc = -ENOMEM;

    json_set_string(&a, v, "namespace", s->run.ns);
    json_set_string(&a, v, "name", s->run.name);
    json_set_string(&a, v, "uid", s->run.uid);
    json_set_int(&a, v, "pid", s->pid);
    json_set_int(&a, v, "startTicks", s->start_ticks);
    json_set_int(&a, v, "keeperPid", s->keeper_pid);
    if (s->run.owner)
        json_set_string(&a, v, "owner", s->run.owner);
    json_set_int(&a, v, "attempt", s->run.attempt);
    json_set_bool(&a, v, "final", s->final);
    list = json_make_array(&a, v, "containers");
    for (size_t i = 0; i < s->run.containers_len; i++)
        (void)json_append(list, container_to_json(&a, &s->run.containers[i]));
    if (s->run.notes_len > 0)
        notes_to_json(&a, json_make_array(&a, v, "notes"), &s->run);
    json_write(&text, v);
    if (first) /* before the pod can be seen running: the disk may be full right then */
        take_room(dir_fd, ROOM_FOR_NEXT);
    if (!arena_failed(&a) && !text.failed)
        rc = pod_file_write(dir_fd, POD_FILE_STATE, text.data, text.len, durability);
    if (first)
        (void)renameat(dir_fd, ROOM_FOR_NEXT, dir_fd, spare_name(spare, POD_FILE_STATE));
    buf_release(&text);
    arena_release(&a);
    return rc;
}

const struct container_state *pod_record_container(const struct pod_record *s, const char *name)
{
    for (size_t i = 0; i < s->run.containers_len; i++)
        if (strcmp(s->run.containers[i].name, name) == 0)
            return &s->run.containers[i];
    return NULL;
}

bool pod_folder_is_of(struct arena *a, const char *root, const char *uid, const char *ns,
                      const char *name)
{
    const char *path = pod_name_is_safe(uid) ? arena_printf(a, "%s/%s", root, uid) : NULL;
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const struct json *record;

    if (fd < 0)
        return false;
    record = pod_file_read_json(fd, POD_FILE_STATE, a, NULL);
    (void)close(fd);
    return json_string_is(json_get(record, "namespace"), ns) &&
           json_string_is(json_get(record, "name"), name);
}

static int record_from_json(struct arena *a, const struct json *v, struct pod_record *ret,
                            struct err *err)
{
    const struct json *list = json_get(v, "containers");
    struct container_state *containers;
    size_t n = 0;

    if (json_len(list) > POD_CONTAINERS_LIMIT)
        return err_set(err, ERR_INTERNAL, "%s: too many containers", POD_FILE_STATE);
    containers = arena_alloc(a, max_size(json_len(list), 1) * sizeof(*containers));
    if (!containers)
        return err_set(err, ERR_INTERNAL, "out of memory");
    json_each (item, list)
        container_from_json(a, item, &containers[n++]);
    *ret = (struct pod_record){
        .run = {.ns = text_of(a, v, "namespace", ""),
                .name = text_of(a, v, "name", ""),
                .uid = text_of(a, v, "uid", ""),
                .owner = text_of(a, v, "owner", NULL),
                .attempt = json_get_int(v, "attempt", -1),
                .known = true,
                .containers = containers,
                .containers_len = n},
        .pid = json_get_int(v, "pid", 0),
        .start_ticks = json_get_int(v, "startTicks", 0),
        .keeper_pid = json_get_int(v, "keeperPid", 0),
        .final = json_get_bool(v, "final", false),
    };
    notes_from_json(a, json_get(v, "notes"), &ret->run);
    return arena_failed(a) ? err_set(err, ERR_INTERNAL, "out of memory") : 0;
}

int pod_record_read(int dir_fd, struct arena *a, struct pod_record *ret, struct err *err)
{
    struct arena file = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    auto_err own = ERR_INIT;
    const struct json *v = pod_file_read_json(dir_fd, POD_FILE_STATE, &file, &own);
    int rc = v ? record_from_json(a, v, ret, err) : err_errno(own.reason);

    if (!v)
        err_move(err, &own);
    arena_release(&file);
    return rc;
}

/* --- run.json --- */

static struct json *strings_to_json(struct arena *a, const char *const *list)
{
    struct json *v = json_new_array(a);

    for (; *list; list++)
        json_append_string(a, v, *list);
    return v;
}

static const char *const *strings_from_json(struct arena *a, const struct json *v)
{
    return json_len(v) > ARGV_LIMIT ? NULL : json_strings(a, v);
}

struct json *pod_start_to_json(struct arena *a, const struct pod_start *p)
{
    struct json *v = json_new_object(a);
    struct json *list;

    json_set_string(a, v, "namespace", p->ns);
    json_set_string(a, v, "name", p->name);
    json_set_string(a, v, "uid", p->uid);
    json_set_int(a, v, "revision", p->revision);
    json_set_int(a, v, "graceSeconds", p->grace_seconds);
    if (p->owner)
        json_set_string(a, v, "owner", p->owner);
    json_set_int(a, v, "attempt", p->attempt);
    json_set_int(a, v, "restart", p->restart);
    json_set_int(a, v, "logFileBytes", p->log_file_bytes);
    json_set_int(a, v, "logFiles", p->log_files);
    json_set_string(a, v, "hosts", p->hosts_path);
    start_json_add_pod(a, v, p);
    list = json_make_array(a, v, "containers");
    for (size_t i = 0; i < p->containers_len; i++) {
        const struct container_start *c = &p->containers[i];
        struct json *item = json_append(list, json_new_object(a));

        json_set_string(a, item, "name", c->name);
        json_set_bool(a, item, "init", c->init);
        (void)json_set(a, item, "argv", strings_to_json(a, c->argv));
        (void)json_set(a, item, "env", strings_to_json(a, c->env));
        json_set_string(a, item, "cwd", c->cwd);
        if (c->limits.memory_bytes > 0)
            json_set_int(a, item, "memoryLimit", c->limits.memory_bytes);
        if (c->cgroups)
            (void)json_set(a, item, "cgroups", strings_to_json(a, c->cgroups));
        start_json_add_container(a, item, c);
        probe_json_add(a, item, c);
    }
    return v;
}

static int container_start_from_json(struct arena *a, const struct json *v,
                                     struct container_start *c, struct err *err)
{
    *c = (struct container_start){
        .name = json_get_string(v, "name", ""),
        .init = json_get_bool(v, "init", false),
        .argv = strings_from_json(a, json_get(v, "argv")),
        .env = strings_from_json(a, json_get(v, "env")),
        .cwd = json_get_string(v, "cwd", "/"),
        .limits = {.memory_bytes = json_get_int(v, "memoryLimit", 0)},
        .cgroups = strings_from_json(a, json_get(v, "cgroups")),
    };
    if (!c->argv || !c->argv[0] || !c->env)
        return err_set(err, ERR_INTERNAL, "%s: container %s has no command", POD_FILE_RUN, c->name);
    if (!pod_name_is_safe(c->name))
        return err_set(err, ERR_INTERNAL, "%s: bad container name", POD_FILE_RUN);
    probe_json_read(a, v, c);
    return start_json_read_container(a, v, c, err);
}

int pod_start_from_json(struct arena *a, const struct json *v, struct pod_start *ret,
                        struct err *err)
{
    const struct json *list = json_get(v, "containers");
    struct container_start *containers;
    size_t n = 0;

    if (json_len(list) == 0 || json_len(list) > POD_CONTAINERS_LIMIT)
        return err_set(err, ERR_INTERNAL, "%s: 1 to %d containers, not %zu", POD_FILE_RUN,
                       POD_CONTAINERS_LIMIT, json_len(list));
    containers = arena_alloc(a, json_len(list) * sizeof(*containers));
    if (!containers)
        return err_set(err, ERR_INTERNAL, "out of memory");
    json_each (item, list) {
        int rc = container_start_from_json(a, item, &containers[n++], err);

        if (rc != 0)
            return rc;
    }
    *ret = (struct pod_start){
        .ns = json_get_string(v, "namespace", ""),
        .name = json_get_string(v, "name", ""),
        .uid = json_get_string(v, "uid", ""),
        .revision = json_get_int(v, "revision", 0),
        .containers = containers,
        .containers_len = n,
        .grace_seconds = json_get_int(v, "graceSeconds", 30),
        .owner = json_get_string(v, "owner", NULL),
        .attempt = json_get_int(v, "attempt", -1),
        .restart = (enum pod_restart)json_get_int(v, "restart", POD_RESTART_NEVER),
        .log_file_bytes = json_get_int(v, "logFileBytes", 0),
        .log_files = json_get_int(v, "logFiles", 0),
        .hosts_path = json_get_string(v, "hosts", NULL),
    };
    return start_json_read_pod(a, v, ret, err);
}

/* --- lock and marker --- */

static struct flock whole_file(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

int pod_lock_take(int dir_fd)
{
    struct flock l = whole_file(F_WRLCK);
    int fd = openat(dir_fd, POD_FILE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int rc;

    if (fd < 0)
        return -errno;
    if (fcntl(fd, F_OFD_SETLK, &l) == 0)
        return fd;
    rc = errno == EACCES ? -EAGAIN : -errno;
    (void)close(fd);
    return rc;
}

bool pod_lock_is_held(int dir_fd)
{
    struct flock l = whole_file(F_WRLCK);
    int fd = openat(dir_fd, POD_FILE_LOCK, O_RDWR | O_CLOEXEC);
    bool held;

    if (fd < 0)
        return errno != ENOENT;
    held = fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
    (void)close(fd);
    return held;
}

int pod_mark_started(int dir_fd)
{
    int fd = openat(dir_fd, POD_FILE_STARTED, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    (void)close(fd);
    return 0;
}

bool pod_is_started(int dir_fd)
{
    return faccessat(dir_fd, POD_FILE_STARTED, F_OK, 0) == 0;
}

static int mark(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    (void)close(fd);
    return 0;
}

int pod_mark_executed(int dir_fd)
{
    return mark(dir_fd, POD_FILE_EXECUTED);
}

bool pod_is_executed(int dir_fd)
{
    return faccessat(dir_fd, POD_FILE_EXECUTED, F_OK, 0) == 0;
}

int pod_mark_newer(int dir_fd)
{
    int rc = mark(dir_fd, POD_FILE_NEWER);

    return rc == 0 && fsync(dir_fd) != 0 ? -errno : rc;
}

bool pod_is_newer(int dir_fd)
{
    return faccessat(dir_fd, POD_FILE_NEWER, F_OK, 0) == 0;
}

/* --- marks --- */

const char *const *pod_marked_env(struct arena *a, const char *const *env, const char *uid,
                                  const char *container)
{
    const char **marked;
    size_t n = 0;

    while (env[n])
        n++;
    marked = arena_alloc(a, (n + 3) * sizeof(*marked));
    if (!marked)
        return env;
    memcpy(marked, env, n * sizeof(*marked));
    marked[n] = arena_printf(a, POD_ENV_UID "=%s", uid);
    marked[n + 1] = arena_printf(a, POD_ENV_CONTAINER "=%s", container);
    return marked;
}
