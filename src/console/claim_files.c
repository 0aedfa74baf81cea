/* claim_files.c - see claim_files.h. */
#include "console/claim_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"
#include "loop/file.h"
#include "loop/fs_user.h"
#include "loop/random.h"

#define DEPTH_LIMIT 64u
#define BLOCK_BYTES 512

/* --- finding ---------------------------------------------------------------------------------- */

static int open_below(int folder_fd, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long fd;

    do
        fd = syscall(SYS_openat2, folder_fd, *path ? path : ".", &how, sizeof(how));
    while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return fd < 0 ? -errno : (int)fd;
}

int claim_find(int folder_fd, const char *path, struct stat *ret)
{
    int fd = open_below(folder_fd, path);

    if (fd < 0 || fstat(fd, ret) == 0)
        return fd;
    file_close(&fd);
    return -EIO;
}

/* Reopens the very file that was found, whatever has its name by now. */
static int open_again(int found_fd, int flags)
{
    char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", found_fd);
    fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* A device or a pipe is not even opened. */
int claim_read(int found_fd)
{
    struct stat st;

    if (fstat(found_fd, &st) != 0)
        return -errno;
    return S_ISREG(st.st_mode) ? open_again(found_fd, O_RDONLY) : -EINVAL;
}

/* --- folders ---------------------------------------------------------------------------------- */

static bool is_utf8(const char *text)
{
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        n = utf8_sequence(text, left);
        if (n == 0)
            return false;
    }
    return true;
}

static const char *type_name(mode_t mode)
{
    return S_ISDIR(mode) ? "folder" : S_ISREG(mode) ? "file" : S_ISLNK(mode) ? "link" : "other";
}

