/* folder.c - see folder.h. */
#include "board/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop/fs_user.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* --- opening ---------------------------------------------------------------------------- */

/* One component at a time, so that O_NOFOLLOW applies to all of them. Takes fd. */
static int descend(int fd, const char *relative, int last_flags)
{
    char name[NAME_MAX + 1];

    relative += strspn(relative, "/");
    while (fd >= 0 && *relative) {
        size_t len = strcspn(relative, "/");
        const char *rest = relative + len + strspn(relative + len, "/");
        int next;

        if (len > NAME_MAX || strncmp(relative, "..", max_size(len, 2)) == 0) {
            (void)close(fd);
            return len > NAME_MAX ? -ENAMETOOLONG : -EINVAL;
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)len, relative);
        next = openat(fd, name, *rest ? FOLDER_FLAGS : last_flags);
        if (next < 0)
            next = -errno;
        (void)close(fd);
        fd = next;
        relative = rest;
    }
    return fd;
}

static bool same_folder(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Walks upwards from the descriptor: comparing names would miss links and bind mounts. fd stays
 * open. */
static bool is_within(int fd, const char *folder)
{
    struct stat wanted, here, above;
    int at = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), up;
    bool within = true; /* also when it cannot be determined */

    if (stat(folder, &wanted) < 0) {
        if (at >= 0)
            (void)close(at);
        return errno != ENOENT;
    }
    while (at >= 0 && fstat(at, &here) == 0 && !same_folder(&here, &wanted)) {
        up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = up;
        if (at >= 0 && fstat(at, &above) == 0 && same_folder(&here, &above)) {
            within = false;
            break;
        }
    }
    if (at >= 0)
        (void)close(at);
    return within;
}

static int become_reader(struct folder_fence fence, struct fs_user *saved)
{
    *saved = (struct fs_user){0};
    return fence.uid ? fs_user_become(saved, fence.uid, fence.gid, NULL, 0) : 0;
}

static int open_base(const char *base, struct folder_fence fence)
{
    struct fs_user saved = {0};
    int fd = fence.trusted_base ? 0 : become_reader(fence, &saved);

    if (fd == 0) {
        fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd = fd < 0 ? -errno : fd;
    }
    fs_user_restore(&saved);
    return fd;
}

/* Takes fd. */
static int descend_as_reader(int fd, const char *relative, int last_flags,
                             struct folder_fence fence)
{
    struct fs_user saved;
    int rc = become_reader(fence, &saved);

    if (rc < 0)
        (void)close(fd);
    else
        rc = descend(fd, relative, last_flags);
    fs_user_restore(&saved);
    return rc;
}

int folder_open(const char *base, const char *relative, struct folder_fence fence)
{
    int fd = open_base(base, fence);
    bool inside = fd >= 0 && fence.path && is_within(fd, fence.path);

    if (fd < 0)
        return fd;
    if (inside && !fence.trusted_base) {
        (void)close(fd);
        return -EACCES;
    }
    fd = descend_as_reader(fd, relative, FOLDER_FLAGS, fence);
    if (fd >= 0 && fence.path && !inside && is_within(fd, fence.path)) {
        (void)close(fd);
        return -EACCES;
    }
    return fd;
}

int folder_open_file(int folder_fd, const char *relative, struct folder_fence fence)
{
    int fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
    struct stat st;

    if (fd < 0)
        return -errno;
    fd = descend_as_reader(fd, relative, FILE_FLAGS, fence);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        (void)close(fd);
        return -EINVAL;
    }
    return fd;
}

/* --- traversal -------------------------------------------------------------------------- */

struct walk {
    enum folder_scope scope;
    bool fenced;
    struct stat fence;
    folder_file_fn *fn;
    void *arg;
    size_t entries;
    bool whole;
    char path[FOLDER_PATH_LIMIT];
};

/* TensorBoard's own rule, with its one exception. */
static bool is_event_file(const char *name)
{
    static const char not_one[] = ".profile-empty";
    size_t len = strlen(name);

    return strstr(name, "tfevents") &&
           (len < strlen(not_one) || strcmp(name + len - strlen(not_one), not_one) != 0);
}

static bool is_left_out(const struct walk *w, const char *name)
{
    static const char *const names[] = {"__pycache__", "node_modules", "site-packages", "venv"};

    if (w->scope != FOLDER_WORKING)
        return false;
    for (size_t i = 0; i < ELEMS(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return name[0] == '.';
}

static void walk_folder(struct walk *w, int fd, unsigned depth);

static void enter(struct walk *w, int parent, const char *name, unsigned depth)
{
    size_t len = strlen(w->path), name_len = strlen(name);
    struct stat st;
    int fd;

    if (is_left_out(w, name))
        return;
    if (depth + 1 >= FOLDER_DEPTH_LIMIT || len + 1 + name_len >= sizeof(w->path)) {
        w->whole = false;
        return;
    }
    fd = openat(parent, name, FOLDER_FLAGS);
    if (fd < 0)
        return; /* a link, unreadable, or gone */
    if (w->fenced && (fstat(fd, &st) < 0 || same_folder(&st, &w->fence))) {
        (void)close(fd);
        return;
    }
    (void)snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "", name);
    walk_folder(w, fd, depth + 1);
    w->path[len] = '\0';
}

static void visit(struct walk *w, int fd, const struct dirent *entry, unsigned depth)
{
    const char *name = entry->d_name;
    unsigned char type = entry->d_type;
    bool event_file = is_event_file(name);
    struct stat st;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    if (type == DT_UNKNOWN || event_file) {
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return;
        type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_LNK;
    }
    if (type == DT_DIR)
        enter(w, fd, name, depth);
    else if (type == DT_REG && event_file)
        w->fn(w->arg, w->path, name, &st);
}

/* Takes fd. */
static void walk_folder(struct walk *w, int fd, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        (void)close(fd);
        w->whole = false;
        return;
    }
    while ((entry = readdir(dir))) {
        if (w->entries++ >= FOLDER_ENTRIES_LIMIT) {
            w->whole = false;
            break;
        }
        visit(w, dirfd(dir), entry, depth);
    }
    (void)closedir(dir);
}

bool folder_walk(int folder_fd, enum folder_scope scope, struct folder_fence fence,
                 folder_file_fn *fn, void *arg, size_t *entries)
{
    struct walk w = {.scope = scope, .fn = fn, .arg = arg, .whole = true};
    struct fs_user saved;
    int fd;

    w.fenced = fence.path && stat(fence.path, &w.fence) == 0;
    if (become_reader(fence, &saved) < 0)
        return false;
    fd = openat(folder_fd, ".", FOLDER_FLAGS); /* with its own file position */
    if (fd >= 0)
        walk_folder(&w, fd, 0);
    fs_user_restore(&saved);
    *entries += w.entries;
    return fd >= 0 && w.whole;
}
