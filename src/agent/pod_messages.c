/*
 * pod_messages.c - see pod_messages.h.
 *
 * Every container has one, so it must cost next to nothing and never be a reason for failure: the
 * default path is mounted only in a private /dev or onto an existing file, which root creates,
 * empty; otherwise a shadow of all of /dev would be needed. A user's own path is mounted like any
 * volume.
 */
#include "agent/pod_messages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/volume_files.h"
#include "agent/volumes.h"

#define MESSAGE_VOLUME "termination-log"

/* Writable for any user: the folder around it is closed. */
static int make_file(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666), rc = 0;

    if (fd < 0 || fchmod(fd, 0666) != 0)
        rc = err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static bool default_is_there(void)
{
    struct stat st;
    int fd;

    if (lstat(MESSAGE_DEFAULT_PATH, &st) == 0)
        return S_ISREG(st.st_mode);
    fd = geteuid() == 0 ? open(MESSAGE_DEFAULT_PATH,
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)
                        : -1;
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static int check_path(const char *path, struct err *err)
{
    if (path[0] != '/' || !volume_path_is_safe(path + 1))
        return err_set(err, ERR_INVALID,
                       "terminationMessagePath \"%s\" must be an absolute path below /, without ..",
                       path);
    if (strncmp(path, "/proc/", 6) == 0)
        return err_set(err, ERR_INVALID,
                       "terminationMessagePath \"%s\": nothing can be mounted in /proc", path);
    return 0;
}

/* Whether the container mounts something of its own there. */
static bool is_taken(const struct container_start *c)
{
    for (size_t i = 0; i < c->mounts_len; i++)
        if (strcmp(c->mounts[i].target, c->message_path) == 0)
            return true;
    return false;
}

static bool wants_mount(const struct container_start *c)
{
    if (is_taken(c) || c->mounts_len >= POD_MOUNTS_LIMIT)
        return false;
    if (strcmp(c->message_path, MESSAGE_DEFAULT_PATH) != 0)
        return true;
    return ((c->hidden || c->image) && !c->rights.privileged) || /* with a private /dev */
           default_is_there();
}

static void add_mount(struct arena *a, struct container_start *c)
{
    container_mount_add(a, c,
                        &(struct container_mount){.source = c->message_file,
                                                  .target = c->message_path,
                                                  .volume = MESSAGE_VOLUME});
}

static void add_variable(struct arena *a, struct container_start *c, const char *path)
{
    const char **env;
    size_t n = 0;

    while (c->env[n])
        if (strncmp(c->env[n++], MESSAGE_VARIABLE "=", sizeof(MESSAGE_VARIABLE)) == 0)
            return; /* the user's own */
    env = arena_alloc(a, (n + 2) * sizeof(*env));
    if (!env)
        return;
    memcpy(env, c->env, n * sizeof(*env));
    env[n] = arena_printf(a, MESSAGE_VARIABLE "=%s", path);
    env[n + 1] = NULL;
    c->env = env;
}

static int prepare_one(struct arena *a, const char *folder, bool can_mount,
                       struct container_start *c, struct err *err)
{
    bool mounted = can_mount && wants_mount(c);
    int rc = check_path(c->message_path, err);

    c->message_file = arena_printf(a, "%s/.message-%s", folder, c->name);
    if (rc == 0 && c->message_file)
        rc = make_file(c->message_file, err);
    if (rc == 0 && mounted)
        add_mount(a, c);
    if (rc == 0)
        add_variable(a, c, mounted ? c->message_path : c->message_file);
    return rc;
}

int pod_messages_prepare(struct arena *a, const char *folder, bool can_mount,
                         struct pod_start *start, struct err *err)
{
    struct container_start *copy = container_starts_copy(a, start, err);
    int rc = copy ? 0 : -ENOMEM;

    for (size_t i = 0; i < start->containers_len && rc == 0; i++) {
        rc = prepare_one(a, folder, can_mount, &copy[i], err);
        if (rc != 0)
            err_context(err, "container %s", copy[i].name);
    }
    return rc == 0 && arena_failed(a) ? err_set(err, ERR_INTERNAL, "out of memory") : rc;
}
