/*
 * contain.c - see contain.h.
 *
 * The mounts are read once (/proc/self/mountinfo), before anything is mounted. A folder is
 * identified by what it is, not by its path: every mount of its file system that shows a part
 * containing it is considered, and so is every mount of something inside it.
 */
#include "runtime/contain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/mount_tree.h"

#define HOSTS "/etc/hosts" /* a file from the daemon's folder that the pod gets */

/* --- the table of mounts --- */

struct mount_line {
    uint64_t id;
    char device[32]; /* "254:0" */
    char *root;      /* the mounted part of the file system */
    char *point, type[32];
};

struct mount_table {
    struct mount_line *lines;
    size_t len;
};

/* "\040" is a blank. */
static char *unescaped(const char *text)
{
    char *copy = strdup(text), *to = copy;

    for (const char *p = text; copy && *p; p++) {
        unsigned c;

        if (p[0] == '\\' && sscanf(p + 1, "%3o", &c) == 1) {
            *to++ = (char)c;
            p += 3;
        } else {
            *to++ = *p;
        }
    }
    if (copy)
        *to = '\0';
    return copy;
}

static void table_release(struct mount_table *t)
{
    for (size_t i = 0; i < t->len; i++) {
        free(t->lines[i].root);
        free(t->lines[i].point);
    }
    free(t->lines);
}

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw */
static bool parse_line(const char *text, struct mount_line *ret)
{
    char root[PATH_MAX], point[PATH_MAX];
    const char *type = strstr(text, " - ");
    unsigned long long id;

    if (!type || sscanf(text, "%llu %*u %31s %4095s %4095s", &id, ret->device, root, point) != 4 ||
        sscanf(type + 3, "%31s", ret->type) != 1)
        return false;
    ret->id = id;
    ret->root = unescaped(root);
    ret->point = unescaped(point);
    return true;
}

static int table_read(struct mount_table *t)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char *text = NULL;
    size_t size = 0, room = 0;
    int rc = f ? 0 : -errno;

    *t = (struct mount_table){.len = 0};
    while (rc == 0 && getline(&text, &size, f) > 0) {
        if (t->len == room) {
            struct mount_line *more = reallocarray(t->lines, room = 2 * room + 64, sizeof(*more));

            if (!more) {
                rc = -ENOMEM;
                break;
            }
            t->lines = more;
        }
        if (parse_line(text, &t->lines[t->len])) {
            const struct mount_line *l = &t->lines[t->len++];

            rc = l->root && l->point ? 0 : -ENOMEM;
        }
    }
    free(text);
    if (f)
        (void)fclose(f);
    return rc;
}

