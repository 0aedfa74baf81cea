/* volume_files.c - see volume_files.h. */
#include "agent/volume_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"

/* Deeper folders are first moved up: each open level costs a descriptor and stack. */
#define REMOVE_DEPTH_LIMIT 32
#define COUNT_DEPTH_LIMIT 100 /* deeper folders are not counted */
#define BLOCK_BYTES 512       /* what st_blocks counts */

bool volume_path_is_safe(const char *text)
{
    size_t n;

    if (text[0] == '/' || !text[0] || strlen(text) >= PATH_MAX)
        return false;
    for (; *text; text += n + (text[n] == '/')) {
        n = strcspn(text, "/");
        if (n == 2 && text[0] == '.' && text[1] == '.')
            return false;
    }
    return true;
}

/* --- writing --- */

static int open_folder(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    return fd < 0 ? -errno : fd;
}

static int set_rights(int fd, mode_t mode, uint32_t group)
{
    if (group && fchown(fd, (uid_t)-1, group) != 0)
        return -errno;
    return fchmod(fd, mode) == 0 ? 0 : -errno;
}

static bool holds_already(int dir_fd, const char *name, const void *data, size_t len)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    void *old = NULL;
    bool same = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == (off_t)len;

    if (same && len > 0)
        old = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    same = same && (len == 0 || (old != MAP_FAILED && memcmp(old, data, len) == 0));
    if (old && old != MAP_FAILED)
        (void)munmap(old, len);
    if (fd >= 0)
        (void)close(fd);
    return same;
}

/* Atomic for concurrent readers, who are not told of a change where there is none. */
static int write_one(int dir_fd, const char *name, const void *data, size_t len, mode_t mode,
                     uint32_t group)
{
    static const char fresh[] = "..fresh";
    int fd, rc;

    if (holds_already(dir_fd, name, data, len))
        return 0;
    fd = openat(dir_fd, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    rc = set_rights(fd, group ? mode | 0440 : mode, group);
    if (rc == 0)
        rc = file_write_all(fd, data, len);
    (void)close(fd);
    if (rc == 0 && renameat(dir_fd, fresh, dir_fd, name) != 0)
        rc = -errno;
    if (rc != 0)
        (void)unlinkat(dir_fd, fresh, 0);
    return rc;
}

/* Creates and opens name below *fd, and replaces *fd by it. */
static int descend(int *fd, const char *name, uint32_t group)
{
    int below;

    if (mkdirat(*fd, name, 0755) != 0 && errno != EEXIST)
        return -errno;
    below = open_folder(*fd, name);
    if (below < 0)
        return below;
    (void)close(*fd);
    *fd = below;
    return set_rights(below, 0755, group);
}

int volume_file_write(int dir_fd, const char *path, const void *data, size_t len, mode_t mode,
                      uint32_t group, struct err *err)
{
    char copy[PATH_MAX], *rest = copy, *name;
    int fd, rc = 0;

    if (!volume_path_is_safe(path))
        return err_set(err, ERR_INVALID,
                       "path \"%s\" must be relative and stay inside the volume (no ..)", path);
    fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    memcpy(copy, path, strlen(path) + 1); /* a safe path fits */
    while (rc == 0 && (name = strsep(&rest, "/")) != NULL) {
        if (!*name || strcmp(name, ".") == 0)
            continue;
        rc = rest ? descend(&fd, name, group) : write_one(fd, name, data, len, mode, group);
    }
    (void)close(fd);
    return rc == 0 ? 0 : err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(-rc));
}

/* --- folders --- */

int volume_folder_make(const char *path, mode_t mode, uint32_t group)
{
    int fd, rc;

    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -errno;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    rc = set_rights(fd, group ? mode | S_ISGID : mode, group);
    if (rc == 0)
        return fd;
    (void)close(fd);
    return rc;
}

int volume_folder_renew(const char *path, mode_t mode, uint32_t group)
{
    (void)volume_tree_remove(path, NULL);
    return volume_folder_make(path, mode, group);
}

/* --- removing --- */

struct removal {
    int top_fd;
    unsigned long moved; /* folders moved up to top */
    const _Atomic bool *stop;
};

static bool is_stopped(const struct removal *r)
{
    return r->stop && *r->stop;
}

static void remove_entry(struct removal *r, int dir_fd, const char *name, unsigned depth);

static void remove_entries(struct removal *r, int fd, unsigned depth)
{
    DIR *d = fdopendir(fd);
    const struct dirent *e;

    while (d && !is_stopped(r) && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_entry(r, fd, e->d_name, depth);
    if (d)
        (void)closedir(d);
    else
        (void)close(fd);
}

/* Only moved folders need another pass. Names already taken are from an earlier one. */
static void move_up(struct removal *r, int dir_fd, const char *name)
{
    char moved[64];

    for (unsigned long number = r->moved;; number++) {
        (void)snprintf(moved, sizeof(moved), ".moved-%lu", number);
        if (renameat2(dir_fd, name, r->top_fd, moved, RENAME_NOREPLACE) == 0) {
            r->moved = number + 1;
            return;
        }
        if (errno != EEXIST || is_stopped(r))
            return;
    }
}

static void remove_entry(struct removal *r, int dir_fd, const char *name, unsigned depth)
{
    int fd;

    if (unlinkat(dir_fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    fd = open_folder(dir_fd, name);
    if (fd == -EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = open_folder(dir_fd, name);
    if (fd < 0)
        return;
    (void)fchmod(fd, 0700);
    if (depth >= REMOVE_DEPTH_LIMIT) {
        (void)close(fd);
        move_up(r, dir_fd, name);
        return;
    }
    remove_entries(r, fd, depth + 1);
    (void)unlinkat(dir_fd, name, AT_REMOVEDIR);
}

bool volume_tree_remove(const char *path, const _Atomic bool *stop)
{
    struct removal r = {.top_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW),
                        .stop = stop};
    unsigned long before;
    int fd;

    if (r.top_fd < 0)
        return unlink(path) == 0 || errno == ENOENT;
    do { /* again as long as something was moved up */
        before = r.moved;
        fd = open_folder(r.top_fd, ".");
        if (fd >= 0)
            remove_entries(&r, fd, 0);
    } while (r.moved != before && !is_stopped(&r));
    (void)close(r.top_fd);
    return rmdir(path) == 0 || errno == ENOENT;
}

/* --- measuring --- */

/* Hard links share a file's size. */
static int64_t bytes_of(const struct stat *st)
{
    nlink_t names = S_ISDIR(st->st_mode) || st->st_nlink == 0 ? 1 : st->st_nlink;

    return (int64_t)st->st_blocks * BLOCK_BYTES / (int64_t)names;
}

/* Takes fd. */
static int64_t count_entries(int fd, int64_t enough, unsigned depth)
{
    DIR *d = fdopendir(fd);
    const struct dirent *e;
    int64_t sum = 0;

    if (!d)
        (void)close(fd);
    while (d && sum <= enough && (e = readdir(d)) != NULL) {
        struct stat st;
        int below;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        sum += bytes_of(&st);
        if (!S_ISDIR(st.st_mode) || depth >= COUNT_DEPTH_LIMIT)
            continue;
        below = open_folder(fd, e->d_name);
        if (below >= 0)
            sum += count_entries(below, enough - sum, depth + 1);
    }
    if (d)
        (void)closedir(d);
    return sum;
}

int64_t volume_tree_bytes(const char *path, int64_t enough)
{
    int fd = open_folder(AT_FDCWD, path);

    return fd < 0 ? 0 : count_entries(fd, enough, 0);
}
