/* mount_tree.c - see mount_tree.h. */
#include "runtime/mount_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"

int mount_clone(int fd)
{
    int tree = open_tree(fd, "",
                         AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    return tree < 0 ? -errno : tree;
}

int mount_attach(int tree, int target)
{
    return move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0
               ? 0
               : -errno;
}

int mount_memory_new(mode_t mode)
{
    int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), fd = -1, rc = 0;

    if (fs < 0)
        return -errno;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fd < 0 || fchmodat(fd, ".", mode, 0) != 0)
        rc = -errno;
    (void)close(fs);
    if (rc != 0)
        file_close(&fd);
    return rc != 0 ? rc : fd;
}

int mount_change(int fd, enum mount_reach reach, uint64_t set, uint64_t clear)
{
    struct mount_attr attr = {.attr_set = set, .attr_clr = clear};
    unsigned flags = AT_EMPTY_PATH | (reach == MOUNT_AND_BELOW ? AT_RECURSIVE : 0);

    return mount_setattr(fd, "", flags, &attr, sizeof(attr)) == 0 ? 0 : -errno;
}

uint64_t mount_id(int fd)
{
    struct statx st;

    return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == 0 && (st.stx_mask & STATX_MNT_ID)
               ? st.stx_mnt_id
               : 0;
}

int mount_point_make(int dir_fd, const char *name, bool folder)
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
    char text[PATH_MAX];
    ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    return symlinkat(text, to, name) == 0 ? 0 : -errno;
}

static bool is_unreachable(int rc)
{
    return rc == -ENOENT || rc == -EACCES || rc == -ENOTCONN || rc == -ESTALE;
}

static int bind_entry(int fd, int to, const char *name, bool folder, uint64_t clear)
{
    int tree = mount_clone(fd), point = -1, rc = tree < 0 ? tree : 0;

    if (rc == 0 && clear)
        rc = mount_change(tree, MOUNT_AND_BELOW, 0, clear);
    if (rc == 0)
        rc = point = mount_point_make(to, name, folder);
    if (rc >= 0)
        rc = mount_attach(tree, point);
    file_close(&tree);
    file_close(&point);
    return rc;
}

int mount_copy_entry(int from, int to, const char *name, uint64_t clear)
{
    int fd = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc;
    struct stat st;

    if (fd < 0)
        return is_unreachable(-errno) ? 0 : -errno;
    rc = fstat(fd, &st) == 0 ? 0 : -errno;
    if (rc == 0 && S_ISLNK(st.st_mode))
        rc = copy_link(from, to, name);
    else if (rc == 0)
        rc = bind_entry(fd, to, name, S_ISDIR(st.st_mode), clear);
    (void)close(fd);
    return is_unreachable(rc) ? 0 : rc;
}