/* The part of path below folder, with its slash, "" for folder itself; NULL: it is not inside. */
static const char *below(const char *folder, const char *path)
{
    size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    if (strncmp(folder, path, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return strcmp(path + n, "/") == 0 ? "" : path + n;
}

/* --- covering --- */

/* An empty read-only folder. */
static int cover_folder(int fd)
{
    int cover = mount_memory_new(0755), rc = cover < 0 ? cover : 0;

    if (rc == 0)
        rc = mount_change(cover, MOUNT_ALONE, MOUNT_ATTR_RDONLY, 0);
    if (rc == 0)
        rc = mount_attach(cover, fd);
    file_close(&cover);
    return rc;
}

static bool is_folder(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The topmost mount at path, if it is this one. */
static int open_mount(const struct mount_line *l)
{
    int fd = open(l->point, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && mount_id(fd) != l->id)
        file_close(&fd);
    return fd;
}

static int cover_mount(const struct mount_line *l)
{
    int fd = open_mount(l), rc = 0;

    if (fd < 0)
        return 0; /* already out of sight */
    if (is_folder(fd))
        rc = cover_folder(fd);
    else if (umount2(l->point, MNT_DETACH) != 0)
        rc = -errno;
    file_close(&fd);
    return rc;
}

/* --- the daemon's folder --- */

struct hidden {
    const char *folder;
    struct stat is;
    char device[32];
    char in_fs[2 * PATH_MAX]; /* its path within its file system */
    int cover;                /* the one at its own path */
};

static int find_hidden(const struct mount_table *t, int fd, struct hidden *h)
{
    uint64_t id = mount_id(fd);

    if (fstat(fd, &h->is) != 0)
        return -errno;
    for (size_t i = 0; i < t->len; i++) {
        const struct mount_line *l = &t->lines[i];
        const char *rest = l->id == id ? below(l->point, h->folder) : NULL;

        if (!rest)
            continue;
        memcpy(h->device, l->device, sizeof(h->device));
        (void)snprintf(h->in_fs, sizeof(h->in_fs), "%s%s", strcmp(l->root, "/") == 0 ? "" : l->root,
                       rest);
        return 0;
    }
    return -ENOENT;
}

static int hide_at(struct hidden *h, const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), rc = 0;
    bool own = strcmp(path, h->folder) == 0;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == h->is.st_dev && st.st_ino == h->is.st_ino) {
        if (own) {
            rc = h->cover = mount_memory_new(0755);
            rc = rc < 0 ? rc : mount_attach(h->cover, fd);
        } else {
            rc = cover_folder(fd);
        }
    }
    file_close(&fd);
    return rc;
}

static int hide_in_mount(struct hidden *h, const struct mount_line *l)
{
    const char *rest = below(l->root, h->in_fs);
    char path[3 * PATH_MAX];

    if (strcmp(l->device, h->device) != 0)
        return 0;
    if (rest) {
        (void)snprintf(path, sizeof(path), "%s%s",
                       strcmp(l->point, "/") == 0 && *rest ? "" : l->point, rest);
        return hide_at(h, path);
    }
    return below(h->in_fs, l->root) && strcmp(l->point, HOSTS) != 0 ? cover_mount(l) : 0;
}

int contain_hide(const char *folder, struct err *err)
{
    static struct hidden h;
    struct mount_table t;
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), rc = fd < 0 ? -errno : table_read(&t);

    h = (struct hidden){.folder = folder, .cover = -1};
    if (fd >= 0 && rc == 0)
        rc = find_hidden(&t, fd, &h);
    for (size_t i = 0; fd >= 0 && rc == 0 && i < t.len; i++)
        rc = hide_in_mount(&h, &t.lines[i]);
    if (rc == 0 && h.cover < 0)
        rc = -ENOENT;
    if (fd >= 0)
        table_release(&t);
    file_close(&fd);
    if (rc == 0)
        return h.cover;
    file_close(&h.cover);
    return err_set(err, ERR_INTERNAL, "cannot hide the folder %s: %s", folder, strerror(-rc));
}

/* --- the kernel's own file systems --- */

enum treatment { COVERED, READ_ONLY };

/* The covered ones do not exist in containers. */
static const struct {
    const char *type, *kept_at; /* where it is left alone, or NULL */
    enum treatment treatment;
} kernel_types[] = {
    {"proc", "/proc", COVERED},   {"devtmpfs", "/dev", COVERED},  {"debugfs", NULL, COVERED},
    {"tracefs", NULL, COVERED},   {"securityfs", NULL, COVERED},  {"bpf", NULL, COVERED},
    {"efivarfs", NULL, COVERED},  {"pstore", NULL, COVERED},      {"configfs", NULL, COVERED},
    {"selinuxfs", NULL, COVERED}, {"binfmt_misc", NULL, COVERED}, {"fusectl", NULL, COVERED},
    {"sysfs", NULL, READ_ONLY},   {"cgroup", NULL, READ_ONLY},    {"cgroup2", NULL, READ_ONLY},
};

static int make_read_only(const struct mount_line *l)
{
    int fd = open_mount(l), rc = fd < 0 ? 0 : mount_change(fd, MOUNT_ALONE, MOUNT_ATTR_RDONLY, 0);

    file_close(&fd);
    return rc;
}

static int treat_mount(const struct mount_line *l)
{
    for (size_t i = 0; i < ELEMS(kernel_types); i++) {
        if (strcmp(kernel_types[i].type, l->type) != 0)
            continue;
        if (kernel_types[i].kept_at && strcmp(kernel_types[i].kept_at, l->point) == 0)
            return 0;
        return kernel_types[i].treatment == COVERED ? cover_mount(l) : make_read_only(l);
    }
    return below("/sys", l->point) ? make_read_only(l) : 0;
}

