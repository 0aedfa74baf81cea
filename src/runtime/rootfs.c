/*
 * rootfs.c - see rootfs.h.
 *
 * Volumes are mounted one after the other, outer ones first, onto paths looked up inside the view
 * as it then is. A path that is not there is made: in a volume that may be written, as a cluster
 * does; anywhere else by a shadow, a small folder in memory with everything of the folder it covers
 * bound into it. A shadow of "/" becomes the new root.
 *
 * Paths come from manifests and from the content of volumes. They are only ever resolved by the
 * kernel below a descriptor (openat2): a link in a volume cannot lead the mount, or the folders
 * made for it, out of the view, and a subPath cannot lead out of its volume.
 */
#include "runtime/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/mounts.h"

/* Everything in a covered folder is bound one by one. */
#define SHADOW_ENTRIES_LIMIT 8192
#define PATH_LIMIT 4096

struct source {
    int tree; /* a copy of the mount, not attached yet: what is mounted later may cover the place,
                 and a new root takes it away */
    bool is_folder;
};

struct view {
    const struct container_start *c;
    struct source sources[POD_MOUNTS_LIMIT];
    uint64_t open_mounts[2 * POD_MOUNTS_LIMIT]; /* ids of mounts in which folders may be made */
    size_t open_mounts_len;
    struct err *err;
};

/* An O_PATH descriptor, or negative errno. */
static int open_below(int dir_fd, const char *path, uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
    long fd;

    do
        fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
    while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return fd < 0 ? -errno : (int)fd;
}

