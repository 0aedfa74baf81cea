/*
 * rootfs.c - see rootfs.h.
 *
 * Volumes are mounted one after the other, outer ones first, onto paths looked up inside the view
 * as it then is. A missing path is created with the rights of the container's user. Where that user
 * may not, and root on the machine should not, it is created in a shadow: a small tmpfs with
 * everything of the folder it covers bound into it, read-only in the end, so that nothing is
 * written there that would be lost. A shadow of "/" becomes the new root.
 *
 * Paths come from manifests and from the content of volumes. They are only resolved by the kernel
 * below a descriptor (openat2): a link in a volume cannot lead the mount, or folders created for
 * it, out of the view, and a subPath cannot leave its volume.
 */
#include "runtime/rootfs.h"
#include "runtime/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "loop/file.h"
#include "loop/fs_user.h"
#include "runtime/contain.h"
#include "runtime/image_root.h"
#include "runtime/mount_tree.h"
#include "runtime/mounts.h"
#include "runtime/rights.h"

/* Everything in a covered folder is bound one by one. */
#define SHADOW_ENTRIES_LIMIT 8192
#define PATH_LIMIT 4096

struct source {
    int fd;
    int tree; /* an unattached copy of the mount: later mounts may cover the original, and a new
               * root removes it */
    bool is_folder;
};