static int bind_read_only(const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC), tree = -1, rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    rc = tree = mount_clone(fd);
    if (rc >= 0)
        rc = mount_change(tree, MOUNT_AND_BELOW, MOUNT_ATTR_RDONLY, 0);
    if (rc == 0)
        rc = mount_attach(tree, fd);
    file_close(&tree);
    file_close(&fd);
    return rc;
}

static int mask(const char *path, int null_fd)
{
    int fd = open(path, O_PATH | O_CLOEXEC), tree = -1, rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (is_folder(fd)) {
        rc = cover_folder(fd);
    } else {
        rc = tree = mount_clone(null_fd);
        if (rc >= 0)
            rc = mount_attach(tree, fd);
    }
    file_close(&tree);
    file_close(&fd);
    return rc;
}

/* The same as in Docker and containerd. */
static const char *const read_only_paths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                              "/proc/sysrq-trigger"};
static const char *const masked_paths[] = {"/proc/acpi",
                                           "/proc/asound",
                                           "/proc/kcore",
                                           "/proc/keys",
                                           "/proc/latency_stats",
                                           "/proc/timer_list",
                                           "/proc/timer_stats",
                                           "/proc/sched_debug",
                                           "/proc/scsi",
                                           "/sys/firmware",
                                           "/sys/devices/virtual/powercap"};

static int treat_paths(void)
{
    int null = open("/dev/null", O_PATH | O_CLOEXEC), rc = null < 0 ? -errno : 0;

    for (size_t i = 0; rc == 0 && i < ELEMS(read_only_paths); i++)
        rc = bind_read_only(read_only_paths[i]);
    for (size_t i = 0; rc == 0 && i < ELEMS(masked_paths); i++)
        rc = mask(masked_paths[i], null);
    file_close(&null);
    return rc;
}

/* --- /dev --- */

/* A trailing * makes a prefix. First those every container has, then accelerators and their
 * interconnects. */
static const struct {
    const char *name;
    bool has_devices;
} wanted_devices[] = {
    {"null", true},     {"zero", true},       {"full", true},     {"random", true},
    {"urandom", true},  {"tty", true},        {"pts", true},      {"fd", false},
    {"stdin", false},   {"stdout", false},    {"stderr", false},  {"shm", false},
    {"mqueue", false},  {"hugepages", false}, {"nvidia*", true},  {"dri", true},
    {"kfd", true},      {"dxg", true},        {"davinci*", true}, {"devmm_svm", true},
    {"hisi_hdc", true}, {"infiniband", true}, {"gdrdrv", true},   {"knem", true},
    {"xpmem", true},
};

static bool is_wanted(const char *name, bool *ret_has_devices)
{
    for (size_t i = 0; i < ELEMS(wanted_devices); i++) {
        const char *wanted = wanted_devices[i].name;
        size_t n = strcspn(wanted, "*");

        *ret_has_devices = wanted_devices[i].has_devices;
        if (strncmp(name, wanted, n) == 0 && (wanted[n] == '*' || !name[n]))
            return true;
    }
    return false;
}

/* Whether it is the device of a GPU other than those in the list of numbers; NULL: none is. */
static bool is_other_gpu(const char *name, const char *gpus)
{
    const char *number = name + strlen("nvidia");
    size_t n;

    if (!gpus || strncmp(name, "nvidia", strlen("nvidia")) != 0 || !*number ||
        number[strspn(number, "0123456789")])
        return false;
    for (; *gpus; gpus += n + (gpus[n] == ',')) {
        n = strcspn(gpus, ",");
        if (strlen(number) == n && memcmp(gpus, number, n) == 0)
            return false;
    }
    return true;
}

