/* kept.c - see kept.h. When a folder was left is when it was changed last: nothing is written to it
 * afterwards. */
#include "runtime/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/podfolder.h"

#define FOLDERS_LIMIT 100000u
#define GROUP_SIZE 256u

static DIR *open_dir(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    if (!d && fd >= 0)
        (void)close(fd);
    return d;
}

static const struct dirent *next_entry(DIR *d)
{
    const struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            return e;
    return NULL;
}

static int64_t mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* --- finding --- */

static bool is_attempt(int dir_fd, const char *uid, int64_t attempt)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record record;
    int fd = attempt == KEPT_ANY_ATTEMPT
                 ? -1
                 : openat(dir_fd, uid, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    bool is = attempt == KEPT_ANY_ATTEMPT;

    if (fd >= 0) {
        is = pod_record_read(fd, &a, &record, NULL) == 0 && record.run.attempt == attempt;
        (void)close(fd);
    }
    arena_release(&a);
    return is;
}

bool kept_find(const char *dir, const char *not_uid, int64_t attempt, char ret[KEPT_UID_SIZE])
{
    DIR *d = open_dir(AT_FDCWD, dir);
    const struct dirent *e;
    int64_t newest = -1;
    struct stat st;

    while ((e = next_entry(d)) != NULL)
        if (strcmp(e->d_name, not_uid) != 0 && pod_name_is_safe(e->d_name) &&
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
            mtime_ns(&st) > newest && is_attempt(dirfd(d), e->d_name, attempt)) {
            newest = mtime_ns(&st);
            (void)snprintf(ret, KEPT_UID_SIZE, "%s", e->d_name);
        }
    if (d)
        (void)closedir(d);
    return newest >= 0;
}

/* --- trimming --- */

struct folder {
    char *path; /* below the root */
    char group[GROUP_SIZE];
    int64_t bytes, left_ns;
    bool gone;
};

struct folders {
    struct folder *list;
    size_t len, cap;
};

static int64_t size_of(DIR *d)
{
    const struct dirent *e;
    int64_t bytes = 0;
    struct stat st;

    while ((e = next_entry(d)) != NULL)
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (int64_t)st.st_blocks * 512;
    return bytes;
}

static void read_group(int dir_fd, const char *name, char group[GROUP_SIZE])
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record record;
    const char *owner = "";

    if (pod_record_read(dir_fd, &a, &record, NULL) == 0 && record.run.owner)
        owner = record.run.owner;
    (void)snprintf(group, GROUP_SIZE, "%s", *owner ? owner : name);
    arena_release(&a);
}

static void add_folder(struct folders *f, int name_fd, const char *name, const char *path,
                       const char *uid)
{
    DIR *d = open_dir(name_fd, uid);
    struct folder *more;
    struct stat st;

    if (!d || f->len == FOLDERS_LIMIT || fstat(dirfd(d), &st) != 0)
        goto out;
    if (f->len == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 64;
        more = realloc(f->list, f->cap * sizeof(*more));
        if (!more)
            goto out;
        f->list = more;
    }
    more = &f->list[f->len];
    *more = (struct folder){.left_ns = mtime_ns(&st), .bytes = size_of(d)};
    read_group(dirfd(d), name, more->group);
    if (asprintf(&more->path, "%s/%s", path, uid) >= 0)
        f->len++;
out:
    if (d)
        (void)closedir(d);
}

static void add_name(struct folders *f, int ns_fd, const char *ns, const char *name)
{
    DIR *d = open_dir(ns_fd, name);
    const struct dirent *e;
    char *path;

    if (d && asprintf(&path, "%s/%s", ns, name) >= 0) {
        while ((e = next_entry(d)) != NULL)
            add_folder(f, dirfd(d), name, path, e->d_name);
        free(path);
    }
    if (d)
        (void)closedir(d);
}

static void read_tree(struct folders *f, DIR *root)
{
    const struct dirent *ns, *name;

    while ((ns = next_entry(root)) != NULL) {
        DIR *d = open_dir(dirfd(root), ns->d_name);

        while ((name = next_entry(d)) != NULL)
            add_name(f, dirfd(d), ns->d_name, name->d_name);
        if (d)
            (void)closedir(d);
    }
}

static int by_age(const void *a, const void *b)
{
    const struct folder *x = a, *y = b;

    return x->left_ns < y->left_ns ? -1 : x->left_ns > y->left_ns;
}

/* One pod's folder, for good. */
static void remove_pod(int parent_fd, const char *name)
{
    DIR *d = open_dir(parent_fd, name);
    const struct dirent *e;

    while ((e = next_entry(d)) != NULL)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        (void)closedir(d);
    (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* The oldest of those that count (all, or one group's) go until the rest is within the limit. */
static void trim_list(struct folders *f, int root_fd, const char *group, int64_t limit)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < f->len; i++)
        if (!f->list[i].gone && (!group || strcmp(f->list[i].group, group) == 0))
            bytes += f->list[i].bytes;
    for (size_t i = 0; i < f->len && bytes > limit; i++) {
        struct folder *one = &f->list[i];

        if (one->gone || (group && strcmp(one->group, group) != 0))
            continue;
        remove_pod(root_fd, one->path);
        one->gone = true;
        bytes -= one->bytes;
    }
}

void kept_trim(const char *root, const struct kept_limits *limits)
{
    DIR *d = open_dir(AT_FDCWD, root);
    struct folders f = {.list = NULL};

    if (!d)
        return;
    read_tree(&f, d);
    if (f.len > 0)
        qsort(f.list, f.len, sizeof(*f.list), by_age);
    for (size_t i = f.len; i-- > 0;)
        if (!f.list[i].gone)
            trim_list(&f, dirfd(d), f.list[i].group, limits->group_bytes);
    trim_list(&f, dirfd(d), NULL, limits->total_bytes);
    for (size_t i = 0; i < f.len; i++)
        free(f.list[i].path);
    free(f.list);
    (void)closedir(d);
}