static void add_entry(struct arena *a, struct json *list, const char *name, const struct stat *st)
{
    struct json *entry = json_append(list, json_new_object(a));

    json_set_string(a, entry, "name", name);
    json_set_string(a, entry, "type", type_name(st->st_mode));
    json_set_int(a, entry, "bytes", st->st_size);
    json_set_int(a, entry, "modifiedMs",
                 (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000);
}

/* A link counts as its target, unless that is missing. */
static bool look(int dir_fd, const char *name, struct stat *ret)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd;

    if (fstatat(dir_fd, name, ret, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (!S_ISLNK(ret->st_mode))
        return true;
    fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
    if (fd >= 0)
        (void)fstat(fd, ret);
    file_close(&fd);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_told(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strncmp(name, CLAIM_TEMPORARY, strlen(CLAIM_TEMPORARY)) != 0 && is_utf8(name);
}

/* As many as are sorted. */
static size_t read_names(struct arena *a, DIR *dir, const char **names)
{
    const struct dirent *e;
    size_t len = 0;

    while (len < CLAIM_NAMES_LIMIT && (e = readdir(dir)))
        if (is_told(e->d_name)) {
            names[len] = arena_strdup(a, e->d_name);
            len += names[len] != NULL;
        }
    qsort(names, len, sizeof(*names), by_name);
    return len;
}

int claim_list(struct arena *a, int found_fd, struct json **ret)
{
    const char **names = arena_alloc(a, CLAIM_NAMES_LIMIT * sizeof(*names));
    struct json *folders = json_new_array(a), *files = json_new_array(a), *list;
    int fd = open_again(found_fd, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd >= 0 && names ? fdopendir(fd) : NULL;
    size_t len, told = 0;

    if (!dir) {
        int rc = !names ? -ENOMEM : fd < 0 ? fd : -EIO;

        file_close(&fd);
        return rc;
    }
    len = read_names(a, dir, names);
    for (struct stat st; told < len && told < CLAIM_LIST_LIMIT; told++)
        if (look(dirfd(dir), names[told], &st))
            add_entry(a, S_ISDIR(st.st_mode) ? folders : files, names[told], &st);
    (void)closedir(dir);
    *ret = json_new_object(a);
    list = json_set(a, *ret, "entries", folders);
    json_each (one, files)
        json_append(list, json_clone(a, one));
    json_set_bool(a, *ret, "more", len > told);
    return arena_failed(a) ? -ENOMEM : 0;
}

/* --- size ------------------------------------------------------------------------------------- */

/* Takes fd. */
static void measure(int fd, dev_t device, unsigned depth, struct claim_size *size)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *e;
    struct stat st;

    if (!dir) {
        file_close(&fd);
        size->partial = true;
        return;
    }
    while (!(size->partial = size->partial || size->entries >= CLAIM_MEASURE_LIMIT) &&
           (e = readdir(dir))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        size->entries++;
        size->bytes += (int64_t)st.st_blocks * BLOCK_BYTES;
        if (!S_ISDIR(st.st_mode) || st.st_dev != device)
            continue;
        fd = depth < DEPTH_LIMIT
                 ? openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
        if (fd >= 0)
            measure(fd, device, depth + 1, size);
        else
            size->partial = true;
    }
    (void)closedir(dir);
}

int claim_measure(int folder_fd, struct claim_size *ret)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    *ret = (struct claim_size){0};
    if (fd < 0 || fstat(fd, &st) != 0) {
        file_close(&fd);
        return -EIO;
    }
    measure(fd, st.st_dev, 0, ret);
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The parent folder of a path, opened for writing, and the path's last part. */
static int open_parent(int folder_fd, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];
    struct stat st;
    int fd;

    *ret_name = slash ? slash + 1 : path;
    if ((slash ? slash - path : 0) >= PATH_MAX || strlen(*ret_name) > NAME_MAX)
        return -ENAMETOOLONG;
    if (!**ret_name || !is_told(*ret_name)) /* the file would exist but never be listed */
        return -EINVAL;
    (void)snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 0, path);
    fd = claim_find(folder_fd, parent, &st);
    if (fd >= 0 && !S_ISDIR(st.st_mode)) {
        file_close(&fd);
        return -ENOTDIR;
    }
    return fd;
}

static int give_to_owner(int folder_fd, int fd)
{
    struct stat st;

    if (setfsuid((uid_t)-1) != 0)
        return 0; /* not root: the file is the user's already */
    return fstat(folder_fd, &st) == 0 && fchown(fd, st.st_uid, st.st_gid) == 0 ? 0 : -errno;
}

static bool is_there(int folder_fd, const char *name)
{
    struct stat st;

    return fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int claim_upload_begin(struct claim_upload *u, int folder_fd, const char *path, bool replaces)
{
    char random[RANDOM_UID_SIZE];
    const char *name;
    int rc;

    random_uid(random);
    *u = (struct claim_upload){.folder_fd = open_parent(folder_fd, path, &name), .fd = -1};
    if (u->folder_fd < 0)
        return u->folder_fd;
    (void)snprintf(u->name, sizeof(u->name), "%s", name);
    if (!replaces && is_there(u->folder_fd, name))
        return -EEXIST;
    (void)snprintf(u->temporary, sizeof(u->temporary), CLAIM_TEMPORARY "%s", random);
    u->fd = openat(u->folder_fd, u->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0644);
    if (u->fd < 0) {
        rc = -errno;
        *u->temporary = '\0';
        return rc;
    }
    return give_to_owner(u->folder_fd, u->fd);
}

int claim_upload_end(struct claim_upload *u, bool replaces)
{
    int rc = renameat2(u->folder_fd, u->temporary, u->folder_fd, u->name,
                       replaces ? 0 : RENAME_NOREPLACE);

    if (rc != 0)
        return -errno;
    *u->temporary = '\0';
    return 0;
}

void claim_upload_drop(struct claim_upload *u)
{
    if (*u->temporary)
        (void)unlinkat(u->folder_fd, u->temporary, 0);
    *u->temporary = '\0';
    file_close(&u->fd);
    file_close(&u->folder_fd);
}

/* Created with the rights of the folder's owner rather than handed over afterwards: by then its
 * name may refer to another file. */
int claim_make_folder(int folder_fd, const char *path)
{
    struct fs_user saved = {0};
    struct stat st;
    const char *name;
    int parent = open_parent(folder_fd, path, &name), rc;

    if (parent < 0)
        return parent;
    rc = fstat(parent, &st) == 0 ? 0 : -errno;
    if (rc == 0 && setfsuid((uid_t)-1) == 0)
        rc = fs_user_become(&saved, st.st_uid, st.st_gid, NULL, 0);
    if (rc == 0 && mkdirat(parent, name, 0755) != 0)
        rc = -errno;
    fs_user_restore(&saved);
    file_close(&parent);
    return rc;
}
