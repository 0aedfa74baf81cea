/* file.c - see file.h. */
#include "loop/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_CHUNK_BYTES 16384u

static int read_all(int fd, size_t limit_bytes, struct buf *out)
{
    size_t start = out->len;

    for (;;) {
        size_t left = limit_bytes - (out->len - start);
        /* one byte beyond the limit tells a file of exactly that size from a longer one */
        size_t want = min_size(READ_CHUNK_BYTES, left < SIZE_MAX ? left + 1 : left);
        char chunk[READ_CHUNK_BYTES];
        ssize_t n = read(fd, chunk, want);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        if ((size_t)n > left || (size_t)n > out->limit_bytes - min_size(out->len, out->limit_bytes))
            return -EFBIG;
        buf_add(out, chunk, (size_t)n);
        if (out->failed)
            return -ENOMEM;
    }
}

int file_read(const char *path, size_t limit_bytes, struct buf *out)
{
    size_t start = out->len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    r = read_all(fd, limit_bytes, out);
    close(fd);
    if (r < 0 && out->data) {
        out->len = start;
        out->data[start] = '\0';
        out->failed = false;
    }
    return r;
}

int file_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

void file_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static int sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int fd, r = 0;

    if (!dir)
        return -ENOMEM;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    if (fd < 0)
        return -errno;
    if (fsync(fd) < 0)
        r = -errno;
    close(fd);
    return r;
}

static int fill(int fd, const void *data, size_t len, mode_t mode)
{
    int r = file_write_all(fd, data, len);

    if (r < 0)
        return r;
    return fchmod(fd, mode) < 0 || fsync(fd) < 0 ? -errno : 0;
}

int file_write_atomic(const char *path, const void *data, size_t len, mode_t mode)
{
    char *temp;
    int fd, r;

    if (asprintf(&temp, "%s.XXXXXX", path) < 0)
        return -ENOMEM;
    fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0) {
        r = -errno;
        free(temp);
        return r;
    }
    r = fill(fd, data, len, mode);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temp, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(temp);
    else
        r = sync_parent(path);
    free(temp);
    return r;
}

static int make_dir(const char *path, mode_t mode)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int file_make_dirs(const char *path, mode_t mode)
{
    char *copy = strdup(path);
    int r = 0;

    if (!copy)
        return -ENOMEM;
    for (char *p = copy; r == 0 && *p; p++) {
        if (*p != '/' || p == copy)
            continue;
        *p = '\0';
        r = make_dir(copy, mode);
        *p = '/';
    }
    if (r == 0)
        r = make_dir(copy, mode);
    free(copy);
    return r;
}

/* --- removal --- */

#define TREE_DESCRIPTORS 16

static int open_folder(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if ((type != FTW_D && type != FTW_DNR) || (st->st_mode & S_IRWXU) == S_IRWXU)
        return 0;
    if (chmod(path, 0700) == 0 && type == FTW_DNR)
        (void)nftw(path, open_folder, TREE_DESCRIPTORS, FTW_PHYS | FTW_MOUNT);
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

int file_remove_tree(const char *path)
{
    if (nftw(path, remove_entry, TREE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0 ||
        errno == ENOENT)
        return 0;
    (void)nftw(path, open_folder, TREE_DESCRIPTORS, FTW_PHYS | FTW_MOUNT);
    if (nftw(path, remove_entry, TREE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0 ||
        errno == ENOENT)
        return 0;
    return -errno;
}