struct view {
    const struct container_start *c;
    struct source sources[POD_MOUNTS_LIMIT];
    struct open_mount {
        uint64_t id;
        bool is_volume; /* what is created there stays, and is the container's user's */
    } open_mounts[2 * POD_MOUNTS_LIMIT + 3]; /* mounts in which folders may be created */
    size_t open_mounts_len;
    int covers[POD_MOUNTS_LIMIT + 3]; /* created by us, and read-only in the end */
    size_t covers_len;
    struct stat hidden;
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

/* In the current view. */
static int open_in_view(const char *path, uint64_t resolve)
{
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

    if (root < 0)
        return -errno;
    fd = open_below(root, path, resolve | RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    (void)close(root);
    return fd;
}

static bool is_folder(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static void allow_making(struct view *v, int fd, bool is_volume)
{
    if (v->open_mounts_len < ELEMS(v->open_mounts))
        v->open_mounts[v->open_mounts_len++] = (struct open_mount){mount_id(fd), is_volume};
}

/* Takes the descriptor. */
static void add_cover(struct view *v, int fd)
{
    allow_making(v, fd, false);
    if (v->covers_len < ELEMS(v->covers))
        v->covers[v->covers_len++] = fd;
    else
        (void)close(fd);
}

/* NULL: nothing may be created there. */
static const struct open_mount *open_mount_of(const struct view *v, int fd)
{
    uint64_t id = mount_id(fd);

    for (size_t i = 0; i < v->open_mounts_len; i++)
        if (id != 0 && v->open_mounts[i].id == id)
            return &v->open_mounts[i];
    return NULL;
}

static int become_user(const struct view *v, struct fs_user *saved)
{
    const struct container_identity *id = &v->c->identity;

    return id->wanted ? fs_user_become(saved, id->uid, id->gid, id->groups, id->groups_len) : 0;
}

/* --- sources --- */

static int subpath_failed(struct view *v, const struct container_mount *m, int rc)
{
    if (rc == -EXDEV || rc == -ELOOP)
        return err_set(v->err, ERR_INVALID,
                       "subPath \"%s\" leads out of volume \"%s\" (a link or .. in it does)",
                       m->sub_path, m->volume);
    if (rc == -EACCES && v->c->identity.wanted)
        return err_set(v->err, ERR_INVALID,
                       "subPath \"%s\" of volume \"%s\": user %" PRIu32
                       ", as which the container runs, may not enter or make it",
                       m->sub_path, m->volume, v->c->identity.uid);
    return err_set(v->err, ERR_INVALID, "subPath \"%s\" of volume \"%s\": %s", m->sub_path,
                   m->volume, strerror(-rc));
}

/* Creates the missing part of path below dir_fd, one name after the other; links are followed as
 * long as they stay inside. Returns the last folder, or negative errno. */
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

/* With the rights of the container's user, so that folders closed to it stay closed. */
static int open_sub_path(struct view *v, const struct container_mount *m, int volume_fd)
{
    struct fs_user saved = {0};
    int fd = become_user(v, &saved);
    mode_t mask;

    if (fd < 0)
        return subpath_failed(v, m, fd);
    fd = open_below(volume_fd, m->sub_path, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    if (fd == -ENOENT) {
        mask = umask(0); /* writable for any user, like the volume itself */
        fd = make_folders(volume_fd, m->sub_path, 0777);
        (void)umask(mask);
    }
    fs_user_restore(&saved);
    return fd < 0 ? subpath_failed(v, m, fd) : fd;
}

static int source_failed(struct view *v, const struct container_mount *m, int rc)
{
    if (rc == -ENOENT && m->host_path && strncmp(m->source, "/dev/", 5) == 0)
        return err_set(v->err, ERR_INVALID,
                       "volume \"%s\": %s: only a privileged container gets this device", m->volume,
                       m->source);
    return err_set(v->err, ERR_INVALID, "volume \"%s\": %s: %s", m->volume, m->source,
                   strerror(-rc));
}

/* Called twice: for the daemon's own folders before they are hidden, for the host's after. */
static int open_sources(struct view *v, bool host_paths)
{
    for (size_t i = 0; i < v->c->mounts_len; i++) {
        const struct container_mount *m = &v->c->mounts[i];

        if (m->host_path != host_paths)
            continue;
        v->sources[i].fd = open(m->source, O_PATH | O_CLOEXEC);
        if (v->sources[i].fd < 0)
            return source_failed(v, m, -errno);
    }
    return 0;
}

static bool is_hidden_folder(const struct view *v, int fd)
{
    struct stat st;

    return v->c->hidden && fstat(fd, &st) == 0 && st.st_dev == v->hidden.st_dev &&
           st.st_ino == v->hidden.st_ino;
}

static int clone_source(struct view *v, size_t i)
{
    const struct container_mount *m = &v->c->mounts[i];
    struct source *s = &v->sources[i];
    int below;

    if (m->sub_path) {
        below = open_sub_path(v, m, s->fd);
        if (below < 0)
            return below;
        file_close(&s->fd);
        s->fd = below;
    }
    if (is_hidden_folder(v, s->fd))
        return err_set(v->err, ERR_INVALID, "volume \"%s\" is muster's own folder", m->volume);
    s->is_folder = is_folder(s->fd);
    s->tree = mount_clone(s->fd);
    return s->tree < 0 ? source_failed(v, m, s->tree) : 0;
}

/* --- shadows --- */

/* A shadow has the folder's owner and mode, and nothing else that may deny access to it: only a
 * folder that the container's user may list and enter gets one, and none with a list of users. */
static int open_to_cover(const struct view *v, int folder_fd)
{
    struct fs_user saved = {0};
    int rc = become_user(v, &saved), fd = -1;

    if (rc == 0) {
        fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        rc = fd < 0 || faccessat(fd, ".", X_OK, AT_EACCESS) != 0 ? -errno : 0;
    }
    fs_user_restore(&saved);
    if (rc == 0 && fgetxattr(fd, "system.posix_acl_access", NULL, 0) > 0)
        rc = -ENOTSUP;
    if (rc != 0)
        file_close(&fd);
    return rc != 0 ? rc : fd;
}

static int copy_entries(int from, int to)
{
    int fd = fcntl(from, F_DUPFD_CLOEXEC, 0), rc = 0;
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
            rc = ++n > SHADOW_ENTRIES_LIMIT ? -E2BIG : mount_copy_entry(from, to, e->d_name, 0);
    (void)closedir(d);
    return rc;
}

/* An empty tmpfs that looks like folder_fd; not attached yet. */
static int new_shadow(int folder_fd)
{
    struct stat st;
    int fd = fstat(folder_fd, &st) == 0 ? mount_memory_new(st.st_mode & 07777) : -errno;

    /* In a user namespace the owner may not exist: then it is ours. */
    if (fd >= 0 && fchownat(fd, "", st.st_uid, st.st_gid, AT_EMPTY_PATH) != 0)
        errno = 0;
    return fd;
}

static int set_propagation(int fd, uint64_t propagation)
{
    struct mount_attr attr = {.propagation = propagation};

    return mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0 ? 0 : -errno;
}

/* Makes fd the root, and detaches the old one. */
static int change_root(int fd)
{
    if (fchdir(fd) != 0)
        return -errno;
    if (syscall(SYS_pivot_root, ".", ".") == 0) {
        if (umount2(".", MNT_DETACH) != 0)
            return -errno;
    } else if (errno != EINVAL || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0) {
        return -errno; /* the machine's root may not be exchangeable */
    }
    return chdir("/") == 0 ? 0 : -errno;
}

/* Built in the scratch folder. That may itself be inside a folder copied into the new root: a mount
 * that cannot be copied is skipped. */
static int shadow_root(struct view *v, int root_fd, int shadow)
{
    int scratch = open(v->c->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc = scratch < 0 ? -errno : mount_attach(shadow, scratch);

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

static int cover(struct view *v, int at)
{
    int folder_fd = open_to_cover(v, at), shadow = -1, rc = folder_fd < 0 ? folder_fd : 0;

    if (rc == 0)
        rc = shadow = new_shadow(folder_fd);
    if (rc >= 0 && is_root(folder_fd)) {
        rc = shadow_root(v, folder_fd, shadow);
    } else if (rc >= 0) {
        rc = mount_attach(shadow, folder_fd);
        if (rc == 0)
            rc = copy_entries(folder_fd, shadow); /* the folder itself is still reachable by its
                                                   * fd */
    }
    if (rc == 0)
        add_cover(v, shadow);
    else
        file_close(&shadow);
    file_close(&folder_fd);
    return rc;
}

/* --- mount points --- */

/* The deepest existing part of path: its descriptor and length. */
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
        fd = open_in_view(part, 0);
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

/* Creates rest, names separated by slashes, below dir_fd; the last one a folder or a file. Links
 * are not followed, as none of these names existed. */
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
        below = mount_point_make(fd, name, next != NULL || folder);
        (void)close(fd);
        fd = below;
    }
    return fd;
}

/* With the rights of the container's user, but in our own mounts. */
static int make_in(struct view *v, const struct open_mount *mount, int fd, const char *rest,
                   bool folder)
{
    struct fs_user saved = {0};
    int rc = !mount || mount->is_volume ? become_user(v, &saved) : 0;

    if (rc == 0)
        rc = make_rest(fd, rest, folder);
    fs_user_restore(&saved);
    return rc;
}

/* Outside of volumes: not where a link in one may lead, and with root's rights only in folders like
 * /tmp. The first len characters of target are the folder that exists. */
static int make_on_machine(struct view *v, const char *target, size_t len, bool folder)
{
    char around[PATH_LIMIT];
    bool root = v->c->identity.wanted ? v->c->identity.uid == 0 : geteuid() == 0;
    struct stat st;
    int fd, rc = -EACCES;

    (void)snprintf(around, sizeof(around), "%.*s", (int)len, target);
    fd = open_in_view(around, RESOLVE_NO_SYMLINKS);
    if (fd >= 0 && fstat(fd, &st) == 0 &&
        (!root || !rights_can_be_others() || (st.st_mode & S_ISVTX)))
        rc = make_in(v, NULL, fd, target + len, folder);
    file_close(&fd);
    return rc;
}

/* A descriptor of the mount point, created if missing. The folder of a writable volume is never
 * covered for that. */
static int find_point(struct view *v, const char *target, bool folder)
{
    const struct open_mount *mount;
    struct statvfs fs;
    size_t len;
    int fd = open_deepest(target, &len), made, rc;

    if (fd < 0 || !target[len])
        return fd;
    if (!is_folder(fd)) {
        (void)close(fd);
        return -ENOTDIR;
    }
    mount = open_mount_of(v, fd);
    made = mount ? make_in(v, mount, fd, target + len, folder)
                 : make_on_machine(v, target, len, folder);
    if (!mount && (made == -EACCES || made == -EPERM || made == -EROFS)) {
        rc = cover(v, fd);
        if (rc == -EACCES && fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY))
            rc = -EROFS;
        (void)close(fd);
        if (rc != 0)
            return rc;
        fd = open_deepest(target, &len); /* now in the shadow */
        if (fd < 0)
            return fd;
        mount = open_mount_of(v, fd);
        made = mount ? make_in(v, mount, fd, target + len, folder) : -EACCES;
    }
    (void)close(fd);
    return made;
}

static const char *place_problem(int rc)
{
    switch (rc) {
    case -E2BIG:
        return "the folder it is in has too many entries: make it there first";
    case -ENOTSUP:
        return "the folder it is in has an access control list: make it there first";
    default:
        return strerror(-rc);
    }
}

static int place_failed(struct view *v, const struct container_mount *m, int rc)
{
    if ((rc == -EACCES || rc == -EROFS) && v->c->identity.wanted)
        return err_set(v->err, ERR_INVALID,
                       "volume \"%s\" cannot be mounted at %s: %suser %" PRIu32
                       ", as which the container runs, may not %s",
                       m->volume, m->target,
                       rc == -EROFS ? "the volume it is in is read-only, and " : "",
                       v->c->identity.uid,
                       rc == -EROFS ? "list the folder around this one: mount it elsewhere"
                                    : "make this folder in the one around it: make it there first");
    return err_set(v->err, ERR_INVALID, "volume \"%s\" cannot be mounted at %s: %s", m->volume,
                   m->target, place_problem(rc));
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
        rc = mount_change(s->tree, MOUNT_AND_BELOW, MOUNT_ATTR_RDONLY, 0);
    if (rc == 0)
        rc = mount_attach(s->tree, point);
    if (rc == 0 && s->is_folder && !m->read_only)
        allow_making(v, s->tree, true);
    file_close(&point);
    if (rc == 0)
        return 0;
    return place_failed(v, m, rc);
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

/* Our own mounts stay writable until the last mount point in them is created. */
static int change_covers(struct view *v, uint64_t set, uint64_t clear)
{
    int rc = 0;

    for (size_t i = 0; i < v->covers_len && rc == 0; i++)
        rc = mount_change(v->covers[i], MOUNT_ALONE, set, clear);
    return rc == 0 ? 0 : err_set(v->err, ERR_INTERNAL, "read-only mounts: %s", strerror(-rc));
}

/* As container runtimes do. */
static int make_working_folder(struct view *v)
{
    int fd = find_point(v, v->c->cwd, true), rc = fd < 0 && fd != -EACCES ? fd : 0;

    file_close(&fd);
    return rc == 0 ? 0
                   : err_set(v->err, ERR_INVALID, "working directory \"%s\": %s", v->c->cwd,
                             strerror(-rc));
}

/* The image's files take the place of the machine's, of which only volumes are left. */
static int enter_image(struct view *v, struct image_root *root)
{
    int dev = image_root_fill(root, v->err), rc;

    if (dev < 0)
        return dev;
    for (size_t i = 0; i < v->covers_len; i++) /* they stay behind */
        file_close(&v->covers[i]);
    v->covers_len = v->open_mounts_len = 0;
    if (v->c->rights.privileged)
        (void)close(dev);
    else
        add_cover(v, dev);
    rc = change_root(root->tree);
    if (rc != 0)
        return err_set(v->err, ERR_INTERNAL, "cannot enter the image: %s", strerror(-rc));
    if (v->c->rights.read_only_root)
        add_cover(v, fcntl(root->tree, F_DUPFD_CLOEXEC, 0));
    else
        allow_making(v, root->tree, false);
    return 0;
}

/* Volumes are copied before the root becomes read-only, and stay writable. */
static int place_all(struct view *v, struct image_root *image)
{
    size_t order[POD_MOUNTS_LIMIT] = {0};
    int rc = 0;

    for (size_t i = 0; i < v->c->mounts_len && rc == 0; i++)
        rc = clone_source(v, i);
    if (rc == 0 && v->c->image)
        rc = enter_image(v, image);
    if (rc == 0 && v->c->rights.read_only_root) {
        rc = contain_read_only(v->err);
        if (rc == 0)
            rc = change_covers(v, 0, MOUNT_ATTR_RDONLY);
    }
    sort_mounts(v->c, order);
    for (size_t i = 0; i < v->c->mounts_len && rc == 0; i++)
        rc = place(v, order[i]);
    if (rc == 0 && v->c->image)
        rc = make_working_folder(v);
    return rc == 0 ? change_covers(v, MOUNT_ATTR_RDONLY, 0) : rc;
}

/* Whether the machine's root has the first folder of path. */
static bool begins_in_root(const char *path)
{
    char first[PATH_LIMIT];
    bool missing;
    int fd;

    path += strspn(path, "/");
    (void)snprintf(first, sizeof(first), "/%.*s", (int)strcspn(path, "/"), path);
    fd = open_in_view(first, 0);
    missing = fd == -ENOENT;
    file_close(&fd);
    return !missing;
}

/* A new root, if needed, comes first: descriptors of mounts in the old one are useless
 * afterwards. */
static int renew_root(struct view *v)
{
    int root = -1, rc = 0;

    for (size_t i = 0; i < v->c->mounts_len && root < 0; i++)
        if (!begins_in_root(v->c->mounts[i].target)) {
            root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
            rc = root < 0 ? -errno : cover(v, root);
        }
    file_close(&root);
    return rc == 0 ? 0 : err_set(v->err, ERR_INTERNAL, "cannot make a new root: %s", strerror(-rc));
}

/* --- hiding the machine --- */

/* Later mounts and unmounts on the machine must not uncover what was covered. */
static int detach_from_machine(struct err *err)
{
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
               ? 0
               : err_set(err, ERR_INTERNAL, "cannot detach from the machine's mounts: %s",
                         strerror(errno));
}

static int contain(struct view *v)
{
    const struct container_start *c = v->c;
    int rc = 0, cover = -1, dev;

    if (c->hidden) {
        if (stat(c->hidden, &v->hidden) != 0)
            return err_set(v->err, ERR_INTERNAL, "%s: %s", c->hidden, strerror(errno));
        rc = detach_from_machine(v->err);
        if (rc == 0)
            rc = cover = contain_hide(c->hidden, v->err);
        if (rc >= 0)
            add_cover(v, cover);
    }
    if (rc >= 0 && c->hidden && !c->rights.privileged) {
        rc = dev = contain_kernel(c->gpus, v->err);
        if (rc >= 0)
            add_cover(v, dev);
    } else if (rc >= 0 && c->image && !c->rights.privileged) {
        rc = dev = contain_devices(c->gpus, v->err);
        file_close(&dev);
    }
    return rc < 0 ? rc : 0;
}

static int mount_all(struct view *v)
{
    struct image_root image = {.tree = -1, .place = -1};
    int rc = 0;

    if (v->c->mounts_len > POD_MOUNTS_LIMIT)
        return err_set(v->err, ERR_INVALID, "at most %d volumeMounts", POD_MOUNTS_LIMIT);
    for (size_t i = 0; i < v->c->mounts_len; i++)
        v->sources[i] = (struct source){.fd = -1, .tree = -1};
    rc = v->c->image ? image_root_make(v->c, &image, v->err) : renew_root(v);
    if (rc == 0)
        rc = open_sources(v, false);
    if (rc == 0)
        rc = contain(v);
    if (rc == 0)
        rc = open_sources(v, true);
    if (rc == 0)
        rc = place_all(v, &image);
    image_root_close(&image);
    for (size_t i = 0; i < v->c->mounts_len; i++) {
        file_close(&v->sources[i].fd);
        file_close(&v->sources[i].tree);
    }
    for (size_t i = 0; i < v->covers_len; i++)
        file_close(&v->covers[i]);
    return rc;
}

/* --- identity --- */

static bool is_who_we_are(const struct container_identity *id)
{
    return !id->wanted || (id->uid == geteuid() && id->gid == getegid());
}

/* A process that can change its user does so at the end (rights.h); others map another number to
 * themselves. */
static int separate(const struct container_start *c, bool renumber, bool mounts, struct err *err)
{
    int rc = 0;

    if (renumber)
        rc = mounts_unshare_as(c->identity.uid, c->identity.gid, CLONE_NEWNS);
    else if (mounts && unshare(CLONE_NEWNS) != 0)
        rc = -errno;
    if (rc == 0)
        return 0;
    if (renumber)
        return err_set(err, ERR_INVALID,
                       "securityContext.runAsUser %u and runAsGroup %u: no user namespace: %s",
                       c->identity.uid, c->identity.gid, strerror(-rc));
    return err_set(err, ERR_INTERNAL, "no mount namespace: %s", strerror(-rc));
}

int rootfs_enter(const struct container_start *c, struct err *err)
{
    static struct view v; /* too large for a small process's stack */
    bool renumber = !is_who_we_are(&c->identity) && !rights_can_be_others();
    bool mounts = c->mounts_len > 0 || c->hidden || c->rights.read_only_root || c->image;
    int rc = separate(c, renumber, mounts, err);

    v = (struct view){.c = c, .err = err};
    if (rc == 0 && mounts)
        rc = mount_all(&v);
    if (rc == 0 && chdir(launch_first_folder(c)) != 0)
        errno = 0; /* retried and reported as the user */
    return rc;
}
