/* image_root.c - see image_root.h. */
#include "runtime/image_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/mount_tree.h"
#include "runtime/rights.h"

#define FD_PATH_SIZE 64

/* Files that are mounted over: a link in the image would lead elsewhere, or nowhere. */
static const char *const replaced_files[] = {"hosts", "resolv.conf", "hostname"};

/* --- the container's layer --- */

/* An empty folder of this name in dir. */
static int renew_folder(const char *dir, const char *name, mode_t mode, int *ret_fd)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)file_remove_tree(path);
    if (mkdir(path, mode) != 0)
        return -errno;
    *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

/* The root folder itself looks like the image's. */
static int resemble(int fd, int image)
{
    struct stat st;

    if (fstat(image, &st) != 0 || fchmod(fd, st.st_mode & 07777) != 0)
        return -errno;
    if (fchown(fd, st.st_uid, st.st_gid) != 0)
        errno = 0; /* in a user namespace the owner may not exist: then it is ours */
    return 0;
}

/* --- overlay --- */

static int set_folder(int fs, const char *key, int fd)
{
    char path[FD_PATH_SIZE];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fsconfig(fs, FSCONFIG_SET_STRING, key, path, 0) == 0 ? 0 : -errno;
}

static int overlay(int lower, int upper, int work)
{
    int fs = fsopen("overlay", FSOPEN_CLOEXEC), rc = fs < 0 ? -errno : 0, tree = -1;

    if (rc == 0)
        rc = set_folder(fs, "lowerdir", lower);
    if (rc == 0)
        rc = set_folder(fs, "upperdir", upper);
    if (rc == 0)
        rc = set_folder(fs, "workdir", work);
    /* In a user namespace the attributes that overlays otherwise use may not be set. */
    if (rc == 0 && !rights_can_be_others() &&
        fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) != 0)
        rc = -errno;
    if (rc == 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
        rc = -errno;
    if (rc == 0) {
        tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV);
        rc = tree < 0 ? -errno : 0;
    }
    file_close(&fs);
    return rc == 0 ? tree : rc;
}

/* --- a copy --- */

static int copy_image(int image, int to)
{
    char from_path[FD_PATH_SIZE + 2], to_path[FD_PATH_SIZE];
    int status = -1;
    pid_t pid = fork();

    (void)snprintf(from_path, sizeof(from_path), "/proc/self/fd/%d/.", image);
    (void)snprintf(to_path, sizeof(to_path), "/proc/self/fd/%d", to);
    if (pid == 0) {
        (void)fcntl(image, F_SETFD, 0);
        (void)fcntl(to, F_SETFD, 0);
        (void)execlp("cp", "cp", "-a", "--reflink=auto", from_path, to_path, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int copied(int image, int folder)
{
    int rc = copy_image(image, folder), tree = rc == 0 ? mount_clone(folder) : rc;

    if (tree >= 0)
        rc = mount_change(tree, MOUNT_ALONE, MOUNT_ATTR_NODEV, 0);
    if (rc != 0)
        file_close(&tree);
    return rc == 0 ? tree : rc;
}

/* --- everything --- */

int image_root_make(const struct container_start *c, struct image_root *ret, struct err *err)
{
    char path[PATH_MAX];
    int image, upper = -1, work = -1, rc, why;

    *ret = (struct image_root){.tree = -1, .place = -1};
    (void)snprintf(path, sizeof(path), "%s/" IMAGE_ROOT_FOLDER, c->image);
    image = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    rc = image < 0 ? -errno : renew_folder(c->layer, "upper", 0755, &upper);
    if (rc == 0)
        rc = renew_folder(c->layer, "work", 0700, &work);
    if (rc == 0)
        rc = resemble(upper, image);
    if (rc == 0) {
        rc = why = ret->tree = overlay(image, upper, work);
        if (rc < 0)
            rc = ret->tree = copied(image, upper);
        if (rc == -EIO)
            rc = why; /* cp has said more on stderr */
    }
    if (rc >= 0) {
        ret->place = open(c->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
        rc = ret->place < 0 ? -errno : 0;
    }
    file_close(&image);
    file_close(&upper);
    file_close(&work);
    if (rc >= 0)
        return 0;
    image_root_close(ret);
    return err_set(err, ERR_INTERNAL, "the image's root file system cannot be mounted: %s",
                   strerror(-rc));
}

static bool is_folder(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* With all that is mounted in it. */
static int add_kernel_folder(int root, const char *path)
{
    int from = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), tree, point = -1, rc;

    rc = tree = from < 0 ? -errno : mount_clone(from);
    if (rc >= 0)
        rc = point = mount_point_make(root, path + 1, true);
    if (rc >= 0)
        rc = is_folder(point) ? mount_attach(tree, point) : -ENOTDIR;
    file_close(&point);
    file_close(&from);
    if (rc < 0)
        file_close(&tree);
    return rc < 0 ? rc : tree;
}

static void remove_links(int root)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int etc = (int)syscall(SYS_openat2, root, "/etc", &how, sizeof(how));
    struct stat st;

    for (size_t i = 0; etc >= 0 && i < ELEMS(replaced_files); i++)
        if (fstatat(etc, replaced_files[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
            (void)unlinkat(etc, replaced_files[i], 0);
    file_close(&etc);
}

int image_root_fill(const struct image_root *r, struct err *err)
{
    static const char *const folders[] = {"/proc", "/sys", "/dev"};
    int rc = mount_attach(r->tree, r->place), tree = -1;
    const char *at = "/";

    for (size_t i = 0; i < ELEMS(folders) && rc >= 0; i++) {
        file_close(&tree);
        at = folders[i];
        rc = tree = add_kernel_folder(r->tree, at);
    }
    if (rc >= 0) {
        remove_links(r->tree);
        return tree;
    }
    return err_set(err, ERR_INVALID, "%s cannot be mounted in the image: %s", at,
                   rc == -ENOTDIR ? "the image has a link or a file there" : strerror(-rc));
}

void image_root_close(struct image_root *r)
{
    file_close(&r->tree);
    file_close(&r->place);
}