static int fill_dev(int from, int to, const char *gpus)
{
    int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    bool has_devices;

    if (fd >= 0 && !d) {
        rc = -errno;
        file_close(&fd);
    }
    while (d && rc == 0 && (e = readdir(d)) != NULL)
        if (is_wanted(e->d_name, &has_devices) && !is_other_gpu(e->d_name, gpus))
            rc = mount_copy_entry(from, to, e->d_name, has_devices ? MOUNT_ATTR_NODEV : 0);
    if (d)
        (void)closedir(d);
    return rc;
}

static int forbid_devices(void)
{
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc = root < 0 ? -errno : mount_change(root, MOUNT_AND_BELOW, MOUNT_ATTR_NODEV, 0);

    file_close(&root);
    return rc;
}

/* Returns its descriptor. */
static int own_dev(const char *gpus)
{
    int machine = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int own = machine < 0 ? -errno : mount_memory_new(0755);
    int rc = own < 0 ? own : mount_attach(own, machine);

    if (rc == 0)
        rc = mount_change(own, MOUNT_ALONE, 0, MOUNT_ATTR_NODEV);
    if (rc == 0)
        rc = fill_dev(machine, own, gpus);
    /* A bind mount would not find its terminals. If the node cannot be created, devpts has its
     * own. */
    if (rc == 0 && mknodat(own, "ptmx", S_IFCHR | 0666, makedev(5, 2)) != 0)
        rc = symlinkat("pts/ptmx", own, "ptmx") == 0 ? 0 : -errno;
    if (rc == 0 && fchmodat(own, "ptmx", 0666, 0) != 0)
        errno = 0;
    file_close(&machine);
    if (rc != 0)
        file_close(&own);
    return rc == 0 ? own : rc;
}

int contain_devices(const char *gpus, struct err *err)
{
    int dev = own_dev(gpus);

    return dev >= 0 ? dev : err_set(err, ERR_INTERNAL, "cannot make a /dev: %s", strerror(-dev));
}

int contain_kernel(const char *gpus, struct err *err)
{
    struct mount_table t;
    int rc = table_read(&t), dev = -1;

    for (size_t i = 0; rc == 0 && i < t.len; i++)
        rc = treat_mount(&t.lines[i]);
    table_release(&t);
    if (rc == 0)
        rc = forbid_devices();
    if (rc == 0)
        rc = dev = own_dev(gpus);
    if (rc >= 0)
        rc = treat_paths();
    if (rc == 0)
        return dev;
    file_close(&dev);
    return err_set(err, ERR_INTERNAL, "cannot make /proc, /sys and /dev a container's: %s",
                   strerror(-rc));
}

/* --- a read-only root --- */

/* Mounts that stay writable. */
static const char *const kept_mounts[] = {"/proc",    "/dev",        "/dev/shm",
                                          "/dev/pts", "/dev/mqueue", "/dev/hugepages"};

/* -1 when there is no writable mount there. */
static int open_writable_mount(const char *path, uint64_t root_id)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct statvfs st;

    if (fd >= 0 && (mount_id(fd) == root_id || fstatvfs(fd, &st) != 0 || (st.f_flag & ST_RDONLY)))
        file_close(&fd);
    return fd;
}

int contain_read_only(struct err *err)
{
    int root = open("/", O_PATH | O_CLOEXEC), rc = root < 0 ? -errno : 0;
    int kept[ELEMS(kept_mounts)];

    for (size_t i = 0; i < ELEMS(kept); i++)
        kept[i] = rc < 0 ? -1 : open_writable_mount(kept_mounts[i], mount_id(root));
    if (rc == 0)
        rc = mount_change(root, MOUNT_AND_BELOW, MOUNT_ATTR_RDONLY, 0);
    for (size_t i = 0; i < ELEMS(kept); i++) {
        if (rc == 0 && kept[i] >= 0)
            rc = mount_change(kept[i], MOUNT_ALONE, 0, MOUNT_ATTR_RDONLY);
        file_close(&kept[i]);
    }
    file_close(&root);
    return rc == 0 ? 0
                   : err_set(err, ERR_INTERNAL,
                             "securityContext.readOnlyRootFilesystem: the root cannot be made "
                             "read-only: %s",
                             strerror(-rc));
}