/* In the view as it now is. */
static int open_in_view(const char *path)
{
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

    if (root < 0)
        return -errno;
    fd = open_below(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    (void)close(root);
    return fd;
}

static bool is_folder(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static uint64_t mount_id(int fd)
{
    struct statx st;

    return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == 0 && (st.stx_mask & STATX_MNT_ID)
               ? st.stx_mnt_id
               : 0;
}

static void allow_making(struct view *v, int fd)
{
    if (v->open_mounts_len < ELEMS(v->open_mounts))
        v->open_mounts[v->open_mounts_len++] = mount_id(fd);
}

static bool may_make(const struct view *v, int fd)
{
    uint64_t id = mount_id(fd);

    for (size_t i = 0; i < v->open_mounts_len; i++)
        if (id != 0 && v->open_mounts[i] == id)
            return true;
    return false;
}

/* --- sources --- */

/* A copy of what is mounted at fd and below it, not attached anywhere yet. */
static int clone_tree(int fd)
{
    int tree = open_tree(fd, "",
                         AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    return tree < 0 ? -errno : tree;
}

static int attach(int tree, int target)
{
    return move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0
               ? 0
               : -errno;
}

static int subpath_failed(struct view *v, const struct container_mount *m, int rc)
{
    if (rc == -EXDEV || rc == -ELOOP)
        return err_set(v->err, ERR_INVALID,
                       "subPath \"%s\" leads out of volume \"%s\" (a link or .. in it does)",
                       m->sub_path, m->volume);
    return err_set(v->err, ERR_INVALID, "subPath \"%s\" of volume \"%s\": %s", m->sub_path,
                   m->volume, strerror(-rc));
}

/* Makes what is missing of path below dir_fd, one name after the other; links are followed as long
 * as they stay inside. Returns the last folder, or negative errno. */
static int make_folders(int dir_fd, const char *path, mode_t mode)
{
    char so_far[PATH_LIMIT], copy[PATH_LIMIT], *rest = copy, *name;
    int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), rc = 0;
    size_t n = 0;

    if (fd < 0 || strlen(path) >= sizeof(copy))
        rc = fd < 0 ? -errno : -ENAMETOOLONG;
    else
        memcpy(copy, path, strlen(path) + 1);
    while (rc == 0 && (name = strsep(&rest, "/")) != NULL) {
        if (!*name || strcmp(name, ".") == 0)
            continue;
        rc = mkdirat(fd, name, mode) == 0 || errno == EEXIST ? 0 : -errno;
        file_close(&fd);
        n += (size_t)snprintf(so_far + n, sizeof(so_far) - n, "%s%s", n ? "/" : "", name);
        if (rc == 0)
            rc = fd = open_below(dir_fd, so_far, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
        rc = rc > 0 ? 0 : rc;
    }
    if (rc < 0)
        file_close(&fd);
    return rc < 0 ? rc : fd;
}

static int open_sub_path(struct view *v, const struct container_mount *m, int volume_fd)
{
    int fd = open_below(volume_fd, m->sub_path, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    mode_t mask;

    if (fd == -ENOENT) {
        mask = umask(0); /* writable whoever the program is: like the volume itself */
        fd = make_folders(volume_fd, m->sub_path, 0777);
        (void)umask(mask);
    }
    return fd < 0 ? subpath_failed(v, m, fd) : fd;
}

static int open_source(struct view *v, size_t i)
{
    const struct container_mount *m = &v->c->mounts[i];
    int fd = open(m->source, O_PATH | O_CLOEXEC), below;

    if (fd < 0)
        return err_set(v->err, ERR_INVALID, "volume \"%s\": %s: %s", m->volume, m->source,
                       strerror(errno));
    if (m->sub_path) {
        below = open_sub_path(v, m, fd);
        (void)close(fd);
        if (below < 0)
            return below;
        fd = below;
    }
    v->sources[i] = (struct source){.tree = clone_tree(fd), .is_folder = is_folder(fd)};
    (void)close(fd);
    if (v->sources[i].tree >= 0)
        return 0;
    return err_set(v->err, ERR_INTERNAL, "volume \"%s\": %s: %s", m->volume, m->source,
                   strerror(-v->sources[i].tree));
}

/* --- shadows --- */

/* A folder or an empty file called name; it may be there already. O_PATH descriptor. */
static int make_point(int dir_fd, const char *name, bool folder)
{
    int fd;

    if (folder && mkdirat(dir_fd, name, 0755) != 0 && errno != EEXIST)
        return -errno;
    if (!folder) {
        fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
            return -errno;
        (void)close(fd);
    }
    fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int copy_link(int from, int to, const char *name)
{
    char text[PATH_LIMIT];
    ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    return symlinkat(text, to, name) == 0 ? 0 : -errno;
}

/* What a folder may hold that cannot be shown elsewhere: things that vanish meanwhile, other
 * people's user-space file systems. */
static bool is_unreachable(int rc)
{
    return rc == -ENOENT || rc == -EACCES || rc == -ENOTCONN || rc == -ESTALE;
}

/* One entry of a covered folder, into its shadow. */
static int copy_entry(int from, int to, const char *name)
{
    int fd = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), tree = -1, point = -1, rc;
    struct stat st;

    if (fd < 0)
        return is_unreachable(-errno) ? 0 : -errno;
    rc = fstat(fd, &st) == 0 ? 0 : -errno;
    if (rc == 0 && S_ISLNK(st.st_mode)) {
        rc = copy_link(from, to, name);
    } else if (rc == 0) {
        tree = clone_tree(fd);
        point = tree < 0 ? tree : make_point(to, name, S_ISDIR(st.st_mode));
        rc = point < 0 ? point : attach(tree, point);
    }
    file_close(&tree);
    file_close(&point);
    (void)close(fd);
    return is_unreachable(rc) ? 0 : rc;
}

static int copy_entries(int from, int to)
{
    int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    size_t n = 0;

    if (!d) {
        rc = -errno;
        file_close(&fd);
        return rc;
    }
    while (rc == 0 && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = ++n > SHADOW_ENTRIES_LIMIT ? -E2BIG : copy_entry(from, to, e->d_name);
    (void)closedir(d);
    return rc;
}

/* An empty folder in memory that looks like folder_fd; not attached yet. */
static int new_shadow(int folder_fd)
{
    struct stat st;
    int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), fd = -1;

    if (fs < 0)
        return -errno;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fd < 0 || fstat(folder_fd, &st) != 0) {
        int rc = -errno;

        file_close(&fd);
        (void)close(fs);
        return rc;
    }
    (void)close(fs);
    /* In a user namespace there may be no such owner: then it is ours. */
    if (fchownat(fd, "", st.st_uid, st.st_gid, AT_EMPTY_PATH) != 0)
        errno = 0;
    if (fchmodat(fd, ".", st.st_mode & 07777, 0) != 0)
        errno = 0;
    return fd;
}

static int set_propagation(int fd, uint64_t propagation)
{
    struct mount_attr attr = {.propagation = propagation};

    return mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0 ? 0 : -errno;
}

/* The folder behind fd becomes the root, and the old one is let go of. */
static int change_root(int fd)
{
    if (fchdir(fd) != 0)
        return -errno;
    if (syscall(SYS_pivot_root, ".", ".") == 0) {
        if (umount2(".", MNT_DETACH) != 0)
            return -errno;
    } else if (errno != EINVAL || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0) {
        return -errno; /* the machine's own root may be one that cannot be exchanged */
    }
    return chdir("/") == 0 ? 0 : -errno;
}

/* Built in the scratch folder. It may lie in a folder that is copied into the new root: a mount
 * that cannot be copied is left out there. */
static int shadow_root(struct view *v, int root_fd, int shadow)
{
    int scratch = open(v->c->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc = scratch < 0 ? -errno : attach(shadow, scratch);

    file_close(&scratch);
    if (rc == 0)
        rc = set_propagation(shadow, MS_UNBINDABLE);
    if (rc == 0)
        rc = copy_entries(root_fd, shadow);
    if (rc == 0)
        rc = set_propagation(shadow, MS_PRIVATE);
    return rc == 0 ? change_root(shadow) : rc;
}

static bool is_root(int fd)
{
    struct stat st, root;

    return fstat(fd, &st) == 0 && stat("/", &root) == 0 && st.st_ino == root.st_ino &&
           st.st_dev == root.st_dev;
}

static int cover(struct view *v, int folder_fd)
{
    int shadow = new_shadow(folder_fd), rc;

    if (shadow < 0)
        return shadow;
    if (is_root(folder_fd)) {
        rc = shadow_root(v, folder_fd, shadow);
    } else {
        rc = attach(shadow, folder_fd);
        if (rc == 0)
            rc = copy_entries(folder_fd, shadow); /* the folder itself is still behind its fd */
    }
    if (rc == 0)
        allow_making(v, shadow);
    (void)close(shadow);
    return rc;
}

/* --- mount points --- */

/* The deepest part of path that is there: its descriptor, and its length. */
static int open_deepest(const char *path, size_t *ret_len)
{
    char part[PATH_LIMIT];
    size_t n = strlen(path);
    int fd = -ENAMETOOLONG;

    *ret_len = n;
    if (n >= sizeof(part))
        return fd;
    memcpy(part, path, n + 1);
    while (n > 0) {
        part[n] = '\0';
        fd = open_in_view(part);
        if (fd != -ENOENT)
            break;
        while (n > 0 && part[n - 1] == '/')
            n--;
        while (n > 0 && part[n - 1] != '/')
            n--;
    }
    *ret_len = n;
    return fd;
}

/* Makes rest, names between slashes, below dir_fd; the last one a folder or a file. No link is
 * followed: there was nothing of these names. */
static int make_rest(int dir_fd, const char *rest, bool folder)
{
    char copy[PATH_LIMIT], *at = copy, *name, *next;
    int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);

    if (strlen(rest) >= sizeof(copy))
        return -ENAMETOOLONG;
    memcpy(copy, rest, strlen(rest) + 1);
    for (name = strsep(&at, "/"); name && fd >= 0; name = next) {
        int below;

        while ((next = strsep(&at, "/")) != NULL && !*next)
            ;
        if (!*name)
            continue;
        below = make_point(fd, name, next != NULL || folder);
        (void)close(fd);
        fd = below;
    }
    return fd;
}

/* A descriptor of the place, made if it was missing. */
static int find_point(struct view *v, const char *target, bool folder)
{
    size_t len;
    int fd = open_deepest(target, &len), made, rc;
    const char *rest = target + len;

    if (fd < 0 || !*rest)
        return fd;
    if (!is_folder(fd)) {
        (void)close(fd);
        return -ENOTDIR;
    }
    if (!may_make(v, fd)) {
        rc = cover(v, fd);
        (void)close(fd);
        if (rc != 0)
            return rc;
        fd = open_deepest(target, &len); /* the shadow, now */
        if (fd < 0)
            return fd;
    }
    made = make_rest(fd, rest, folder);
    (void)close(fd);
    return made;
}

static int make_read_only(int tree)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

    return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) == 0 ? 0
                                                                                           : -errno;
}

static int place(struct view *v, size_t i)
{
    const struct container_mount *m = &v->c->mounts[i];
    const struct source *s = &v->sources[i];
    int point = find_point(v, m->target, s->is_folder), rc = 0;

    if (point < 0)
        rc = point;
    else if (is_folder(point) != s->is_folder)
        rc = s->is_folder ? -ENOTDIR : -EISDIR;
    if (rc == 0 && m->read_only)
        rc = make_read_only(s->tree);
    if (rc == 0)
        rc = attach(s->tree, point);
    if (rc == 0 && s->is_folder && !m->read_only)
        allow_making(v, s->tree);
    file_close(&point);
    if (rc == 0)
        return 0;
    return err_set(v->err, ERR_INVALID, "volume \"%s\" cannot be mounted at %s: %s", m->volume,
                   m->target,
                   rc == -E2BIG ? "the folder it is in has too many entries" : strerror(-rc));
}

/* --- order --- */

static size_t depth(const char *path)
{
    size_t n = 0;

    for (const char *p = path; *p; p++)
        n += p[0] == '/' && p[1] != '/' && p[1] != '\0';
    return n;
}

/* Outer ones first. */
static void sort_mounts(const struct container_start *c, size_t order[])
{
    for (size_t i = 0; i < c->mounts_len; i++) {
        size_t at = i;

        for (; at > 0 && depth(c->mounts[order[at - 1]].target) > depth(c->mounts[i].target); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static int mount_all(struct view *v)
{
    size_t order[POD_MOUNTS_LIMIT] = {0}, opened = 0;
    int rc = 0;

    if (v->c->mounts_len > POD_MOUNTS_LIMIT)
        return err_set(v->err, ERR_INVALID, "at most %d volumeMounts", POD_MOUNTS_LIMIT);
    for (; opened < v->c->mounts_len && rc == 0; opened++) {
        v->sources[opened].tree = -1;
        rc = open_source(v, opened);
    }
    sort_mounts(v->c, order);
    for (size_t i = 0; i < v->c->mounts_len && rc == 0; i++)
        rc = place(v, order[i]);
    for (size_t i = 0; i < opened; i++)
        file_close(&v->sources[i].tree);
    return rc;
}

/* --- who --- */

static bool is_who_we_are(const struct container_identity *id)
{
    return !id->wanted || (id->uid == geteuid() && id->gid == getegid());
}

/* Root can be anybody, unless he is that only in a user namespace where there is nobody else. */
static bool can_be_others(void)
{
    unsigned inside, outside, count = 0;
    FILE *f = geteuid() == 0 ? fopen("/proc/self/uid_map", "re") : NULL;
    bool several = f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3 && count > 1;

    if (f)
        (void)fclose(f);
    return several;
}

/* Who can becomes somebody else; others are given another number for themselves. */
static int separate(const struct container_start *c, bool renumber, struct err *err)
{
    int rc = 0;

    if (renumber)
        rc = mounts_unshare_as(c->identity.uid, c->identity.gid, CLONE_NEWNS);
    else if (c->mounts_len > 0 && unshare(CLONE_NEWNS) != 0)
        rc = -errno;
    if (rc == 0)
        return 0;
    if (renumber)
        return err_set(err, ERR_INVALID,
                       "securityContext.runAsUser %u and runAsGroup %u: no user namespace: %s",
                       c->identity.uid, c->identity.gid, strerror(-rc));
    return err_set(err, ERR_INTERNAL, "no mount namespace: %s", strerror(-rc));
}

static int become(const struct container_identity *id, struct err *err)
{
    if (is_who_we_are(id) && id->groups_len == 0)
        return 0;
    if (setgroups(id->groups_len, id->groups) != 0 || setresgid(id->gid, id->gid, id->gid) != 0 ||
        setresuid(id->uid, id->uid, id->uid) != 0)
        return err_set(err, ERR_INVALID, "securityContext: cannot become user %u, group %u: %s",
                       id->uid, id->gid, strerror(errno));
    return 0;
}

int rootfs_enter(const struct container_start *c, struct err *err)
{
    static struct view v; /* too large for the stack of a small process */
    bool others = c->identity.wanted && can_be_others();
    int rc = separate(c, !others && !is_who_we_are(&c->identity), err);

    v = (struct view){.c = c, .err = err};
    if (rc == 0 && c->mounts_len > 0)
        rc = mount_all(&v);
    if (rc == 0 && chdir(c->cwd) != 0)
        errno = 0; /* tried again, and told, as the user */
    if (rc == 0 && others)
        rc = become(&c->identity, err);
    return rc;
}
